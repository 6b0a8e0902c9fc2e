// compilers: gcc clang
// check:
// verdict: incomplete
// check:
// flags: -DHARMLESS
// verdict: verified
// executions: 1
//
// A system call that is not modelled is named; one that changes nothing is harmless.
#define _GNU_SOURCE
#include <pthread.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

static void *work(void *unused)
{
    (void)unused;
#ifdef HARMLESS
    syscall(SYS_getppid);
#else
    syscall(SYS_getcpu, NULL, NULL, NULL);
#endif
    return NULL;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    return 0;
}
