// check:
// verdict: verified
// executions: 1
// blocked: 0

// Every thread allocates, fills, grows and frees blocks of its own: the allocator is no shared
// object, and a block that comes back is no race with its last user.
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static void *work(void *arg)
{
    for (int i = 0; i < 20; i++) {
        char *block = malloc(64 + i);
        memset(block, i, 64);
        block = realloc(block, 256);
        assert(block[63] == i);
        char *zero = calloc(16, 4);
        assert(zero[63] == 0);
        free(zero);
        free(block);
    }
    void *aligned;
    assert(posix_memalign(&aligned, 64, 100) == 0);
    assert((unsigned long)aligned % 64 == 0);
    free(aligned);
    return NULL;
}

int main(void)
{
    pthread_t t[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], NULL, work, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    return 0;
}
