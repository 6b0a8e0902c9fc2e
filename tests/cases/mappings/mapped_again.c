// compilers: gcc clang
// check: --strategy optimal
// verdict: verified
// executions: 3
// check: --strategy optimal
// flags: -DFREE_PLACE
// verdict: verified

// A thread puts a mapping where another one was, ordered by a lock: the memory is another one then. The other
// thread comes before, in between or after. FREE_PLACE: the kernel says that the place is free, and so orders
// the new mapping behind the old one.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

static char *page;

static char *map(void *where, int how)
{
    char *got = mmap(where, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | how, -1, 0);
    if (got == MAP_FAILED)
        abort();
    return got;
}

#ifdef FREE_PLACE
static atomic_int is_free;

static void *work(void *unused)
{
    page[3] = 1;
    munmap(page, 4096);
    atomic_store_explicit(&is_free, 1, memory_order_relaxed);
    return unused;
}

static void replace(void)
{
    while (!atomic_load_explicit(&is_free, memory_order_relaxed))
        ;
    map(page, MAP_FIXED_NOREPLACE)[3] = 2;
}
#else
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int life;

static void *work(void *unused)
{
    pthread_mutex_lock(&lock);
    if (life != 1)
        page[3] = 1;
    pthread_mutex_unlock(&lock);
    return unused;
}

static void replace(void)
{
    pthread_mutex_lock(&lock);
    munmap(page, 4096);
    life = 1;
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&lock);
    map(page, MAP_FIXED);
    life = 2;
    pthread_mutex_unlock(&lock);
}
#endif

int main(void)
{
    pthread_t thread;
    page = map(NULL, 0);
    pthread_create(&thread, NULL, work, NULL);
    replace();
    pthread_join(thread, NULL);
    return 0;
}
