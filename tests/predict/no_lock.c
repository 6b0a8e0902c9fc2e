// Nothing at all between two increments.
// race: counter
#include <pthread.h>

static int counter;

static void *one(void *arg) {
    counter++;
    return arg;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, one, 0);
    pthread_create(&b, 0, one, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
