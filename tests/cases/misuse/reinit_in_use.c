// check:
// verdict: bug
// findings: at-least
// finding: misuse detail=reinit-in-use var=m line=22

// Initialised again while another thread may be inside.
#include <pthread.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *arg)
{
    pthread_mutex_lock(&m);
    pthread_mutex_unlock(&m);
    return NULL;
}

int main(void)
{
    pthread_t t;
    pthread_create(&t, NULL, work, NULL);
    pthread_mutex_init(&m, NULL);
    pthread_join(t, NULL);
    pthread_mutex_destroy(&m);
    return 0;
}
