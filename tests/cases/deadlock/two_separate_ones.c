// check:
// verdict: bug
// findings: 2
// finding: deadlock detail=cycle line=16 line2=25
// finding: deadlock detail=cycle line=34 line2=43

// Two independent AB-BA pairs: two findings, though one run can have both.
#include <pthread.h>

static pthread_mutex_t p = PTHREAD_MUTEX_INITIALIZER, q = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t r = PTHREAD_MUTEX_INITIALIZER, s = PTHREAD_MUTEX_INITIALIZER;

static void *one(void *arg)
{
    pthread_mutex_lock(&p);
    pthread_mutex_lock(&q);
    pthread_mutex_unlock(&q);
    pthread_mutex_unlock(&p);
    return NULL;
}

static void *two(void *arg)
{
    pthread_mutex_lock(&q);
    pthread_mutex_lock(&p);
    pthread_mutex_unlock(&p);
    pthread_mutex_unlock(&q);
    return NULL;
}

static void *three(void *arg)
{
    pthread_mutex_lock(&r);
    pthread_mutex_lock(&s);
    pthread_mutex_unlock(&s);
    pthread_mutex_unlock(&r);
    return NULL;
}

static void *four(void *arg)
{
    pthread_mutex_lock(&s);
    pthread_mutex_lock(&r);
    pthread_mutex_unlock(&r);
    pthread_mutex_unlock(&s);
    return NULL;
}

int main(void)
{
    pthread_t t[4];
    pthread_create(&t[0], NULL, one, NULL);
    pthread_create(&t[1], NULL, two, NULL);
    pthread_create(&t[2], NULL, three, NULL);
    pthread_create(&t[3], NULL, four, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    return 0;
}
