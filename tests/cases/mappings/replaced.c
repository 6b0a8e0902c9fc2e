// compilers: gcc clang
// check:
// verdict: bug
// finding: data-race detail=replaced line=53 line2=64
// check: --strategy optimal
// flags: -DDISCARD
// verdict: bug
// finding: data-race detail=replaced line=53 line2=66
// check: --strategy optimal
// flags: -DDISCARD -DTWICE
// verdict: verified
// executions: 1
// check: --strategy optimal
// flags: -DDISCARD -DSHARED
// verdict: verified
// executions: 1
// check: --strategy optimal
// flags: -DUNDER_LOCK
// verdict: bug
// finding: assertion detail=assert line=86
// executions: 2
// check: --strategy optimal
// flags: -DDISCARD -DUNDER_LOCK
// verdict: bug
// finding: assertion detail=assert line=86
// executions: 2

// New pages take the place of those that another thread uses, or their content is dropped (DISCARD). TWICE: both
// drop it, in whatever order. SHARED: what is shared is not lost. UNDER_LOCK: nothing races, but in one of the
// two orders what was written is gone.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/mman.h>

#ifdef UNDER_LOCK
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
#endif
static char *page;

static void change(void);

static void *work(void *unused)
{
    (void)unused;
#ifdef UNDER_LOCK
    pthread_mutex_lock(&mutex);
#endif
#ifdef TWICE
    change();
#else
    page[7] = 1;
#endif
#ifdef UNDER_LOCK
    pthread_mutex_unlock(&mutex);
#endif
    return NULL;
}

static void change(void)
{
#ifndef DISCARD
    mmap(page, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
#else
    madvise(page, 4096, MADV_DONTNEED);
#endif
}

int main(void)
{
    pthread_t thread;
    int sort = MAP_PRIVATE;
#ifdef SHARED
    sort = MAP_SHARED;
#endif
    page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, sort | MAP_ANONYMOUS, -1, 0);
    pthread_create(&thread, NULL, work, NULL);
#ifdef UNDER_LOCK
    pthread_mutex_lock(&mutex);
#endif
    change();
#ifdef UNDER_LOCK
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, NULL);
    assert(page[7] == 1);
#else
    pthread_join(thread, NULL);
#endif
    return 0;
}
