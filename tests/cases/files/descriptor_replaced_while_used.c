// compilers: gcc clang
// check:
// verdict: verified
// executions: 3

// A descriptor that is replaced while it is used is one file or the other, which programs rely on:
// unlike its end, that is no race. The writer looks the number up, and writes to what it has found: the
// replacement comes before, in between, or behind.
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

static int file;

static void *writer(void *arg)
{
    return write(file, "x", 1) == 1 ? NULL : arg;
}

int main(void)
{
    file = open("/dev/null", O_WRONLY);
    int other = open("/dev/null", O_WRONLY);
    pthread_t t;
    pthread_create(&t, NULL, writer, NULL);
    dup2(other, file);
    pthread_join(t, NULL);
    close(file);
    close(other);
    return 0;
}
