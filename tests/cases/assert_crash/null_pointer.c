// compilers: gcc clang
// check:
// verdict: bug
// finding: crash detail=SIGSEGV line=18

// The pointer is cleared between the look and the use; both are atomic.
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

int value = 1;
int *_Atomic pointer = &value;

static void *user(void *arg)
{
    if (atomic_load(&pointer) != NULL) {
        int *p = atomic_load(&pointer);
        return *p == 1 ? NULL : arg;
    }
    return NULL;
}

static void *clearer(void *arg)
{
    atomic_store(&pointer, NULL);
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, user, NULL);
    pthread_create(&b, NULL, clearer, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
