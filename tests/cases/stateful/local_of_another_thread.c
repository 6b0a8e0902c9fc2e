// compilers: gcc clang
// flags: -fno-omit-frame-pointer
// check: --strategy stateful
// verdict: bug
// finding: assertion line=29

// The threads work on a variable of `main`, which does not use it itself. It is part of the state all
// the same.

#include <assert.h>
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *first(void *arg) {
    int *steps = arg;
    pthread_mutex_lock(&lock);
    *steps = *steps * 2 + 1;
    pthread_mutex_unlock(&lock);
    return 0;
}

static void *second(void *arg) {
    int *steps = arg;
    pthread_mutex_lock(&lock);
    *steps = *steps * 3;
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&lock);
    assert(*steps != 3);
    pthread_mutex_unlock(&lock);
    return 0;
}

int main(void) {
    int steps = 0;
    pthread_t a, b;
    pthread_create(&a, 0, first, &steps);
    pthread_create(&b, 0, second, &steps);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
