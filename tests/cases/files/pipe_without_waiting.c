// check:
// verdict: bug
// executions: 2
// finding: assertion detail=assert line=17

// A read from a non-blocking pipe finds data or not.
#define _GNU_SOURCE
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

static int ends[2];
static void *reader(void *arg)
{
    char letter;
    assert(read(ends[0], &letter, 1) != 1);
    return arg;
}

static void *writer(void *arg)
{
    return write(ends[1], "x", 1) == 1 ? arg : NULL;
}

int main(void)
{
    pthread_t a, b;
    if (pipe2(ends, O_NONBLOCK) < 0)
        return 1;
    pthread_create(&a, NULL, reader, NULL);
    pthread_create(&b, NULL, writer, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
