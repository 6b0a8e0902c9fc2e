// compilers: gcc clang
// check:
// verdict: bug
// executions: 2
// finding: data-race var=x detail=write-write line=22 line2=31
// check: --strategy pdp
// verdict: bug
// finding: data-race var=x detail=write-write line=22 line2=31
// check: --strategy dhtc
// verdict: bug
// finding: data-race var=x detail=write-write line=22 line2=31

// x=1; L{} || L{x=2}: only the reversal of the two critical sections breaks the chain that hides
// the race.
#include <pthread.h>

static pthread_mutex_t L = PTHREAD_MUTEX_INITIALIZER;
int x;

static void *one(void *arg)
{
    x = 1;
    pthread_mutex_lock(&L);
    pthread_mutex_unlock(&L);
    return NULL;
}

static void *two(void *arg)
{
    pthread_mutex_lock(&L);
    x = 2;
    pthread_mutex_unlock(&L);
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, one, NULL);
    pthread_create(&b, NULL, two, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
