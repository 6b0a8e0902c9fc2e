// check:
// verdict: bug
// finding: data-race var=storage detail=read-write line=21 line2=32

// The pointer is atomic, but relaxed: a thread that sees it need not see what it points to.
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int storage;
int *_Atomic instance;

static int *get(void)
{
    int *p = atomic_load_explicit(&instance, memory_order_relaxed);
    if (p == NULL) {
        pthread_mutex_lock(&m);
        p = atomic_load_explicit(&instance, memory_order_relaxed);
        if (p == NULL) {
            storage = 42;
            p = &storage;
            atomic_store_explicit(&instance, p, memory_order_relaxed);
        }
        pthread_mutex_unlock(&m);
    }
    return p;
}

static void *work(void *arg)
{
    return *get() == 42 ? NULL : arg;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, work, NULL);
    pthread_create(&b, NULL, work, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
