// compilers: gcc clang
// check:
// verdict: bug
// executions: 2
// finding: assertion
// finding: data-race detail=descriptor
// check:
// flags: -DREPLACE
// verdict: bug
// executions: 3
// finding: assertion
// check:
// flags: -DFLAGS
// verdict: bug
// executions: 2
// finding: assertion
// check:
// flags: -DOFFSET
// verdict: bug
// executions: 2
// finding: assertion

// A descriptor is closed, replaced, made nonblocking, or its file made longer, while another thread
// uses it. In a program that replaces descriptors, looking one up is a step of its own.
#define _GNU_SOURCE
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

static int ends[2], file;

static void *changer(void *arg)
{
#if defined REPLACE
    dup2(ends[1], file);
#elif defined FLAGS
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
#elif defined OFFSET
    if (ftruncate(file, 100) != 0)
        return arg;
#else
    close(file);
#endif
    return NULL;
}

int main(void)
{
    if (pipe(ends) != 0)
        return 1;
#ifdef OFFSET
    file = memfd_create("file", 0);
#else
    file = open("/dev/null", O_WRONLY);
#endif
    pthread_t t;
    pthread_create(&t, NULL, changer, NULL);
#if defined FLAGS
    int unchanged = (fcntl(ends[0], F_GETFL) & O_NONBLOCK) == 0;
#elif defined OFFSET
    int unchanged = lseek(file, 0, SEEK_END) == 0;
#else
    int unchanged = write(file, "x", 1) == 1;
#endif
    pthread_join(t, NULL);
#ifdef REPLACE
    char got;
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    unchanged = read(ends[0], &got, 1) != 1;
#endif
    assert(unchanged);
    return 0;
}
