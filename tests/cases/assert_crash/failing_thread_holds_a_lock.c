// check:
// verdict: bug
// findings: 1
// finding: assertion detail=assert line=17

// A thread fails while it holds the lock. That another thread waits for the lock is no deadlock.
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int count;

static void *work(void *arg)
{
    pthread_mutex_lock(&m);
    count++;
    assert(count < 2);
    pthread_mutex_unlock(&m);
    return NULL;
}

int main(void)
{
    pthread_t t[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], NULL, work, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    return 0;
}
