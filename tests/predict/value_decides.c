// The second thread touches y only if it has seen the flag that is set after the first one is done
// with y. A reordering of the events has a race, the program has not.
// infeasible: y
#include <pthread.h>

static int ready, y;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static void *one(void *arg) {
    y = 1;
    pthread_mutex_lock(&m);
    ready = 1;
    pthread_mutex_unlock(&m);
    return arg;
}

static void *two(void *arg) {
    int now;
    pthread_mutex_lock(&m);
    now = ready;
    pthread_mutex_unlock(&m);
    if (now)
        y = 2;
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
