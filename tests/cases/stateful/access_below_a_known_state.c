// check: --strategy stateful
// verdict: bug
// finding: data-race var=data

// The second order of the two empty sections leads to a state that is known before the access to
// `data` is made in it. The access below races with the read on the way all the same.

#include <pthread.h>

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static int data;
static volatile int sink;

static void *reader(void *arg) {
    sink = data;
    pthread_mutex_lock(&first);
    pthread_mutex_unlock(&first);
    return arg;
}

static void *writer(void *arg) {
    pthread_mutex_lock(&first);
    pthread_mutex_unlock(&first);
    pthread_mutex_lock(&second);
    data = 1;
    pthread_mutex_unlock(&second);
    return arg;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, reader, 0);
    pthread_create(&b, 0, writer, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
