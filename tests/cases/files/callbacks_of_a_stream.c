// compilers: gcc clang
// check:
// verdict: verified
// check:
// flags: -DBESIDE
// verdict: bug
// finding: data-race var=written

// A stream calls functions of the program while it holds its lock: what they do is guarded by it.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

static long written;

static ssize_t counts(void *cookie, const char *from, size_t bytes) {
    (void)cookie, (void)from;
    written += bytes;
    return bytes;
}

static FILE *stream;

static void *writes(void *unused) {
    fputs("ab", stream);
    return unused;
}

int main(void) {
    stream = fopencookie(NULL, "w", (cookie_io_functions_t){.write = counts});
    setvbuf(stream, NULL, _IONBF, 0);
    pthread_t thread;
    pthread_create(&thread, NULL, writes, NULL);
#ifdef BESIDE
    long now = written;
    (void)now;
#else
    fputs("abc", stream);
#endif
    pthread_join(thread, NULL);
    fclose(stream);
    return written < 2;
}
