// check: --strategy optimal
// verdict: verified
// executions: 2
// check: --strategy dfs
// verdict: verified
// check:
// flags: -DIOCTL
// verdict: verified

// What a run sets on a descriptor that was open at its start is undone behind it, although the next run
// has the same open file.
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/ioctl.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *pass(void *arg)
{
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    return arg;
}

int main(void)
{
    int flags = fcntl(0, F_GETFL);
    assert(!(flags & O_NONBLOCK));
#ifdef IOCTL
    int on = 1;
    ioctl(0, FIONBIO, &on);
#else
    fcntl(0, F_SETFL, flags | O_NONBLOCK);
#endif
    assert(fcntl(0, F_GETFL) & O_NONBLOCK);
    pthread_t thread;
    pthread_create(&thread, NULL, pass, NULL);
    pass(NULL);
    return pthread_join(thread, NULL);
}
