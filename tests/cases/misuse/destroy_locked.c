// compilers: gcc clang
// check:
// verdict: bug
// findings: at-least
// finding: misuse detail=destroy-locked var=m line=26

// Destroyed while another thread may hold it.
#include <pthread.h>

static pthread_mutex_t m;
int count;

static void *work(void *arg)
{
    pthread_mutex_lock(&m);
    count++;
    pthread_mutex_unlock(&m);
    return NULL;
}

int main(void)
{
    pthread_t t;
    pthread_mutex_init(&m, NULL);
    pthread_create(&t, NULL, work, NULL);
    pthread_mutex_destroy(&m);
    pthread_join(t, NULL);
    return 0;
}
