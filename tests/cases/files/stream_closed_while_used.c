// compilers: gcc clang
// flags: -O2
// check: --strategy optimal
// verdict: bug
// findings: at-least
// finding: data-race detail=use-after-free
// check:
// flags: -DORDERED
// verdict: bug
// findings: at-least
// finding: memory detail=use-after-free line=32
// check:
// flags: -DJOINED
// verdict: verified

// A stream is closed by one thread and used by another. Its lock orders what they do, but does not say
// which comes first: a thread that comes behind `fclose` uses freed memory. With -O2 the C library's `fwrite`
// gives up on such a stream without a crash, so only the use itself shows the error, and only where it
// comes behind the end: in the other order the lock of the stream puts the use before it.
#include <pthread.h>
#include <stdio.h>

static FILE *f;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int closed;

static void *line(void *arg)
{
#ifdef ORDERED
    pthread_mutex_lock(&m);
    if (closed)
        fputs("ab", f);
    pthread_mutex_unlock(&m);
#else
    flockfile(f);
    fputs("ab", f);
    fputs("cd\n", f);
    funlockfile(f);
#endif
    return arg;
}

int main(void)
{
    pthread_t t;
    f = fopen("log.txt", "w+");
    if (!f)
        return 1;
    pthread_create(&t, NULL, line, NULL);
    line(NULL);
#ifdef JOINED
    pthread_join(t, NULL);
    fclose(f);
#else
    pthread_mutex_lock(&m);
    fclose(f);
    closed = 1;
    pthread_mutex_unlock(&m);
    pthread_join(t, NULL);
#endif
    return 0;
}
