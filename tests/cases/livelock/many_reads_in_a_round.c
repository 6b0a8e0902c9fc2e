// compilers: gcc clang
// check:
// flags: -O0 -DWORDS=8
// verdict: verified
// check:
// flags: -O2 -DWORDS=8
// verdict: verified
// check:
// flags: -O2 -DWORDS=12
// verdict: verified
// check:
// flags: -O2 -DWORDS=9 -DNEVER
// verdict: bug
// finding: livelock detail=spin

// A round of many reads. The thread may be held in the middle of a round when the word that ends
// the loop changes, at the beginning of it. This is no livelock: it would leave in the next round.
#include <pthread.h>
#include <stdatomic.h>

atomic_int word[WORDS], is_done;

static void *sum_up(void *arg)
{
    int sum = 0;
    while (!atomic_load(&is_done)) {
        sum = 0;
        for (int i = 0; i < WORDS; i++)
            sum += atomic_load(&word[i]);
    }
    return sum ? arg : NULL;
}

int main(void)
{
    pthread_t reader;
    pthread_create(&reader, NULL, sum_up, NULL);
    atomic_store(&word[0], 1);
#ifndef NEVER
    atomic_store(&is_done, 1);
#endif
    pthread_join(reader, NULL);
    return 0;
}
