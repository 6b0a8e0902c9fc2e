// check: --strategy optimal --allow-exit 1
// verdict: verified
// executions: 2
// check:
// verdict: bug
// finding: assertion detail=exit-status

// `F_GETFD` asks for what `F_SETFD` changes: two orders, and two results.
#include <fcntl.h>
#include <pthread.h>

static int descriptor;

static void *changer(void *arg)
{
    fcntl(descriptor, F_SETFD, FD_CLOEXEC);
    return arg;
}

int main(void)
{
    pthread_t t;
    descriptor = open("file", O_CREAT | O_RDWR, 0600);
    pthread_create(&t, NULL, changer, NULL);
    int flags = fcntl(descriptor, F_GETFD);
    pthread_join(t, NULL);
    return flags & FD_CLOEXEC ? 1 : 0;
}
