// check:
// verdict: verified
// executions: 1

// Yielding or sleeping in the loop changes nothing.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

atomic_int flag[2];

static void *yields(void *arg)
{
    while (!atomic_load(&flag[0]))
        sched_yield();
    return NULL;
}

static const struct timespec pause = { 0, 1000000 };

static void *sleeps(void *arg)
{
    while (!atomic_load(&flag[1]))
        nanosleep(&pause, NULL);
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, yields, NULL);
    pthread_create(&b, NULL, sleeps, NULL);
    atomic_store(&flag[0], 1);
    atomic_store(&flag[1], 1);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
