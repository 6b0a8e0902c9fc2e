// compilers: gcc clang
// check:
// verdict: bug
// findings: at-least
// finding: assertion

// The thread writes to the pipe only if the descriptor is replaced before: the order of the two is
// tried both ways, although they first meet in the order in which the assertion holds.
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

static int ends[2], go[2], file;

static void *writer(void *arg)
{
    (void)!write(go[1], "x", 1);
    return write(file, "x", 1) == 1 ? NULL : arg;
}

int main(void)
{
    if (pipe(ends) != 0 || pipe(go) != 0)
        return 1;
    file = open("/dev/null", O_WRONLY);
    pthread_t t;
    pthread_create(&t, NULL, writer, NULL);
    dup2(ends[1], file);
    pthread_join(t, NULL);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    char got;
    assert(read(ends[0], &got, 1) == 1);
    return 0;
}
