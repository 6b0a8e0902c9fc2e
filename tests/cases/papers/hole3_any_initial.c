// compilers: gcc clang
// check:
// verdict: bug
// executions: 3
// blocked: 0
// finding: data-race var=r detail=write-write line=33 line2=46
// check: --strategy dpor
// verdict: bug
// executions: 3
// finding: data-race var=r detail=write-write line=33 line2=46
// check: --strategy pdp
// verdict: bug
// finding: data-race var=r detail=write-write line=33 line2=46
// check: --strategy dhtc
// verdict: bug
// finding: data-race var=r detail=write-write line=33 line2=46

// M{t=f}; if(t) r=1 || N{u=g}; if(u){ M{f=1}; r=2 } || N{g=1}. With sleep sets, adding any thread
// that could start the reversal loses traces; it has to be one that is not asleep or a source
// initial. Executions: T2's N before T3's (T2 then leaves M alone), or after it with T2's M after
// or before T1's.
#include <pthread.h>

static pthread_mutex_t M = PTHREAD_MUTEX_INITIALIZER, N = PTHREAD_MUTEX_INITIALIZER;
int f, g, r;

static void *one(void *arg)
{
    pthread_mutex_lock(&M);
    int t = f;
    pthread_mutex_unlock(&M);
    if (t)
        r = 1;
    return NULL;
}

static void *two(void *arg)
{
    pthread_mutex_lock(&N);
    int u = g;
    pthread_mutex_unlock(&N);
    if (u) {
        pthread_mutex_lock(&M);
        f = 1;
        pthread_mutex_unlock(&M);
        r = 2;
    }
    return NULL;
}

static void *three(void *arg)
{
    pthread_mutex_lock(&N);
    g = 1;
    pthread_mutex_unlock(&N);
    return NULL;
}

int main(void)
{
    pthread_t a, b, c;
    pthread_create(&a, NULL, one, NULL);
    pthread_create(&b, NULL, two, NULL);
    pthread_create(&c, NULL, three, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    pthread_join(c, NULL);
    return 0;
}
