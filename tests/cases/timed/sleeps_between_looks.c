// compilers: gcc clang
// check:
// flags: -O0
// verdict: bug
// finding: data-race
// check: --strategy random --max-executions 20
// flags: -O2
// verdict: bug
// finding: data-race
// check: --strategy pct --max-executions 20
// flags: -O2
// verdict: bug
// finding: data-race

// A loop that sleeps between looks at data that another thread writes: a race, but no livelock,
// because the other thread can run while this one sleeps.
#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int size, first;

static void *fill(void *arg)
{
    pthread_mutex_lock(&lock);
    first = 1;
    size = 4;
    pthread_mutex_unlock(&lock);
    return arg;
}

static void *wait_until_filled(void *arg)
{
    while (size < 1 || first == 0)
        usleep(50000);
    return arg;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, fill, NULL);
    pthread_create(&b, NULL, wait_until_filled, NULL);
    pthread_join(b, NULL);
    pthread_join(a, NULL);
    return 0;
}
