// compilers: gcc clang
// check:
// verdict: bug
// finding: deadlock detail=lost-wakeup line=21
// check: --strategy optimal
// verdict: bug
// executions: 1
// finding: deadlock detail=lost-wakeup line=21

// A request does not end the condition wait of a thread that has disabled cancellation. No thread
// signals, so it waits for ever; the request and the wait touch no common object.
#include <pthread.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;

static void *waiter(void *arg)
{
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    pthread_mutex_lock(&m);
    pthread_cond_wait(&c, &m);
    pthread_mutex_unlock(&m);
    return arg;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, waiter, NULL);
    pthread_cancel(thread);
    pthread_join(thread, NULL);
    return 0;
}
