// check:
// verdict: bug
// findings: at-least
// finding: deadlock detail=cycle

// The initialiser needs a lock that another caller of once holds.
#include <pthread.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int value;

static void init(void)
{
    pthread_mutex_lock(&m);
    value = 42;
    pthread_mutex_unlock(&m);
}

static void *plain(void *arg)
{
    pthread_once(&once, init);
    return NULL;
}

static void *locked(void *arg)
{
    pthread_mutex_lock(&m);
    pthread_once(&once, init);
    pthread_mutex_unlock(&m);
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, plain, NULL);
    pthread_create(&b, NULL, locked, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
