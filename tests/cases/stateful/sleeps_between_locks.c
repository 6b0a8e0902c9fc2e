// check:
// verdict: verified
// most-runs: 800
// check: --strategy stateful
// verdict: verified
// most-runs: 400

// 3 threads with 5 locked increments each, which sleep and yield in between: 756,756
// orders of the locks alone, but few states. What the clocks would show makes no difference, because
// no thread reads them.
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

static pthread_mutex_t m;
static int count;

static void *add(void *unused)
{
    for (int i = 0; i < 5; i++) {
        usleep(100 * (i + 1));
        pthread_mutex_lock(&m);
        count++;
        pthread_mutex_unlock(&m);
        sched_yield();
    }
    return unused;
}

int main(void)
{
    pthread_t t[3];
    pthread_mutex_init(&m, NULL);
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], NULL, add, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    pthread_mutex_destroy(&m);
    assert(count == 15);
    return 0;
}
