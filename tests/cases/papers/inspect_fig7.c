// compilers: gcc clang
// check:
// verdict: verified
// executions: 8
// blocked: 0
// check: --strategy dpor
// verdict: verified
// executions: 8
// check: --granularity access
// verdict: verified
// executions: 8

// Figure 7 of the Inspect paper: two philosophers, both take fork 1 first, then fork 2; a fork is a
// variable with a mutex and a condition variable, signalled after the unlock.
#include <pthread.h>

static pthread_mutex_t f1 = PTHREAD_MUTEX_INITIALIZER, f2 = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t f1_free = PTHREAD_COND_INITIALIZER, f2_free = PTHREAD_COND_INITIALIZER;
int f1_owner, f2_owner;

static void *philosopher(void *arg)
{
    int thread_id = *(int *)arg;

    pthread_mutex_lock(&f1);
    while (f1_owner != 0)
        pthread_cond_wait(&f1_free, &f1);
    f1_owner = thread_id;
    pthread_mutex_unlock(&f1);

    pthread_mutex_lock(&f2);
    while (f2_owner != 0)
        pthread_cond_wait(&f2_free, &f2);
    f2_owner = thread_id;
    pthread_mutex_unlock(&f2);

    pthread_mutex_lock(&f1);
    f1_owner = 0;
    pthread_mutex_unlock(&f1);
    pthread_cond_signal(&f1_free);

    pthread_mutex_lock(&f2);
    f2_owner = 0;
    pthread_mutex_unlock(&f2);
    pthread_cond_signal(&f2_free);
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    int one = 1, two = 2;
    pthread_create(&a, NULL, philosopher, &one);
    pthread_create(&b, NULL, philosopher, &two);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
