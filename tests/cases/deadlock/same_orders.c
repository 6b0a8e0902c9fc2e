// check:
// verdict: verified
// executions: 2
// blocked: 0

// The repaired program.
#include <pthread.h>

static pthread_mutex_t p = PTHREAD_MUTEX_INITIALIZER, q = PTHREAD_MUTEX_INITIALIZER;
int x;

static void *work(void *arg)
{
    pthread_mutex_lock(&p);
    pthread_mutex_lock(&q);
    x++;
    pthread_mutex_unlock(&q);
    pthread_mutex_unlock(&p);
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, work, NULL);
    pthread_create(&b, NULL, work, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
