// check:
// verdict: bug
// finding: assertion detail=assert

// A handler sets a flag between two looks at it.
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t flag;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void handle(int number)
{
    flag = 1;
}

static void *worker(void *arg)
{
    int before = flag;
    pthread_mutex_lock(&mutex);
    assert(flag == before);
    pthread_mutex_unlock(&mutex);
    return arg;
}

int main(void)
{
    pthread_t t;
    signal(SIGUSR1, handle);
    pthread_create(&t, NULL, worker, NULL);
    pthread_kill(t, SIGUSR1);
    pthread_join(t, NULL);
    return 0;
}
