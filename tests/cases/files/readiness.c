// compilers: gcc clang
// check:
// verdict: bug
// executions: 2
// finding: assertion
// check:
// flags: -DSELECT
// verdict: bug
// executions: 2
// finding: assertion
// check:
// flags: -DEPOLL
// verdict: bug
// executions: 2
// finding: assertion
// check:
// flags: -DBYTES
// verdict: bug
// executions: 2
// finding: assertion

// Whether a pipe can be read depends on what another thread has written.
#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <unistd.h>

static int ends[2];

static void *writer(void *arg)
{
    return write(ends[1], "x", 1) == 1 ? NULL : arg;
}

static int ask(int queue)
{
#if defined SELECT
    fd_set set;
    struct timeval now = { 0, 0 };
    FD_ZERO(&set);
    FD_SET(ends[0], &set);
    return select(ends[0] + 1, &set, NULL, NULL, &now);
#elif defined EPOLL
    struct epoll_event event;
    return epoll_wait(queue, &event, 1, 0);
#elif defined BYTES
    int bytes = 0;
    ioctl(ends[0], FIONREAD, &bytes);
    return bytes;
#else
    struct pollfd entry = { ends[0], POLLIN, 0 };
    return poll(&entry, 1, 0);
#endif
}

int main(void)
{
    if (pipe(ends) != 0)
        return 1;
    int queue = epoll_create1(0);
    struct epoll_event event = { EPOLLIN };
    epoll_ctl(queue, EPOLL_CTL_ADD, ends[0], &event);
    pthread_t t;
    pthread_create(&t, NULL, writer, NULL);
    int ready = ask(queue);
    pthread_join(t, NULL);
    assert(ready == 0);
    return 0;
}
