// check:
// verdict: verified
// check:
// flags: -DIGNORES_INTERRUPTION
// verdict: bug
// finding: assertion detail=assert

// A handler without SA_RESTART ends a read that waits, with EINTR.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static int ends[2];

static void handle(int number)
{
}

static void *reads(void *arg)
{
    char byte = 0;
    ssize_t got = read(ends[0], &byte, 1);
#ifndef IGNORES_INTERRUPTION
    while (got < 0 && errno == EINTR)
        got = read(ends[0], &byte, 1);
#endif
    assert(got == 1 && byte == 'x');
    return arg;
}

int main(void)
{
    pthread_t t;
    struct sigaction action = { .sa_handler = handle };
    sigaction(SIGUSR1, &action, NULL);
    assert(pipe(ends) == 0);
    pthread_create(&t, NULL, reads, NULL);
    pthread_kill(t, SIGUSR1);
    assert(write(ends[1], "x", 1) == 1);
    pthread_join(t, NULL);
    close(ends[0]);
    close(ends[1]);
    return 0;
}
