// compilers: gcc clang
// check: --self-check 20
// verdict: verified
// check:
// flags: -DNOT=1
// verdict: bug
// finding: assertion
// check:
// flags: -DNOT=2
// verdict: bug
// finding: assertion
// check:
// flags: -DNOT=3
// verdict: bug
// finding: assertion
// check: --self-check 20
// flags: -DQUEUE
// verdict: verified
// check:
// flags: -DQUEUE -DNOT=1
// verdict: bug
// finding: assertion
// check:
// flags: -DQUEUE -DNOT=2
// verdict: bug
// finding: assertion
// check:
// flags: -DQUEUE -DNOT=3
// verdict: bug
// finding: assertion
// check:
// flags: -DQUEUE -DTIME=0 -DNOT=0
// verdict: bug
// finding: assertion
// check:
// flags: -DQUEUE -DTIME=0 -DNOT=2
// verdict: bug
// finding: assertion
// check:
// flags: -DTIME=0 -DNOT=2
// verdict: bug
// finding: assertion
// check:
// flags: -DQUEUE -DEDGE
// verdict: verified
// check:
// flags: -DQUEUE -DEDGE -DNOT=3
// verdict: bug
// finding: assertion

// Two pipes that are asked about at once: one, the other or both can be read, and without waiting none.
#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <unistd.h>

#ifndef TIME
#define TIME -1
#endif
#ifdef EDGE
#define EVENTS (EPOLLIN | EPOLLET)
#else
#define EVENTS EPOLLIN
#endif
#ifndef NOT
#define NOT 9
#endif

static int first[2], second[2];

static void *writer(void *pipe)
{
    return write(((int *)pipe)[1], "x", 1) == 1 ? NULL : pipe;
}

static int found(void)
{
    int result = 0;
#ifdef QUEUE
    struct epoll_event event = { .events = EVENTS, .data.u32 = 1 }, events[2];
    int queue = epoll_create1(0);
    assert(epoll_ctl(queue, EPOLL_CTL_ADD, first[0], &event) == 0);
    event.data.u32 = 2;
    assert(epoll_ctl(queue, EPOLL_CTL_ADD, second[0], &event) == 0);
    int count = epoll_wait(queue, events, 2, TIME);
    for (int i = 0; i < count; i++)
        result |= events[i].data.u32;
    close(queue);
#else
    struct pollfd entries[2] = { { .fd = first[0], .events = POLLIN }, { .fd = second[0], .events = POLLIN } };
    poll(entries, 2, TIME);
    result = (entries[0].revents != 0) | (entries[1].revents != 0) << 1;
#endif
    return result;
}

int main(void)
{
    pthread_t threads[2];
    assert(pipe(first) == 0 && pipe(second) == 0);
    pthread_create(&threads[0], NULL, writer, first);
    pthread_create(&threads[1], NULL, writer, second);
    int result = found();
    assert(result != NOT && (TIME == 0 || result != 0));
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    return 0;
}
