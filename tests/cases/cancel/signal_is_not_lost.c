// compilers: gcc clang
// check:
// verdict: verified
// check: --strategy optimal
// verdict: verified
// check: --strategy dpor
// verdict: verified

// A thread that is cancelled in a condition wait must not consume a signal (POSIX): if the signal has
// woken it, it takes the token, and the request waits for its next cancellation point. So the other
// waiter gets the token whenever the first was cancelled.
#include <pthread.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int tokens;

static void unlock(void *arg)
{
    (void)arg;
    pthread_mutex_unlock(&m);
}

static void *taker(void *arg)
{
    pthread_mutex_lock(&m);
    pthread_cleanup_push(unlock, NULL);
    while (!tokens)
        pthread_cond_wait(&c, &m);
    tokens--;
    pthread_cleanup_pop(1);
    return arg;
}

static void give(void)
{
    pthread_mutex_lock(&m);
    tokens++;
    pthread_cond_signal(&c);
    pthread_mutex_unlock(&m);
}

int main(void)
{
    pthread_t first, second;
    void *result;
    pthread_create(&first, NULL, taker, NULL);
    pthread_create(&second, NULL, taker, NULL);
    give();
    pthread_cancel(first);
    pthread_join(first, &result);
    if (result != PTHREAD_CANCELED)
        give();
    pthread_join(second, NULL);
    return 0;
}
