// main reads one result after the join, the other one before.
// race: early
// safe: late
#include <pthread.h>

static int early, late;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static void *one(void *arg) {
    pthread_mutex_lock(&m);
    pthread_mutex_unlock(&m);
    early = 1;
    late = 1;
    return arg;
}

int main(void) {
    pthread_t a;
    int sum = 0;
    pthread_create(&a, 0, one, 0);
    sum += early;
    pthread_mutex_lock(&m);
    pthread_mutex_unlock(&m);
    pthread_join(a, 0);
    sum += late;
    return sum > 2;
}
