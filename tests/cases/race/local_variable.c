// compilers: gcc clang
// check:
// verdict: bug
// finding: data-race var=counter
// A local variable of main that a thread gets a pointer to: named by the frame that it lies in.
#include <pthread.h>

static void *count(void *arg) {
    int *counter = arg;
    *counter += 1;
    return 0;
}

int main(void) {
    int counter = 0;
    pthread_t thread;
    pthread_create(&thread, 0, count, &counter);
    counter += 1;
    pthread_join(thread, 0);
    return counter > 2;
}
