// compilers: gcc clang
// check:
// verdict: bug
// finding: data-race detail=use-after-unmap line=36 line2=61
// check: --strategy optimal
// verdict: bug
// finding: data-race detail=use-after-unmap line=36 line2=61
// check: --strategy dfs
// flags: -O2
// verdict: bug
// finding: data-race detail=use-after-unmap line=36 line2=61
// check:
// flags: -DUNDER_LOCK
// verdict: verified
// executions: 2
// check: --strategy optimal
// flags: -DUNDER_LOCK -DFORGETS
// verdict: bug
// finding: crash detail=SIGSEGV line=36
// executions: 2

// A thread unmaps memory that another one uses. Once it has said so under a lock, another thread may still be
// on its way: a race. UNDER_LOCK: it unmaps before it unlocks. FORGETS: the other thread does not look whether
// the memory is there, which is a crash in one of the two orders.
#define _GNU_SOURCE
#include <pthread.h>
#include <stddef.h>
#include <sys/mman.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *page;
static int gone;

static void use(void)
{
    page[5] = 1;
}

static void *work(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&lock);
#ifdef FORGETS
    int is_gone = 0;
#else
    int is_gone = gone;
#endif
#ifndef UNDER_LOCK
    pthread_mutex_unlock(&lock);
#endif
    if (!is_gone)
        use();
#ifdef UNDER_LOCK
    pthread_mutex_unlock(&lock);
#endif
    return NULL;
}

static void unmap(void)
{
    munmap(page, 4096);
}

int main(void)
{
    pthread_t thread;
    page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_create(&thread, NULL, work, NULL);
    pthread_mutex_lock(&lock);
    gone = 1;
#ifdef UNDER_LOCK
    unmap();
#endif
    pthread_mutex_unlock(&lock);
#ifndef UNDER_LOCK
    unmap();
#endif
    pthread_join(thread, NULL);
    return 0;
}
