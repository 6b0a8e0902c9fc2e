// compilers: gcc clang
// check:
// verdict: bug
// finding: assertion detail=assert

// Polling that counts its tries: each number of them is another state, and only the third finds
// what it looks for.
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int is_done;

static void *work(void *unused)
{
    pthread_mutex_lock(&lock);
    is_done = 1;
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void)
{
    pthread_t worker;
    pthread_create(&worker, 0, work, 0);
    int tries = 0, seen = 0;
    for (; tries < 4 && !seen; tries++) {
        pthread_mutex_lock(&lock);
        seen = is_done;
        pthread_mutex_unlock(&lock);
    }
    assert(tries != 3);
    pthread_join(worker, 0);
    return 0;
}
