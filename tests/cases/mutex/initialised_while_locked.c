// check:
// verdict: verified
// executions: 2

// A static initialiser makes another mutex of the memory, whatever state the last one was in.
#include <pthread.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int x;

static void *body(void *arg)
{
    pthread_mutex_lock(&m);
    x++;
    pthread_mutex_unlock(&m);
    return NULL;
}

int main(void)
{
    pthread_mutex_lock(&m);
    m = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    body(NULL);
    pthread_t t;
    pthread_create(&t, NULL, body, NULL);
    body(NULL);
    pthread_join(t, NULL);
    return 0;
}
