// compilers: gcc clang
// check:
// verdict: verified
// check:
// flags: -DWITHOUT
// verdict: bug
// finding: deadlock

// Operations on a pair of sockets with a time limit give up where they would have to wait.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

static int ends[2];

static void *writes(void *unused) {
    assert(write(ends[1], "x", 1) == 1);
    return unused;
}

int main(void) {
    assert(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
#ifndef WITHOUT
    struct timeval limit = {1, 0};
    assert(setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0);
#endif
    char byte;
    errno = 0;
    assert(recv(ends[0], &byte, 1, 0) == -1 && errno == EAGAIN);
    pthread_t thread;
    pthread_create(&thread, NULL, writes, NULL);
    long got = read(ends[0], &byte, 1);
    assert(got == 1 || (got == -1 && errno == EAGAIN));
    pthread_join(thread, NULL);
    return 0;
}
