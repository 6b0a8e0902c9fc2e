// check:
// verdict: bug
// findings: at-least
// finding: misuse detail=cond-destroyed var=c line=13

// Signalled after it was destroyed, in some schedules.
#include <pthread.h>

static pthread_cond_t c;

static void *work(void *arg)
{
    pthread_cond_signal(&c);
    return NULL;
}

int main(void)
{
    pthread_t t;
    pthread_cond_init(&c, NULL);
    pthread_create(&t, NULL, work, NULL);
    pthread_cond_destroy(&c);
    pthread_join(t, NULL);
    return 0;
}
