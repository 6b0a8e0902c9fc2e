// compilers: gcc clang
// check:
// verdict: verified
// check:
// flags: -DASKS
// verdict: bug
// executions: 2
// finding: assertion

// What is in an epoll queue is state that threads share. Arming an event again happens before the
// wait that gets it; a descriptor that is added is found, or not, by a thread that only asks.
#include <assert.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

static int queue, counter, data;

static int change(int operation)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT};
    return epoll_ctl(queue, operation, counter, &event);
}

static void *changer(void *arg)
{
    data = 42;
#ifdef ASKS
    return change(EPOLL_CTL_ADD) == 0 ? NULL : arg;
#else
    return change(EPOLL_CTL_MOD) == 0 ? NULL : arg;
#endif
}

int main(void)
{
    struct epoll_event event;
    queue = epoll_create1(0);
    counter = eventfd(1, 0);
    pthread_t t;
#ifdef ASKS
    pthread_create(&t, NULL, changer, NULL);
    assert(epoll_wait(queue, &event, 1, 0) == 0);
#else
    if (change(EPOLL_CTL_ADD) != 0 || epoll_wait(queue, &event, 1, -1) != 1)
        return 1;
    pthread_create(&t, NULL, changer, NULL);
    if (epoll_wait(queue, &event, 1, -1) != 1)
        return 1;
    assert(data == 42);
#endif
    pthread_join(t, NULL);
    return 0;
}
