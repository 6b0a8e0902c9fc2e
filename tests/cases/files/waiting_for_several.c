// compilers: gcc clang
// check:
// verdict: verified
// check:
// flags: -DSELECT
// verdict: verified
// check:
// flags: -DEPOLL
// verdict: verified

// A thread that waits without a time-out for one of two pipes goes on when either is written to.
#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <unistd.h>

static int pipes[2][2];

static void *writer(void *arg)
{
    return write(pipes[arg != NULL][1], "x", 1) == 1 ? NULL : arg;
}

static void wait_for_any(void)
{
#if defined SELECT
    fd_set set;
    FD_ZERO(&set);
    FD_SET(pipes[0][0], &set);
    FD_SET(pipes[1][0], &set);
    int found = select(pipes[1][1] + 1, &set, NULL, NULL, NULL);
    assert(found >= 1 && (FD_ISSET(pipes[0][0], &set) || FD_ISSET(pipes[1][0], &set)));
#elif defined EPOLL
    int queue = epoll_create1(0);
    struct epoll_event event = { EPOLLIN };
    epoll_ctl(queue, EPOLL_CTL_ADD, pipes[0][0], &event);
    epoll_ctl(queue, EPOLL_CTL_ADD, pipes[1][0], &event);
    int found = epoll_wait(queue, &event, 1, -1);
    assert(found == 1);
    close(queue);
#else
    struct pollfd entries[] = { { pipes[0][0], POLLIN, 0 }, { pipes[1][0], POLLIN, 0 } };
    int found = poll(entries, 2, -1);
    assert(found >= 1 && (entries[0].revents | entries[1].revents) == POLLIN);
#endif
}

int main(void)
{
    if (pipe(pipes[0]) != 0 || pipe(pipes[1]) != 0)
        return 1;
    pthread_t t, u;
    pthread_create(&t, NULL, writer, NULL);
    pthread_create(&u, NULL, writer, pipes);
    wait_for_any();
    pthread_join(t, NULL);
    pthread_join(u, NULL);
    return 0;
}
