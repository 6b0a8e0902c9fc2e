// compilers: gcc clang
// check:
// verdict: verified
// executions: 2
// blocked: 0

// A recursive mutex acquired twice by its owner: no other thread can observe the inner lock and
// unlock.
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t m;
int count;

static void add(void)
{
    pthread_mutex_lock(&m);
    count++;
    pthread_mutex_unlock(&m);
}

static void *work(void *arg)
{
    pthread_mutex_lock(&m);
    add();
    add();
    pthread_mutex_unlock(&m);
    return NULL;
}

int main(void)
{
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&m, &attr);
    pthread_mutexattr_destroy(&attr);
    pthread_t a, b;
    pthread_create(&a, NULL, work, NULL);
    pthread_create(&b, NULL, work, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(count == 4);
    pthread_mutex_destroy(&m);
    return 0;
}
