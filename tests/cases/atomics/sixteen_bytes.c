// compilers: gcc clang
// flags: -mcx16 -latomic
// check:
// verdict: verified
// executions: 2
// check: --granularity access
// verdict: verified

// Sixteen bytes at once: neither half is ever seen without the other. The reader sees both before
// or both after.
#include <assert.h>
#include <pthread.h>

typedef unsigned __int128 wide;
static wide value;

static void *writer(void *arg)
{
    __atomic_store_n(&value, (wide)1 << 64 | 1, __ATOMIC_SEQ_CST);
    return arg;
}

int main(void)
{
    pthread_t a;
    pthread_create(&a, NULL, writer, NULL);
    wide seen = __atomic_load_n(&value, __ATOMIC_SEQ_CST);
    assert((unsigned long)(seen >> 64) == (unsigned long)seen);
    pthread_join(a, NULL);
    return 0;
}
