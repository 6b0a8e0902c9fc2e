// compilers: gcc clang
// check:
// verdict: bug
// executions: 3
// finding: data-race var=r detail=write-write line=30 line2=47
// check: --strategy dpor
// verdict: bug
// executions: 3
// finding: data-race var=r detail=write-write line=30 line2=47
// check: --strategy pdp
// verdict: bug
// finding: data-race var=r detail=write-write line=30 line2=47
// check: --strategy dhtc
// verdict: bug
// finding: data-race var=r detail=write-write line=30 line2=47

// L{x=1}; r=2; M{c=1} || M{t=c}; if(!t){ L{u=x}; if(!u) r=1 }. A search that prunes the subtree
// after the first reversal loses the request that the subtree would have made. Executions: T1's M
// first (T2 then does nothing more); T2's M first, with its L before or after T1's.
#include <pthread.h>

static pthread_mutex_t L = PTHREAD_MUTEX_INITIALIZER, M = PTHREAD_MUTEX_INITIALIZER;
int x, c, r;

static void *one(void *arg)
{
    pthread_mutex_lock(&L);
    x = 1;
    pthread_mutex_unlock(&L);
    r = 2;
    pthread_mutex_lock(&M);
    c = 1;
    pthread_mutex_unlock(&M);
    return NULL;
}

static void *two(void *arg)
{
    pthread_mutex_lock(&M);
    int t = c;
    pthread_mutex_unlock(&M);
    if (!t) {
        pthread_mutex_lock(&L);
        int u = x;
        pthread_mutex_unlock(&L);
        if (!u)
            r = 1;
    }
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
