// compilers: gcc clang
// check:
// verdict: bug
// finding: data-race var=hits line=16 line2=16

// A read lock keeps writers out, but not other readers: counting under it is a race.
#include <pthread.h>

static pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
int value = 3, hits;

static void *lookup(void *arg)
{
    pthread_rwlock_rdlock(&l);
    int v = value;
    hits++;
    pthread_rwlock_unlock(&l);
    return v ? NULL : arg;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, lookup, NULL);
    pthread_create(&b, NULL, lookup, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
