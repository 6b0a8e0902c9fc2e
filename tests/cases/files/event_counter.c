// compilers: gcc clang
// check:
// verdict: verified
// executions: 1
// check:
// flags: -DTWICE
// verdict: bug
// finding: deadlock detail=all-blocked
//
// A thread waits for the value of an event counter while the other runs: by eventfd_read, or by
// ppoll before it. Who comes second finds nothing.
#define _GNU_SOURCE
#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>

static int counter;

static void *wait_for_it(void *unused)
{
    (void)unused;
    eventfd_t value;
    struct pollfd entry = {.fd = counter, .events = POLLIN};
    assert(ppoll(&entry, 1, NULL, NULL) == 1);
    assert(eventfd_read(counter, &value) == 0 && value == 7);
    return NULL;
}

int main(void)
{
    pthread_t thread;
    counter = eventfd(0, 0);
    pthread_create(&thread, NULL, wait_for_it, NULL);
    assert(eventfd_write(counter, 7) == 0);
#ifdef TWICE
    wait_for_it(NULL);
#endif
    pthread_join(thread, NULL);
    return 0;
}
