// compilers: gcc clang
// check: --strategy stateful
// flags: -O1
// verdict: bug
// finding: assertion
// check: --strategy stateful
// flags: -O2
// verdict: bug
// finding: assertion
// check: --strategy optimal
// flags: -O1
// verdict: bug
// executions: 40
// finding: assertion

// No pointer to `x` outlives a call, so compilers leave out hooks for it: the reader overwrites `x` behind
// the first call of `is_bad`, without a hook. But `is_bad` is under way, and reads `x` through its
// pointer. States with different values of `x` are different. 40 traces: the reader's section with m is at
// one of 4 places among the writer's 3, its two sections with n at two of 4 places, in order: 4 * 10.

#include <assert.h>
#include <pthread.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, n = PTHREAD_MUTEX_INITIALIZER;
static long shared, other;

static __attribute__((noinline)) long is_bad(const long *x) {
    pthread_mutex_lock(&n);
    long seen = other;
    pthread_mutex_unlock(&n);
    return *x == 3 && seen == 3;
}

static __attribute__((noinline)) void set(long *x) {
    pthread_mutex_lock(&m);
    *x = shared;
    pthread_mutex_unlock(&m);
}

static void *reader(void *arg) {
    long x[2];
    set(x);
    long bad = is_bad(x);
    x[0] = 17;
    x[1] = 8;
    bad |= is_bad(x);
    assert(!bad);
    return arg;
}

static void *writer(void *arg) {
    for (int i = 1; i < 4; i++) {
        pthread_mutex_lock(&m);
        shared = i;
        pthread_mutex_unlock(&m);
    }
    for (int i = 1; i < 4; i++) {
        pthread_mutex_lock(&n);
        other = i;
        pthread_mutex_unlock(&n);
    }
    return arg;
}

int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, reader, NULL);
    pthread_create(&threads[1], NULL, writer, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
}
