// compilers: gcc clang
// check:
// verdict: bug
// executions: 2
// finding: data-race var=y line=22 line2=34
// check: --strategy pdp
// verdict: bug
// finding: data-race var=y line=22 line2=34
// check: --strategy dhtc
// verdict: bug
// finding: data-race var=y line=22 line2=34

// Listing 1.1 of the paper on witnessing races with CSP: y++; L{x++} || L{x++}; y++. If T1 comes
// first, the lock orders the two accesses to y by accident; only the other order shows the race.
#include <pthread.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int x, y;

static void *one(void *arg)
{
    y++;
    pthread_mutex_lock(&m);
    x++;
    pthread_mutex_unlock(&m);
    return NULL;
}

static void *two(void *arg)
{
    pthread_mutex_lock(&m);
    x++;
    pthread_mutex_unlock(&m);
    y++;
    return NULL;
}

int main(void)
{
    pthread_t t, u;
    pthread_create(&t, NULL, one, NULL);
    pthread_create(&u, NULL, two, NULL);
    pthread_join(t, NULL);
    pthread_join(u, NULL);
    return 0;
}
