// long:
// check:
// verdict: bug
// finding: crash detail=SIGXCPU line=14
// most-runs: 3

// A thread never makes an operation again, in whatever order the others go: the search ends once
// the watchdog had to end three runs for that.
#include <pthread.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static void *spin(void *unused) {
    for (;;)
        __asm__ volatile("" ::"r"(unused));
}

static void *use(void *unused) {
    pthread_mutex_lock(&m);
    pthread_mutex_unlock(&m);
    return unused;
}

int main(void) {
    pthread_t threads[3];
    pthread_create(&threads[0], 0, spin, 0);
    pthread_create(&threads[1], 0, use, 0);
    pthread_create(&threads[2], 0, use, 0);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], 0);
    return 0;
}
