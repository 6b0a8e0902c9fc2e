// check:
// verdict: verified
// executions: 2
// blocked: 0

// Both acquire `outer`, then `inner`: the first thread at the outer lock is the first at the inner
// one, too.
#include <pthread.h>

static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t inner = PTHREAD_MUTEX_INITIALIZER;
int x, y;

static void *work(void *arg)
{
    pthread_mutex_lock(&outer);
    x++;
    pthread_mutex_lock(&inner);
    y++;
    pthread_mutex_unlock(&inner);
    pthread_mutex_unlock(&outer);
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, work, NULL);
    pthread_create(&b, NULL, work, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return x + y == 4 ? 0 : 1;
}
