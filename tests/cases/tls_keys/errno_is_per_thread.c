// check:
// verdict: verified

// errno set in one thread is not seen in another.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

static void *fails(void *arg)
{
    assert(close(-1) == -1);
    assert(errno == EBADF);
    return NULL;
}

static void *works(void *arg)
{
    errno = 0;
    sleep(0);
    assert(errno == 0);
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, fails, NULL);
    pthread_create(&b, NULL, works, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
