// compilers: gcc clang
// check:
// verdict: bug
// executions: 6
// blocked: 0
// finding: data-race var=r detail=write-write line=42 line2=57
// check: --strategy dpor
// verdict: bug
// executions: 6
// finding: data-race var=r detail=write-write line=42 line2=57
// check: --strategy pdp
// verdict: bug
// finding: data-race var=r detail=write-write line=42 line2=57
// check: --strategy dhtc
// verdict: bug
// finding: data-race var=r detail=write-write line=42 line2=57

// B{b=1}; A{a=1} || A{t=a}; if(t) r=1 || B{u=b}; if(!u){ B{v=b}; if(v) r=2 }. At B: T3 after T1
// (once), or before it with its second look before or after: 3; at A two orders each: 6.
#include <pthread.h>

static pthread_mutex_t A = PTHREAD_MUTEX_INITIALIZER, B = PTHREAD_MUTEX_INITIALIZER;
int a, b, r;

static void *one(void *arg)
{
    pthread_mutex_lock(&B);
    b = 1;
    pthread_mutex_unlock(&B);
    pthread_mutex_lock(&A);
    a = 1;
    pthread_mutex_unlock(&A);
    return NULL;
}

static void *two(void *arg)
{
    pthread_mutex_lock(&A);
    int t = a;
    pthread_mutex_unlock(&A);
    if (t)
        r = 1;
    return NULL;
}

static int look(void)
{
    pthread_mutex_lock(&B);
    int seen = b;
    pthread_mutex_unlock(&B);
    return seen;
}

static void *three(void *arg)
{
    if (!look() && look())
        r = 2;
    return NULL;
}

int main(void)
{
    pthread_t t, u, v;
    pthread_create(&t, NULL, one, NULL);
    pthread_create(&u, NULL, two, NULL);
    pthread_create(&v, NULL, three, NULL);
    pthread_join(t, NULL);
    pthread_join(u, NULL);
    pthread_join(v, NULL);
    return 0;
}
