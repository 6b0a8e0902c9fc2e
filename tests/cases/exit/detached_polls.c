// compilers: gcc clang
// check:
// verdict: verified
// check: --strategy optimal
// verdict: verified

// Main ends by pthread_exit, so the process lives until the detached threads have ended, also where one
// of them goes round in a loop of time-outs: main waits for it and does not end by a time-out itself.
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

static int ends[2];

static void *reader(void *arg)
{
    struct pollfd in = {ends[0], POLLIN, 0};
    char byte;
    while (poll(&in, 1, 100) == 0)
        ;
    if (read(ends[0], &byte, 1) != 1)
        return NULL;
    return arg;
}

static void *writer(void *arg)
{
    if (write(ends[1], "x", 1) != 1)
        return NULL;
    return arg;
}

int main(void)
{
    pthread_t thread;
    if (pipe(ends))
        return 1;
    pthread_create(&thread, NULL, reader, NULL);
    pthread_detach(thread);
    pthread_create(&thread, NULL, writer, NULL);
    pthread_detach(thread);
    pthread_exit(NULL);
}
