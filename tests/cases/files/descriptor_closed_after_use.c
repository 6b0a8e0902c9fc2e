// compilers: gcc clang
// check:
// verdict: verified

// Uses and ends of descriptors that are ordered: by the data that went through the pipe, by a join,
// or because the number belongs to a descriptor of the thread's own each time.
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

static int ends[2];

static void *writer(void *arg)
{
    if (write(ends[1], "x", 1) != 1)
        return arg;
    int own = open("/dev/null", O_WRONLY);
    (void)!write(own, "x", 1);
    close(own);
    return NULL;
}

int main(void)
{
    if (pipe(ends) != 0)
        return 1;
    pthread_t t;
    pthread_create(&t, NULL, writer, NULL);
    char got;
    if (read(ends[0], &got, 1) != 1)
        return 1;
    close(ends[0]);
    close(ends[1]);
    int own = open("/dev/null", O_WRONLY);
    (void)!write(own, "x", 1);
    close(own);
    pthread_join(t, NULL);
    return 0;
}
