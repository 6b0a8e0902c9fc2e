// check:
// verdict: verified
// executions: 4

// A file that only one thread can create is a lock. Either thread may be the first. The other comes
// while the first is inside, and gives up, or afterwards: 2 * 2 executions.
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

static int count;

static void *work(void *arg)
{
    int file = open("the.lock", O_WRONLY | O_CREAT | O_EXCL, 0644);
    if (file < 0)
        return arg;
    count++;
    close(file);
    unlink("the.lock");
    return arg;
}

int main(void)
{
    pthread_t a, b;
    unlink("the.lock");
    pthread_create(&a, NULL, work, NULL);
    pthread_create(&b, NULL, work, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return count < 1;
}
