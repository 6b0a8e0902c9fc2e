/* The running example of property-driven pruning: y is accessed under different locks if c is 0.
   WORK: rounds of further locked work around it. */
#include <pthread.h>

#ifndef WORK
#define WORK 0
#endif

static pthread_mutex_t f1 = PTHREAD_MUTEX_INITIALIZER, f2 = PTHREAD_MUTEX_INITIALIZER;
static int x, y, z, work;

static void more_work(void)
{
    for (int i = 0; i < WORK; i++) {
        pthread_mutex_lock(&f2);
        work++;
        pthread_mutex_unlock(&f2);
    }
}

static void *first(void *arg)
{
    pthread_mutex_lock(&f1);
    x++;
    pthread_mutex_unlock(&f1);
    pthread_mutex_lock(&f2);
    y++;
    pthread_mutex_unlock(&f2);
    pthread_mutex_lock(&f1);
    z++;
    pthread_mutex_unlock(&f1);
    more_work();
    return arg;
}

static void *second(void *arg)
{
    int c;
    pthread_mutex_lock(&f1);
    pthread_mutex_lock(&f2);
    z++;
    c = x;
    pthread_mutex_unlock(&f2);
    pthread_mutex_unlock(&f1);
    more_work();
    pthread_mutex_lock(&f1);
    if (c == 0)
        y++;
    pthread_mutex_unlock(&f1);
    return arg;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, first, NULL);
    pthread_create(&b, NULL, second, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
