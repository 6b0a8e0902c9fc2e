// compilers: gcc clang
// check:
// verdict: verified
// check:
// flags: -O2
// verdict: verified

// A busy-waiting thread reads data that was published with an earlier value of the awaited
// variable: ordered, although that round makes no progress.
#include <pthread.h>
#include <stdatomic.h>

atomic_int stage, slow;
int progress;

static void *work(void *unused)
{
    progress += 10;
    atomic_store(&stage, 1);
    atomic_store(&stage, 2);
    return unused;
}

int main(void)
{
    pthread_t worker;
    pthread_create(&worker, 0, work, 0);
    for (;;) {
        int now = atomic_load(&stage);
        if (now == 2)
            break;
        if (now == 1 && progress > 15)
            atomic_store(&slow, 1);
    }
    pthread_join(worker, 0);
    return 0;
}
