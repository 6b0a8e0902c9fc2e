// compilers: gcc clang
// check:
// verdict: bug
// findings: at-least
// finding: misuse detail=cond-two-mutexes var=c

// Two threads wait on one condition variable with different mutexes at the same time.
#include <pthread.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, n = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
int ready_m, ready_n;

static void *with_m(void *arg)
{
    pthread_mutex_lock(&m);
    while (!ready_m)
        pthread_cond_wait(&c, &m);
    pthread_mutex_unlock(&m);
    return NULL;
}

static void *with_n(void *arg)
{
    pthread_mutex_lock(&n);
    while (!ready_n)
        pthread_cond_wait(&c, &n);
    pthread_mutex_unlock(&n);
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, with_m, NULL);
    pthread_create(&b, NULL, with_n, NULL);
    pthread_mutex_lock(&m);
    pthread_mutex_lock(&n);
    ready_m = ready_n = 1;
    pthread_cond_broadcast(&c);
    pthread_mutex_unlock(&n);
    pthread_mutex_unlock(&m);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
