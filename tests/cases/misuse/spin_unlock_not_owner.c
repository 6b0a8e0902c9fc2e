// check:
// verdict: bug
// findings: at-least
// finding: misuse detail=unlock-not-owner var=s line=13

// A spin lock released by a thread that does not hold it.
#include <pthread.h>

static pthread_spinlock_t s;

static void *work(void *arg)
{
    pthread_spin_unlock(&s);
    return NULL;
}

int main(void)
{
    pthread_t t;
    pthread_spin_init(&s, PTHREAD_PROCESS_PRIVATE);
    pthread_spin_lock(&s);
    pthread_create(&t, NULL, work, NULL);
    pthread_join(t, NULL);
    return 0;
}
