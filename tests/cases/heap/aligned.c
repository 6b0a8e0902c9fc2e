// compilers: gcc clang
// check: --self-check 2
// verdict: verified

// Blocks at every alignment: aligned, disjoint, usable to the last byte, released by free.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void *work(void *arg)
{
    for (size_t alignment = 8; alignment <= 65536; alignment *= 2) {
        void *one = aligned_alloc(alignment, alignment), *two = NULL, *three = memalign(alignment, 3);
        assert(posix_memalign(&two, alignment, 100) == 0);
        assert((uintptr_t)one % alignment == 0 && (uintptr_t)two % alignment == 0 && (uintptr_t)three % alignment == 0);
        memset(one, 1, alignment);
        memset(two, 2, malloc_usable_size(two));
        memset(three, 3, 3);
        assert(((char *)one)[alignment - 1] == 1 && ((char *)two)[99] == 2);
        two = realloc(two, 200000);
        assert(two && ((char *)two)[99] == 2);
        free(two);
        free(three);
        free(one);
    }
    void *none = arg;
    assert(posix_memalign(&none, 3, 1) == EINVAL && none == arg);
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, work, NULL);
    pthread_create(&b, NULL, work, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
