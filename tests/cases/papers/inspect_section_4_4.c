// check:
// verdict: verified
// executions: 2
// blocked: 0
// check: --strategy dpor
// verdict: verified
// executions: 2

// The example of the Inspect paper's section 4.4: both acquire p, then q, release p, then q. The
// acquisitions of q are never enabled together with those of p held, so that the first thread at p
// decides everything.
#include <pthread.h>

static pthread_mutex_t p = PTHREAD_MUTEX_INITIALIZER, q = PTHREAD_MUTEX_INITIALIZER;
int a;

static void *one(void *arg)
{
    pthread_mutex_lock(&p);
    pthread_mutex_lock(&q);
    pthread_mutex_unlock(&p);
    pthread_mutex_unlock(&q);
    return NULL;
}

static void *two(void *arg)
{
    a++;
    pthread_mutex_lock(&p);
    pthread_mutex_lock(&q);
    pthread_mutex_unlock(&p);
    pthread_mutex_unlock(&q);
    return NULL;
}

int main(void)
{
    pthread_t t, u;
    pthread_create(&t, NULL, one, NULL);
    pthread_create(&u, NULL, two, NULL);
    pthread_join(t, NULL);
    pthread_join(u, NULL);
    return 0;
}
