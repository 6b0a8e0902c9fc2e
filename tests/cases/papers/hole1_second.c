// compilers: gcc clang
// check:
// verdict: bug
// executions: 3
// finding: data-race var=r detail=write-write line=25 line2=41
// check: --strategy pdp
// verdict: bug
// finding: data-race var=r detail=write-write line=25 line2=41
// check: --strategy dhtc
// verdict: bug
// finding: data-race var=r detail=write-write line=25 line2=41

// M{t=f}; if(t) r=1; N{g=1} || N{u=g}; if(!u){ M{f=1}; r=2 }.
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
    pthread_mutex_lock(&N);
    g = 1;
    pthread_mutex_unlock(&N);
    return NULL;
}

static void *two(void *arg)
{
    pthread_mutex_lock(&N);
    int u = g;
    pthread_mutex_unlock(&N);
    if (!u) {
        pthread_mutex_lock(&M);
        f = 1;
        pthread_mutex_unlock(&M);
        r = 2;
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
