// compilers: gcc clang
// check:
// verdict: verified
// check: --strategy optimal
// verdict: verified
// check: --granularity access
// verdict: verified
// check:
// flags: -DNO_END
// verdict: bug
// finding: deadlock detail=all-blocked

// What a function of a stream wants comes in several pieces: half lines, parts of records, more than a
// pipe holds. It waits for each, and other threads run meanwhile. Without the last newline it waits
// for ever.
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MANY 70000

static int ends[2];
static char many[MANY], got[MANY];

static void put(const char *text, size_t bytes)
{
    if (write(ends[1], text, bytes) != (ssize_t)bytes)
        abort();
}

static void *writer(void *arg)
{
    put("ab", 2);
    put("c\nfirst ", 8);
    put("line\n12", 7);
    put("345", 3);
    put(many, MANY);
#ifdef NO_END
    put("end", 3);
#else
    put("end\n", 4);
    close(ends[1]);
#endif
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
    char *text = fgets(line, sizeof line, stream);
    assert(text && !strcmp(line, "abc\n"));
    assert(getline(&rest, &room, stream) == 11 && !strcmp(rest, "first line\n"));
    assert(fread(line, 5, 1, stream) == 1 && !memcmp(line, "12345", 5));
    assert(fread(got, 1, MANY, stream) == MANY && !memcmp(got, many, MANY));
    text = fgets(line, sizeof line, stream);
    assert(text && !strcmp(line, "end\n"));
    assert(fgetc(stream) == EOF && feof(stream));
    assert(!fgets(line, sizeof line, stream) && fread(line, 1, 4, stream) == 0);
    assert(getline(&rest, &room, stream) == -1);
    free(rest);
    fclose(stream);
    pthread_join(thread, NULL);
    return 0;
}
