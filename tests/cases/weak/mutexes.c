// check: --memory rc11
// verdict: verified
// executions: 6
// check: --memory tso
// verdict: verified
// executions: 6
// check: --memory rc11
// flags: -DCROSSED
// verdict: bug
// finding: deadlock detail=cycle
// check: --memory tso
// flags: -DCROSSED
// verdict: bug
// finding: deadlock detail=cycle

// Three threads add to a plain counter under a mutex, in 3! orders. CROSSED: two threads take two mutexes
// in different orders.
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static int count;

static void *add(void *arg) {
    pthread_mutex_t *first = &lock, *second = &other;
#ifdef CROSSED
    if (arg) {
        first = &other;
        second = &lock;
    }
#endif
    pthread_mutex_lock(first);
#ifdef CROSSED
    pthread_mutex_lock(second);
#endif
    count++;
#ifdef CROSSED
    pthread_mutex_unlock(second);
#endif
    pthread_mutex_unlock(first);
    (void)second;
    return arg;
}

int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, add, NULL);
    pthread_create(&threads[1], NULL, add, &threads);
#ifndef CROSSED
    add(NULL);
#endif
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
#ifndef CROSSED
    assert(count == 3);
#endif
    return 0;
}
