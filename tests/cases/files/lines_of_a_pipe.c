// compilers: gcc clang
// check:
// verdict: verified
// check: --strategy optimal
// verdict: verified

// A thread reads lines by a stream from a pipe that another thread writes to: it waits for the
// pipe, and the other thread runs meanwhile.
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int ends[2];

static void *writer(void *arg)
{
    if (write(ends[1], "one\n", 4) != 4 || write(ends[1], "two\n", 4) != 4)
        abort();
    close(ends[1]);
    return arg;
}

int main(void)
{
    pthread_t thread;
    char line[16], *rest = NULL;
    size_t room = 0;
    if (pipe(ends))
        return 1;
    FILE *stream = fdopen(ends[0], "r");
    pthread_create(&thread, NULL, writer, NULL);
    int first = fgetc(stream);
    ungetc(first, stream);
    char *got = fgets(line, sizeof line, stream);
    assert(got && !strcmp(line, "one\n"));
    assert(getline(&rest, &room, stream) == 4 && !strcmp(rest, "two\n"));
    assert(fgetc(stream) == EOF && feof(stream));
    free(rest);
    fclose(stream);
    pthread_join(thread, NULL);
    return 0;
}
