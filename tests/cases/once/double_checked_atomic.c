// check:
// verdict: verified

// The same with an acquire load and a release store.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int storage;
int *_Atomic instance;

static int *get(void)
{
    int *p = atomic_load_explicit(&instance, memory_order_acquire);
    if (p == NULL) {
        pthread_mutex_lock(&m);
        p = atomic_load_explicit(&instance, memory_order_relaxed);
        if (p == NULL) {
            storage = 42;
            p = &storage;
            atomic_store_explicit(&instance, p, memory_order_release);
        }
        pthread_mutex_unlock(&m);
    }
    return p;
}

static void *work(void *arg)
{
    assert(*get() == 42);
    return NULL;
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
