// compilers: gcc clang
// check:
// verdict: incomplete
// findings: 0

// The same memory at two addresses: that accesses by one race with those by the other is not seen, which is
// named.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

static char *first, *second;

static void *work(void *unused)
{
    second[0] = 1;
    return unused;
}

int main(void)
{
    pthread_t thread;
    first = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    second = mremap(first, 0, 4096, MREMAP_MAYMOVE);
    if (second == MAP_FAILED)
        abort();
    pthread_create(&thread, NULL, work, NULL);
    first[0] = 2;
    pthread_join(thread, NULL);
    return 0;
}
