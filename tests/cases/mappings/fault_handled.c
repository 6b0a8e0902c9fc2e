// compilers: gcc clang
// check:
// verdict: incomplete
// findings: 0

// A program that learns of writes to a page by their faults, as garbage collectors do. It is no error that the
// access comes behind the change of rights; both orders are not explored, which is named.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>

static char *page;
static volatile sig_atomic_t is_dirty;

static void handler(int number)
{
    (void)number;
    is_dirty = 1;
    mprotect(page, 4096, PROT_READ | PROT_WRITE);
}

static void *work(void *unused)
{
    page[10] = 1;
    return unused;
}

int main(void)
{
    pthread_t thread;
    page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    signal(SIGSEGV, handler);
    pthread_create(&thread, NULL, work, NULL);
    mprotect(page, 4096, PROT_READ);
    pthread_join(thread, NULL);
    return 0;
}
