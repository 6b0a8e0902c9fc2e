// compilers: gcc clang
// check:
// verdict: bug
// executions: 6
// finding: data-race var=r detail=write-write line=25 line2=25
// check: --strategy pdp
// verdict: bug
// finding: data-race var=r detail=write-write line=25 line2=25
// check: --strategy dhtc
// verdict: bug
// finding: data-race var=r detail=write-write line=25 line2=25

// M{t=f}; if(t) r=1 || the same || M{f=1}: both see f only if the writer comes first.
#include <pthread.h>

static pthread_mutex_t M = PTHREAD_MUTEX_INITIALIZER;
int f, r;

static void *reader(void *arg)
{
    pthread_mutex_lock(&M);
    int t = f;
    pthread_mutex_unlock(&M);
    if (t)
        r = 1;
    return NULL;
}

static void *writer(void *arg)
{
    pthread_mutex_lock(&M);
    f = 1;
    pthread_mutex_unlock(&M);
    return NULL;
}

int main(void)
{
    pthread_t a, b, c;
    pthread_create(&a, NULL, reader, NULL);
    pthread_create(&b, NULL, reader, NULL);
    pthread_create(&c, NULL, writer, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    pthread_join(c, NULL);
    return 0;
}
