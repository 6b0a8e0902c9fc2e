// compilers: gcc clang
// flags: -mcx16 -latomic
// check:
// verdict: verified
// executions: 4

// A pointer with a counter beside it, exchanged as one. The loser of two compare-exchanges tries
// again. The threads come one after the other, or both read first and either wins: 2 + 2.
#include <assert.h>
#include <pthread.h>

typedef unsigned __int128 wide;
static wide value;

static void *add(void *arg)
{
    wide old = __atomic_load_n(&value, __ATOMIC_SEQ_CST);
    while (!__atomic_compare_exchange_n(&value, &old, old + ((wide)1 << 64 | 1), 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        ;
    return arg;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, add, NULL);
    pthread_create(&b, NULL, add, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(value == ((wide)2 << 64 | 2));
    return 0;
}
