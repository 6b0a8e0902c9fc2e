// compilers: gcc clang
// check: --self-check 50
// verdict: verified
// check:
// flags: -DNOT_BOTH_OF_ONE
// verdict: bug
// finding: assertion

// Two threads wait for either of two pipes, and take from the first that can be read. Whichever has
// let a thread go on, another thread may have been faster.
#define _GNU_SOURCE
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/select.h>
#include <unistd.h>

static int one[2], other[2];

static void *writer(void *pipe)
{
    return write(((int *)pipe)[1], "x", 1) == 1 ? NULL : pipe;
}

static void *taker(void *arg)
{
    fd_set set;
    char byte;
    FD_ZERO(&set);
    FD_SET(one[0], &set);
    FD_SET(other[0], &set);
    assert(select((one[0] > other[0] ? one[0] : other[0]) + 1, &set, NULL, NULL, NULL) >= 1);
    int from = FD_ISSET(one[0], &set) ? one[0] : other[0];
    ssize_t taken = read(from, &byte, 1);
#ifdef NOT_BOTH_OF_ONE
    assert(taken == 1);
#endif
    (void)taken;
    return arg;
}

int main(void)
{
    pthread_t threads[3];
    assert(pipe2(one, O_NONBLOCK) == 0 && pipe2(other, O_NONBLOCK) == 0);
    pthread_create(&threads[0], NULL, writer, one);
    pthread_create(&threads[1], NULL, writer, other);
    pthread_create(&threads[2], NULL, taker, NULL);
    taker(NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
