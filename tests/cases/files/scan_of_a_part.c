// compilers: gcc clang
// check: --max-executions 20
// verdict: incomplete

// fscanf finds a part of a number in a pipe. Where the C library would wait for the rest is not known,
// so the run ends there. In other orders the whole number is there.
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int ends[2];

static void *writer(void *arg)
{
    if (write(ends[1], "1", 1) != 1 || write(ends[1], "2 ", 2) != 2)
        abort();
    return arg;
}

int main(void)
{
    pthread_t thread;
    int number = 0;
    if (pipe(ends))
        return 1;
    FILE *stream = fdopen(ends[0], "r");
    pthread_create(&thread, NULL, writer, NULL);
    assert(fscanf(stream, "%d", &number) == 1 && number == 12);
    pthread_join(thread, NULL);
    fclose(stream);
    return 0;
}
