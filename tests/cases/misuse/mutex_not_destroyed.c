// check:
// verdict: verified
// executions: 2
// finding: misuse detail=mutex-not-destroyed var=m severity=warning
// check: --werror
// verdict: bug
// exit: 1
// finding: misuse detail=mutex-not-destroyed var=m severity=warning

// Initialised by a call and never destroyed: a warning. (A statically initialised mutex needs no
// destroying.)
#include <pthread.h>

static pthread_mutex_t m;
static pthread_mutex_t fixed = PTHREAD_MUTEX_INITIALIZER;
int count;

static void *add(void *arg)
{
    pthread_mutex_lock(&m);
    count++;
    pthread_mutex_unlock(&m);
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_mutex_init(&m, NULL);
    pthread_mutex_lock(&fixed);
    pthread_mutex_unlock(&fixed);
    pthread_create(&a, NULL, add, NULL);
    pthread_create(&b, NULL, add, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
