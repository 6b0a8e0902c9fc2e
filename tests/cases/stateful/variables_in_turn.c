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
// executions: 16
// finding: assertion

// A pointer to `first` is stored, so `first` has hooks. `second` has none. Compilers would put both at the same place,
// as one ends where the other begins: then it would seem that the place holds a variable to which
// no pointer is stored. 16 traces: the reader's section with m is at one of 4 places among the writer's 3,
// that with n, too.

#include <assert.h>
#include <pthread.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, n = PTHREAD_MUTEX_INITIALIZER;
static long shared, other;
static long *place;

static __attribute__((noinline)) long sum(const long *p, long i) { return p[i & 3] + p[(i + 1) & 3]; }

static __attribute__((noinline)) void publish(long *p) { place = p; }

static __attribute__((noinline)) long is_bad(void) {
    pthread_mutex_lock(&n);
    long seen = other;
    pthread_mutex_unlock(&n);
    return seen == 3 && place[2] == 3;
}

static __attribute__((noinline)) long get(void) {
    pthread_mutex_lock(&m);
    long seen = shared;
    pthread_mutex_unlock(&m);
    return seen;
}

static void *reader(void *arg) {
    long bad = 0;
    {
        long first[4] = {0, 1, 0, 3};
        publish(first);
        first[2] = get();
        bad += is_bad();
    }
    {
        long second[4];
        second[0] = 4;
        second[1] = 5;
        second[2] = 6;
        second[3] = 7;
        bad = bad ? 1 : sum(second, 2) == 14;
    }
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
