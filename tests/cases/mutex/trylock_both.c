// compilers: gcc clang
// check:
// verdict: verified
// executions: 4
// blocked: 0

// Two threads try: T1 then T2 one after the other, T2 then T1, T2 fails while T1 holds, T1 fails
// while T2 holds.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int inside;

static void *attempt(void *arg)
{
    if (pthread_mutex_trylock(&m) == 0) {
        assert(inside == 0);
        inside = 1;
        inside = 0;
        pthread_mutex_unlock(&m);
    }
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, attempt, NULL);
    pthread_create(&b, NULL, attempt, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
