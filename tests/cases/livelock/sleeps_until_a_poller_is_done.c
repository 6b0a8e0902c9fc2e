// check:
// verdict: bug
// finding: data-race var=done
// check: --strategy pct --max-executions 20
// verdict: bug
// finding: data-race var=done

// A thread sleeps until a plain variable is set, by one that makes many rounds without progress
// before. It is in no livelock.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

static volatile int done;
static atomic_int looked_at;

static void *polls(void *unused)
{
    for (int round = 0; round < 500; round++) {
        atomic_load(&looked_at);
        sched_yield();
    }
    done = 1;
    return unused;
}

static void *sleeps(void *unused)
{
    while (!done)
        usleep(50000);
    return unused;
}

int main(void)
{
    pthread_t t[2];
    pthread_create(&t[0], NULL, sleeps, NULL);
    pthread_create(&t[1], NULL, polls, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    return 0;
}
