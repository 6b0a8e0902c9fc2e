// compilers: gcc clang
// check: --self-check 20
// flags: -DREAD
// verdict: verified
// executions: 3
// check: --self-check 20
// flags: -DWRITE
// verdict: verified
// executions: 3
// check: --self-check 20
// flags: -DPEEK
// verdict: verified
// executions: 3
// check: --self-check 20
// flags: -DPOLL
// verdict: verified
// check: --self-check 20
// flags: -DQUEUE
// verdict: bug
// finding: deadlock
// check: --self-check 20
// flags: -DFLAGS
// verdict: verified
// check: --self-check 20
// flags: -DCOPY
// verdict: verified
// check: --self-check 20
// flags: -DSOCKET
// verdict: verified
// executions: 3
// check: --self-check 20
// flags: -DCOUNTER
// verdict: verified
// executions: 3
// check: --self-check 20
// flags: -DTIMER
// verdict: incomplete
// check: --self-check 20
// flags: -DFILE_READ
// verdict: verified
// check: --self-check 20
// flags: -DFILE_SEEK
// verdict: verified
// check: --self-check 20
// flags: -DFILE_STATUS
// verdict: verified
// check: --self-check 20
// flags: -DFILE_SIZE
// verdict: verified
// check: --self-check 20
// flags: -DREAD -DMISSED
// verdict: bug
// findings: at-least
// finding: assertion

// A number that another descriptor takes while a thread uses it: the thread has found the former or
// the latter, and goes on with that. It looks the number up, then operates: the replacement comes
// before, in between, or behind. MISSED: one that has found the former may wait for it for ever, and
// the data of the latter is left. QUEUE: what the number referred to is closed, so it leaves the queue, and
// the wait for the queue never ends.
#define _GNU_SOURCE
#include <assert.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

static int used, other;
static int former[2], latter[2];

static void make(void)
{
#if defined SOCKET
    assert(socketpair(AF_UNIX, SOCK_STREAM, 0, former) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, latter) == 0);
    assert(send(former[1], "a", 1, 0) == 1 && send(latter[1], "bb", 2, 0) == 2);
#elif defined COUNTER
    former[0] = eventfd(1, 0), latter[0] = eventfd(2, 0);
#elif defined TIMER
    struct itimerspec soon = { .it_value = { .tv_nsec = 1 } };
    former[0] = timerfd_create(CLOCK_MONOTONIC, 0), latter[0] = timerfd_create(CLOCK_MONOTONIC, 0);
    assert(timerfd_settime(former[0], 0, &soon, NULL) == 0 && timerfd_settime(latter[0], 0, &soon, NULL) == 0);
#elif defined FILE_READ || defined FILE_SEEK || defined FILE_STATUS || defined FILE_SIZE
    former[0] = memfd_create("former", 0), latter[0] = memfd_create("latter", 0);
    assert(write(former[0], "a", 1) == 1 && write(latter[0], "bb", 2) == 2);
#else
    assert(pipe(former) == 0 && pipe(latter) == 0);
    assert(write(former[1], "a", 1) == 1 && write(latter[1], "bb", 2) == 2);
#endif
}

static void *user(void *arg)
{
    char text[8] = "";
    long found = 0;
    (void)text;
#if defined READ
    found = read(used, text, sizeof text);
#elif defined WRITE
    found = write(used, "a", 1);
#elif defined PEEK
    int bytes;
    assert(ioctl(used, FIONREAD, &bytes) == 0);
    found = bytes;
#elif defined POLL
    struct pollfd entry = { .fd = used, .events = POLLIN };
    found = poll(&entry, 1, -1);
#elif defined QUEUE
    struct epoll_event event = { .events = EPOLLIN }, into;
    int queue = epoll_create1(0);
    assert(epoll_ctl(queue, EPOLL_CTL_ADD, used, &event) == 0);
    found = epoll_wait(queue, &into, 1, -1);
    close(queue);
#elif defined FLAGS
    found = 1 + (fcntl(used, F_GETFL) < 0);
#elif defined COPY
    int copy = dup(used);
    found = read(copy, text, sizeof text);
    close(copy);
#elif defined SOCKET
    found = recv(used, text, sizeof text, 0);
#elif defined COUNTER
    eventfd_t value;
    assert(eventfd_read(used, &value) == 0);
    found = value;
#elif defined TIMER
    unsigned long long value;
    found = read(used, &value, sizeof value) == sizeof value;
#elif defined FILE_READ
    found = pread(used, text, sizeof text, 0);
#elif defined FILE_SEEK
    found = lseek(used, 0, SEEK_END);
#elif defined FILE_STATUS
    struct stat about;
    assert(fstat(used, &about) == 0);
    found = about.st_size;
#elif defined FILE_SIZE
    found = 1 + (ftruncate(used, 5) != 0);
#endif
    assert(found == 1 || found == 2);
#ifdef MISSED
    assert(found == 1);
#endif
    return arg;
}

int main(void)
{
    make();
#ifdef WRITE
    used = former[1], other = latter[1];
#else
    used = former[0], other = latter[0];
#endif
    pthread_t thread;
    pthread_create(&thread, NULL, user, NULL);
    assert(dup2(other, used) == used);
    pthread_join(thread, NULL);
    return 0;
}
