// Both count with an atomic in between, which orders them only by chance.
// race: x
#include <pthread.h>
#include <stdatomic.h>

static int x;
static atomic_int count;

static void *one(void *arg) {
    x = 1;
    atomic_fetch_add(&count, 1);
    return arg;
}

static void *two(void *arg) {
    atomic_fetch_add(&count, 1);
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
