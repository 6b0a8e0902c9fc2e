// check:
// verdict: bug
// finding: deadlock detail=relock line=17

// Only if T2's store comes between T1's two looks does T1 take its own lock again.
#include <pthread.h>
#include <stdatomic.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
atomic_int mode;

static void *one(void *arg)
{
    if (atomic_load(&mode) == 0) {
        pthread_mutex_lock(&m);
        if (atomic_load(&mode) == 1) {
            pthread_mutex_lock(&m);
            pthread_mutex_unlock(&m);
        }
        pthread_mutex_unlock(&m);
    }
    return NULL;
}

static void *two(void *arg)
{
    atomic_store(&mode, 1);
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
