// check:
// verdict: incomplete

// A child process ends only when another thread of the program has written to its pipe. The thread that
// waits for the child lets that one go first.
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

static int ends[2];

static void *writes(void *arg)
{
    assert(write(ends[1], "x", 1) == 1);
    return arg;
}

int main(void)
{
    pthread_t t;
    int status = -1;
    assert(pipe(ends) == 0);
    pid_t child = fork();
    if (child == 0) {
        char byte = 0;
        _exit(read(ends[0], &byte, 1) == 1 && byte == 'x' ? 0 : 1);
    }
    pthread_create(&t, NULL, writes, NULL);
    assert(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    pthread_join(t, NULL);
    close(ends[0]);
    close(ends[1]);
    return 0;
}
