// check:
// verdict: bug
// findings: at-least
// finding: data-race var=instance line=15 line2=19

// Double-checked initialisation with a plain pointer.
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int storage, *instance;

static int *get(void)
{
    if (instance == NULL) {
        pthread_mutex_lock(&m);
        if (instance == NULL) {
            storage = 42;
            instance = &storage;
        }
        pthread_mutex_unlock(&m);
    }
    return instance;
}

static void *work(void *arg)
{
    return get() ? NULL : arg;
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
