// compilers: gcc clang
// check:
// verdict: incomplete
// check:
// flags: -DSTUCK
// verdict: bug
// finding: deadlock detail=relock

// An alarm guards the program against hanging. Where the program ends before, the alarm is gone; a
// deadlock is one although the alarm would end it.
#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *locker(void *arg)
{
    pthread_mutex_lock(&mutex);
#ifdef STUCK
    pthread_mutex_lock(&mutex);
#endif
    pthread_mutex_unlock(&mutex);
    return arg;
}

int main(void)
{
    alarm(60);
    pthread_t t;
    pthread_create(&t, NULL, locker, NULL);
    pthread_join(t, NULL);
    return 0;
}
