// compilers: gcc clang
// check:
// flags: -DREOPENED
// verdict: bug
// finding: assertion
// check:
// flags: -DORIENTED
// verdict: bug
// finding: assertion
// check:
// flags: -DBUFFERED
// verdict: bug
// finding: assertion
// check:
// flags: -DMODE
// verdict: bug
// finding: assertion
// check:
// flags: -DDEVICE
// verdict: bug
// finding: assertion
// check:
// flags: -DPENDING
// verdict: bug
// findings: at-least
// finding: data-race
// finding: assertion
// check:
// flags: -DORDERED
// verdict: verified

// What a stream keeps beside its file: orientation, buffer, flags, and whether it was reopened. Calls
// that ask for it and calls that change it come in both orders.
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <wchar.h>

static FILE *stream;

static void *other(void *unused) {
    (void)unused;
#if defined REOPENED
    stream = freopen("/dev/null", "r", stream);
#elif defined ORIENTED || defined ORDERED
    fwide(stream, 1);
#elif defined BUFFERED
    setvbuf(stream, NULL, _IONBF, 0);
#elif defined DEVICE
    fgetc(stream);
#else
    fputc('x', stream);
#endif
    return NULL;
}

int main(void) {
#if defined REOPENED
    stream = fopen("/etc/passwd", "r");
#elif defined DEVICE
    stream = fopen("/dev/null", "r");
#else
    stream = tmpfile();
#endif
    FILE *own = stream;
    pthread_t thread;
    pthread_create(&thread, NULL, other, NULL);
#if defined ORDERED
    pthread_join(thread, NULL);
    assert(fwide(own, -1) > 0);
#else
#if defined REOPENED
    int is_first = fgetc(own) != EOF;
#elif defined ORIENTED
    int is_first = fwide(own, -1) < 0;
#elif defined BUFFERED
    fputc('x', own);
    long size = __fbufsize(own);
    int is_first = size > 1;
#elif defined MODE
    int is_first = !__fwriting(own);
#elif defined DEVICE
    int is_first = !feof(own);
#else
    int is_first = __fpending(own) == 0;
#endif
    pthread_join(thread, NULL);
    assert(is_first);
#endif
    return 0;
}
