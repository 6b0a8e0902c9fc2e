// compilers: gcc clang
// check:
// verdict: verified
// executions: 2
//
// madvise drops what a page holds. The next run has it back: the loader has put an address there.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <stdalign.h>
#include <sys/mman.h>

static alignas(4096) struct {
    const char *text;
    char rest[4096 - sizeof(char *)];
} page = {"kept", ""};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void)
{
    const char *volatile *text = (const char *volatile *)&page.text;
    assert(**text == 'k');
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    work(NULL);
    pthread_join(thread, NULL);
    assert(madvise(&page, sizeof page, MADV_DONTNEED) == 0);
    return 0;
}
