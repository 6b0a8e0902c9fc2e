// compilers: gcc clang
// check:
// verdict: bug
// finding: assertion
// check:
// flags: -DSENT
// verdict: bug
// finding: assertion

// `fflush` of all streams writes what each holds, while another thread asks for the size of the
// file. `sendfile` writes a file.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

static FILE *stream, *source;

static void *writes(void *unused) {
#ifdef SENT
    off_t start = 0;
    assert(sendfile(fileno(stream), fileno(source), &start, 3) == 3);
#else
    fflush(NULL);
#endif
    return unused;
}

int main(void) {
    stream = tmpfile();
    source = tmpfile();
    fputs("abc", source);
    fflush(source);
#ifndef SENT
    fputs("abc", stream);
#endif
    pthread_t thread;
    pthread_create(&thread, NULL, writes, NULL);
    struct stat before;
    fstat(fileno(stream), &before);
    pthread_join(thread, NULL);
    struct stat after;
    fstat(fileno(stream), &after);
    assert(after.st_size == 3);
    assert(before.st_size == 0);
    return 0;
}
