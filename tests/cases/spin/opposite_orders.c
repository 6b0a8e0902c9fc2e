// check:
// verdict: bug
// executions: 3
// finding: deadlock detail=cycle line=15 line2=24

// AB-BA with a spin lock and a mutex.
#include <pthread.h>

static pthread_spinlock_t s;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static void *one(void *arg)
{
    pthread_spin_lock(&s);
    pthread_mutex_lock(&m);
    pthread_mutex_unlock(&m);
    pthread_spin_unlock(&s);
    return NULL;
}

static void *two(void *arg)
{
    pthread_mutex_lock(&m);
    pthread_spin_lock(&s);
    pthread_spin_unlock(&s);
    pthread_mutex_unlock(&m);
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_spin_init(&s, PTHREAD_PROCESS_PRIVATE);
    pthread_create(&a, NULL, one, NULL);
    pthread_create(&b, NULL, two, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    pthread_spin_destroy(&s);
    return 0;
}
