// compilers: gcc clang
// check:
// flags: -DFIRST=put -DSECOND=put
// verdict: bug
// finding: data-race detail=write-write line=44 line2=44
// check:
// flags: -DFIRST=put -DSECOND=locked
// verdict: bug
// finding: data-race detail=write-write line=44 line2=50
// check:
// flags: -DFIRST=locked -DSECOND=locked
// verdict: verified
// check:
// flags: -DFIRST=section -DSECOND=section
// verdict: verified
// check:
// flags: -DFIRST=section -DSECOND=locked
// verdict: verified
// check:
// flags: -DFIRST=guarded -DSECOND=guarded
// verdict: verified
// check:
// flags: -DFIRST=guarded -DSECOND=locked
// verdict: bug
// finding: data-race detail=write-write line=64 line2=50
// check:
// flags: -DFIRST=asks -DSECOND=put
// verdict: bug
// finding: data-race detail=read-write line=71 line2=44

// `fputs_unlocked` and its kin leave the lock of the stream to their caller: two threads that use one
// stream need an order for them, even if one of the two takes the lock.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>

static FILE *stream;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

#define UNUSED __attribute__((unused))

static UNUSED void put(void)
{
    fputs_unlocked("text", stream);
}

static UNUSED void locked(void)
{
    // Compilers make `fwrite` of `fputs`.
    fwrite("text", 1, 4, stream);
}

static UNUSED void section(void)
{
    flockfile(stream);
    fputs_unlocked("te", stream);
    fputs_unlocked("xt", stream);
    funlockfile(stream);
}

static UNUSED void guarded(void)
{
    pthread_mutex_lock(&mutex);
    fwrite_unlocked("text", 1, 4, stream);
    pthread_mutex_unlock(&mutex);
}

static UNUSED void asks(void)
{
    int (*is_over)(FILE *) = feof_unlocked;
    is_over(stream);
}

static void *first(void *arg)
{
    FIRST();
    return arg;
}

int main(void)
{
    pthread_t thread;
    stream = tmpfile();
    if (!stream)
        return 1;
    fputs_unlocked("begin ", stream);
    pthread_create(&thread, NULL, first, NULL);
    SECOND();
    pthread_join(thread, NULL);
    fclose(stream);
    return 0;
}
