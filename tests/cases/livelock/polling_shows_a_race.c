// compilers: gcc clang
// check:
// verdict: bug
// finding: data-race var=progress

// A thread that polls under a lock also reads a variable that the lock does not guard, and only in
// failed rounds.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int is_done;
int progress;

static void *work(void *unused)
{
    progress += 50;
    pthread_mutex_lock(&lock);
    is_done = 1;
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void)
{
    pthread_t worker;
    pthread_create(&worker, 0, work, 0);
    for (;;) {
        pthread_mutex_lock(&lock);
        int seen = is_done;
        pthread_mutex_unlock(&lock);
        if (seen)
            break;
        if (progress > 90)
            puts("nearly done");
        usleep(1000);
    }
    pthread_join(worker, 0);
    return 0;
}
