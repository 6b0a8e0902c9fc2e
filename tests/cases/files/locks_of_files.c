// compilers: gcc clang
// check:
// verdict: verified
// executions: 2
// check:
// flags: -DRANGE
// verdict: verified
// executions: 2
// check:
// flags: -DRANGE -DBY_CLOSE
// verdict: verified
// executions: 2
// check:
// flags: -DBY_CLOSE
// verdict: verified
// executions: 2
// check:
// flags: -DRANGE -DBY_REPLACEMENT
// verdict: verified
// executions: 2
// check:
// flags: -DCYCLE
// verdict: bug
// finding: deadlock
// check:
// flags: -DOF_PROCESS
// verdict: bug
// findings: at-least
// finding: data-race var=count

// A lock of a file excludes threads that have opened the file separately: either is the first. Two
// such locks in different orders are a deadlock. The end of the open file gives them up. A lock that belongs to the process excludes no
// thread of it.
#define _GNU_SOURCE
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <unistd.h>

static int count;

static int lock(int file, int kind)
{
#if defined RANGE
    struct flock range = { .l_type = kind == LOCK_UN ? F_UNLCK : F_WRLCK };
    return fcntl(file, F_OFD_SETLKW, &range);
#elif defined OF_PROCESS
    struct flock range = { .l_type = kind == LOCK_UN ? F_UNLCK : F_WRLCK };
    return fcntl(file, F_SETLKW, &range);
#else
    return flock(file, kind);
#endif
}

static void *work(void *arg)
{
    const char *names[] = { "first.lock", "second.lock" };
    (void)names;
#ifdef CYCLE
    int one = open(names[arg != NULL], O_RDWR | O_CREAT, 0644);
    int other = open(names[arg == NULL], O_RDWR | O_CREAT, 0644);
    assert(lock(one, LOCK_EX) == 0 && lock(other, LOCK_EX) == 0);
    close(other);
    close(one);
#else
    int file = open("only.lock", O_RDWR);
    assert(file >= 0 && lock(file, LOCK_EX) == 0);
    count++;
#ifdef BY_REPLACEMENT
    int other = open("/dev/null", O_RDONLY);
    assert(dup2(other, file) == file);
    close(other);
#elif !defined BY_CLOSE
    assert(lock(file, LOCK_UN) == 0);
#endif
    close(file);
#endif
    return arg;
}

int main(void)
{
    pthread_t a, b;
    close(open("only.lock", O_RDWR | O_CREAT, 0644));
    pthread_create(&a, NULL, work, NULL);
    pthread_create(&b, NULL, work, &count);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
