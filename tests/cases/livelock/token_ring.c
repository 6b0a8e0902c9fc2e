// compilers: gcc clang
// check:
// verdict: verified
// executions: 1
// check:
// flags: -O2
// verdict: verified
// executions: 1

// A token goes round. The threads differ only in their argument, which decides the value that ends
// the waiting.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

enum { THREADS = 3, ROUNDS = 3 };

static atomic_int turn;
static int steps;

static void *take_turns(void *argument)
{
    int me = (int)(long)argument;
    for (int round = 0; round < ROUNDS; round++) {
        while (atomic_load(&turn) != me)
            ;
        steps++;
        atomic_store(&turn, (me + 1) % THREADS);
    }
    return 0;
}

int main(void)
{
    pthread_t threads[THREADS];
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], 0, take_turns, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], 0);
    assert(steps == THREADS * ROUNDS);
    return 0;
}
