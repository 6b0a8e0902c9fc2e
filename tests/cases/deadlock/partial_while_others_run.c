// compilers: gcc clang
// check:
// verdict: bug
// findings: at-least
// finding: deadlock detail=cycle line=17 line2=26

// Two threads block each other while a third works on and main, which waits for the third alone,
// ends the program: never is everything blocked, yet the cycle is a deadlock.
#include <pthread.h>

static pthread_mutex_t p = PTHREAD_MUTEX_INITIALIZER, q = PTHREAD_MUTEX_INITIALIZER;
int steps;

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

static void *busy(void *arg)
{
    for (int i = 0; i < 1000; i++)
        steps++;
    return NULL;
}

int main(void)
{
    pthread_t a, b, c;
    pthread_create(&a, NULL, one, NULL);
    pthread_create(&b, NULL, two, NULL);
    pthread_create(&c, NULL, busy, NULL);
    pthread_detach(a);
    pthread_detach(b);
    pthread_join(c, NULL);
    return 0;
}
