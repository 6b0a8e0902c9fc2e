// compilers: gcc clang
// check:
// verdict: verified
// executions: 2

// Memory from the kernel is zero in every run, and below 2 GiB where the program asks for that.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

static atomic_int x;

static void *body(void *arg)
{
    int flags = MAP_32BIT | MAP_PRIVATE | MAP_ANONYMOUS;
    for (int i = 0; i < 3; i++) {
        char *low = mmap(NULL, 8192, PROT_READ | PROT_WRITE, flags, -1, 0);
        assert((uintptr_t)low + 8192 <= 1ull << 31 && low[0] == 0);
        low[0] = 1;
    }
    x++;
    return NULL;
}

int main(void)
{
    char *end = sbrk(4096);
    assert(end[0] == 0);
    end[0] = 1;
    pthread_t t;
    pthread_create(&t, NULL, body, NULL);
    body(NULL);
    pthread_join(t, NULL);
    return 0;
}
