// check:
// verdict: bug
// executions: 2
// finding: assertion detail=assert line=44
// check: --strategy dpor
// verdict: bug
// executions: 2
// finding: assertion detail=assert line=44
// check: --jobs 3
// verdict: bug
// executions: 2
// finding: assertion detail=assert line=44

// The order of the stores does not depend on the thread that waits for the pipe, which cannot
// continue before there is data.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

static int ends[2];
static atomic_int x;

static void *reader(void *arg)
{
    char byte;
    return read(ends[0], &byte, 1) == 1 ? arg : 0;
}

static void *writer(void *arg)
{
    atomic_store(&x, 1);
    return write(ends[1], "a", 1) == 1 ? arg : 0;
}

int main(void)
{
    pthread_t r, w;
    if (pipe(ends))
        return 1;
    pthread_create(&r, 0, reader, 0), pthread_create(&w, 0, writer, 0);
    atomic_store(&x, 2);
    pthread_join(r, 0), pthread_join(w, 0);
    assert(atomic_load(&x) == 1);
    return 0;
}
