// check: --memory rc11
// verdict: bug
// finding: data-race detail=read-write var=message
// executions: 2
// check: --memory rc11
// flags: -DSTORE=memory_order_release -DLOAD=memory_order_acquire
// verdict: verified
// executions: 2
// check: --memory tso
// flags: -DSTORE=memory_order_release -DLOAD=memory_order_acquire
// verdict: verified
// executions: 2

// The message is plain memory: a flag that does not synchronise leaves a data race. Otherwise memory holds
// what the reader may see, whichever store of the flag it reads.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#ifndef STORE
#define STORE memory_order_relaxed
#endif
#ifndef LOAD
#define LOAD memory_order_relaxed
#endif

static int message;
static atomic_int flag;

static void *reader(void *arg) {
    if (atomic_load_explicit(&flag, LOAD))
        assert(message == 1);
    return arg;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, reader, NULL);
    message = 1;
    atomic_store_explicit(&flag, 1, STORE);
    pthread_join(thread, NULL);
    return 0;
}
