// check:
// verdict: incomplete
// executions: 2
// check: --strategy dfs
// verdict: incomplete
// check:
// flags: -DWRONG
// verdict: bug
// finding: assertion detail=assert

// A thread waits for a child process, which does not keep the others from running. The child is a process
// of its own, which the verdict says. The two threads add to one number, in either order.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

static atomic_int total;

static void *adds(void *arg)
{
    atomic_fetch_add(&total, 1);
    return arg;
}

int main(void)
{
    pthread_t t;
    int status = -1;
    pthread_create(&t, NULL, adds, NULL);
    pid_t child = fork();
    if (child == 0)
        _exit(3);
    assert(waitpid(child, &status, 0) == child);
    assert(WIFEXITED(status) && WEXITSTATUS(status) == 3);
    assert(waitpid(child, &status, 0) == -1);
#ifdef WRONG
    assert(atomic_fetch_add(&total, 1) == 0);
#else
    atomic_fetch_add(&total, 1);
#endif
    pthread_join(t, NULL);
    return 0;
}
