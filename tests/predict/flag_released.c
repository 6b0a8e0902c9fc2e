// An atomic flag, stored with release and awaited with acquire. In the observed run it is set
// before it is read. Only the program itself shows that no thread can go past it before.
// infeasible: x
#include <pthread.h>
#include <stdatomic.h>

static int x;
static atomic_int ready;

static void *one(void *arg) {
    x = 1;
    atomic_store_explicit(&ready, 1, memory_order_release);
    return arg;
}

static void *two(void *arg) {
    while (!atomic_load_explicit(&ready, memory_order_acquire)) {
    }
    x = 2;
    return arg;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, one, 0);
    pthread_create(&b, 0, two, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
