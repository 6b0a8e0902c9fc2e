// compilers: gcc clang
// check:
// verdict: bug
// executions: 6
// finding: data-race var=y line=27 line2=44
// check: --strategy pdp
// verdict: bug
// finding: data-race var=y line=27 line2=44
// check: --strategy dhtc
// verdict: bug
// finding: data-race var=y line=27 line2=44

// The situation of Figure 1 of the paper on property-driven pruning: x and z are always protected,
// y is written without its lock by T2 only if its look at x came before T1's increment. Executions:
// each of T2's two sections on f1 goes into one of the three gaps around T1's two, in order: 6.
#include <pthread.h>

static pthread_mutex_t f1 = PTHREAD_MUTEX_INITIALIZER, f2 = PTHREAD_MUTEX_INITIALIZER;
int x, y, z;

static void *one(void *arg)
{
    pthread_mutex_lock(&f1);
    x++;
    pthread_mutex_unlock(&f1);
    pthread_mutex_lock(&f2);
    y++;
    pthread_mutex_unlock(&f2);
    pthread_mutex_lock(&f1);
    z++;
    pthread_mutex_unlock(&f1);
    return NULL;
}

static void *two(void *arg)
{
    int c;
    pthread_mutex_lock(&f1);
    z++;
    c = x;
    pthread_mutex_unlock(&f1);
    pthread_mutex_lock(&f1);
    if (c == 0)
        y++;
    pthread_mutex_unlock(&f1);
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
