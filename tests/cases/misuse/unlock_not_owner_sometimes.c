// check:
// verdict: bug
// findings: at-least
// finding: misuse detail=unlock-not-owner var=m line=30

// The error path unlocks what it never locked; that is reached only if the flag comes early, and
// hurts only while the other thread is inside.
#include <pthread.h>
#include <stdatomic.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
atomic_int failed;
int count;

static void *other(void *arg)
{
    atomic_store(&failed, 1);
    pthread_mutex_lock(&m);
    count++;
    pthread_mutex_unlock(&m);
    return NULL;
}

static void *work(void *arg)
{
    if (!atomic_load(&failed)) {
        pthread_mutex_lock(&m);
        count++;
    }
    pthread_mutex_unlock(&m);
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, work, NULL);
    pthread_create(&b, NULL, other, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
