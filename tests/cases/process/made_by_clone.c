// check:
// flags: -DBY=CLONE_FUNCTION
// verdict: incomplete
// executions: 2
// check:
// flags: -DBY=BARE_FORK
// verdict: incomplete
// executions: 2
// check:
// flags: -DBY=FORK_CALL
// verdict: incomplete
// executions: 2
// check:
// flags: -DBY=CLONE_CALL
// verdict: incomplete
// executions: 2
// check:
// flags: -DBY=CLONE_FUNCTION -DWRONG
// verdict: bug
// finding: assertion detail=assert

// Child processes that are made without the handlers of `fork`. What they do afterwards is not part of
// the run: neither their exit nor what they do to atomic objects and locks. The two threads of the program
// add to one number, in either order.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static atomic_int total;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char stack[1 << 16] __attribute__((aligned(64)));

/* What a child with memory of its own does. */
static int child(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&lock);
    atomic_fetch_add(&total, 100);
    exit(3);
}

/* What a child in the memory of its parent does, which is suspended. */
static int guest(void *seen)
{
    *(int *)seen = 1;
    return 3;
}

static pid_t clone_function(void)
{
    return clone(child, stack + sizeof stack, SIGCHLD, NULL);
}

static pid_t clone_in_place(void)
{
    int seen = 0;
    pid_t made = clone(guest, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, &seen);
    assert(seen == 1);
    return made;
}

/* The child of a call that returns twice. */
static pid_t twice(pid_t made)
{
    if (made == 0)
        child(NULL);
    return made;
}

extern pid_t _Fork(void);

static pid_t bare_fork(void)
{
    return twice(_Fork());
}

static pid_t fork_call(void)
{
#ifdef SYS_fork
    return twice((pid_t)syscall(SYS_fork));
#else
    return twice((pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
#endif
}

static pid_t clone_call(void)
{
    return twice((pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
}

static pid_t clone3_call(void)
{
    uint64_t record[8] = {[4] = SIGCHLD};
    return twice((pid_t)syscall(SYS_clone3, record, sizeof record));
}

enum { CLONE_FUNCTION, CLONE_IN_PLACE, BARE_FORK, FORK_CALL, CLONE_CALL, CLONE3_CALL };

static pid_t (*const ways[])(void) = {clone_function, clone_in_place, bare_fork, fork_call, clone_call, clone3_call};

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
    pid_t made = ways[BY]();
    assert(waitpid(made, &status, 0) == made);
    assert(WIFEXITED(status) && WEXITSTATUS(status) == 3);
#ifdef WRONG
    assert(atomic_fetch_add(&total, 1) == 0);
#else
    atomic_fetch_add(&total, 1);
#endif
    pthread_join(t, NULL);
    assert(total == 2);
    return 0;
}
