// flags: -D_GNU_SOURCE
// compilers: gcc clang
// check:
// verdict: verified
// executions: 6

// Programs close their standard streams to see whether all output was written. Each run finds them open
// again, however they were closed.
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int turn, first;

static void *worker(void *arg)
{
    pthread_mutex_lock(&mutex);
    if (!turn++)
        first = *(int *)arg;
    pthread_mutex_unlock(&mutex);
    return 0;
}

int main(void)
{
    int numbers[3] = {0, 1, 2};
    pthread_t threads[3];
    for (int descriptor = 0; descriptor < 3; descriptor++)
        if (fcntl(descriptor, F_GETFD) < 0)
            return 1;
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], 0, worker, &numbers[i]);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], 0);
    printf("%d was first\n", first);
    switch (first) {
    case 0:
        return fclose(stdin) || fclose(stdout) || fclose(stderr);
    case 1:
        return fflush(stdout) || close_range(0, 2, 0);
    default:
        return fflush(stdout) || (closefrom(0), 0);
    }
}
