// check: --memory rc11
// verdict: verified
// executions: 14
// check: --memory tso
// verdict: verified
// executions: 14
// check: --memory rc11
// flags: -DREADERS_WRITE
// verdict: bug
// finding: data-race var=value
// check: --memory rc11
// flags: -DTRY
// verdict: verified
// executions: 3
// check: --memory rc11
// flags: -DSTUCK
// verdict: bug
// finding: deadlock detail=cycle

// A writer and two readers. All operations on the lock have one order: the readers are on either side of the
// writer, in 2 cases, or on one side, in 2 x 6 orders of their four operations. READERS_WRITE: readers do not
// exclude each other, and do not synchronise. TRY: a reader that does not wait comes before the writer, behind it,
// or finds it inside. STUCK: readers want to become writers.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int value;

static void *write_it(void *arg) {
    pthread_rwlock_wrlock(&lock);
    value++;
    pthread_rwlock_unlock(&lock);
    return arg;
}

static void *read_it(void *arg) {
#ifdef TRY
    if (pthread_rwlock_tryrdlock(&lock) != 0)
        return arg;
#else
    pthread_rwlock_rdlock(&lock);
#endif
#ifdef READERS_WRITE
    value = 7;
#else
    assert(value <= 1);
#endif
#ifdef STUCK
    pthread_rwlock_wrlock(&lock);
#endif
    pthread_rwlock_unlock(&lock);
    return arg;
}

int main(void) {
    pthread_t writer, reader;
    pthread_create(&writer, NULL, write_it, NULL);
    pthread_create(&reader, NULL, read_it, NULL);
#ifndef TRY
    read_it(NULL);
#endif
    pthread_join(writer, NULL);
    pthread_join(reader, NULL);
    return 0;
}
