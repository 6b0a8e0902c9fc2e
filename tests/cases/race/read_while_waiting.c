// compilers: gcc clang
// check:
// verdict: bug
// finding: data-race var=progress
// check:
// flags: -O2
// verdict: bug
// finding: data-race var=progress

// A busy-waiting thread reads the other's progress without any order: a race in rounds that make no
// progress.
#include <pthread.h>
#include <stdatomic.h>

atomic_int done, slow;
int progress;

static void *work(void *unused)
{
    progress += 10;
    atomic_store(&done, 1);
    return unused;
}

int main(void)
{
    pthread_t worker;
    pthread_create(&worker, 0, work, 0);
    while (!atomic_load(&done))
        if (progress > 15)
            atomic_store(&slow, 1);
    pthread_join(worker, 0);
    return 0;
}
