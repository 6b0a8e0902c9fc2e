// compilers: gcc clang
// check:
// verdict: verified
// check: --strategy optimal
// verdict: verified

// A thread that waits in the middle of a line holds the lock of its stream: the other reader does not
// get the second half.
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int ends[2];
static FILE *stream;

static void *reader(void *arg)
{
    char line[16];
    char *text = fgets(line, sizeof line, stream);
    assert(text && !strcmp(line, "ab\n"));
    return arg;
}

int main(void)
{
    pthread_t threads[2];
    if (pipe(ends))
        return 1;
    stream = fdopen(ends[0], "r");
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, reader, NULL);
    if (write(ends[1], "a", 1) != 1 || write(ends[1], "b\na", 3) != 3 || write(ends[1], "b\n", 2) != 2)
        abort();
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
