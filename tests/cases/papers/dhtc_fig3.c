// compilers: gcc clang
// check:
// verdict: bug
// executions: 3
// finding: data-race var=v2 line=26 line2=37
// check: --strategy pdp
// verdict: bug
// finding: data-race var=v2 line=26 line2=37
// check: --strategy dhtc
// verdict: bug
// finding: data-race var=v2 line=26 line2=37

// Figure 3 of the DHTC paper: T2 touches v2 without its lock if it saw v1 still 0. Executions: T2
// first at l1 (and never at l2), or T1 first, and then two orders at l2.
#include <pthread.h>

static pthread_mutex_t l1 = PTHREAD_MUTEX_INITIALIZER, l2 = PTHREAD_MUTEX_INITIALIZER;
int v1, v2, v3;

static void *one(void *arg)
{
    pthread_mutex_lock(&l1);
    v1++;
    pthread_mutex_unlock(&l1);
    pthread_mutex_lock(&l2);
    v2++;
    pthread_mutex_unlock(&l2);
    return NULL;
}

static void *two(void *arg)
{
    pthread_mutex_lock(&l1);
    v3 = v1;
    pthread_mutex_unlock(&l1);
    if (v3 == 0) {
        v2++;
    } else {
        pthread_mutex_lock(&l2);
        v2 = 0;
        pthread_mutex_unlock(&l2);
    }
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
