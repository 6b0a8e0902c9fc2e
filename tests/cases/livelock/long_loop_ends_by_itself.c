// compilers: gcc clang
// check:
// verdict: verified
// check: --strategy optimal
// verdict: verified
// executions: 401
// check:
// flags: -DALONE
// verdict: verified
// executions: 1

// A loop that counts and that another thread may end, but that ends by itself: every number of rounds is
// explored, 0 to 400. ALONE: a loop over an atomic that no other thread accesses.
#include <pthread.h>
#include <stdatomic.h>

static atomic_int stop;
static atomic_long own;
static long done;

static void *work(void *unused)
{
#ifdef ALONE
    for (int i = 0; i < 3000; i++)
        atomic_fetch_add(&own, 1);
#else
    for (int i = 0; i < 400 && !atomic_load(&stop); i++)
        done++;
#endif
    return unused;
}

int main(void)
{
    pthread_t worker;
    pthread_create(&worker, 0, work, 0);
    atomic_store(&stop, 1);
    pthread_join(worker, 0);
    return done > 400 || atomic_load(&own) > 3000;
}
