// Signals that are blocked, handled, sent to oneself; masks belong to threads.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK(condition) do { errno = 0; if (!(condition)) { fprintf(stderr, "line %d: %s: %s\n", __LINE__, #condition, strerror(errno)); exit(9); } } while (0)

__attribute__((aligned(4096))) static char cold[4096];
static volatile sig_atomic_t handled, segv;

static void count(int signal) {
    (void)signal;
    handled++;
}

static void *blocks(void *argument) {
    sigset_t all, old;
    sigfillset(&all);
    CHECK(pthread_sigmask(SIG_SETMASK, &all, &old) == 0);
    CHECK(!sigismember(&old, SIGUSR1));
    CHECK(pthread_sigmask(SIG_BLOCK, 0, &old) == 0 && sigismember(&old, SIGUSR1) && sigismember(&old, SIGSEGV));
    // Even now memory can be written for the first time.
    cold[100] = 1;
    return argument;
}

int main(void) {
    sigset_t old, one;
    struct sigaction action = {.sa_handler = count};
    pthread_t thread;
    pthread_create(&thread, 0, blocks, 0);
    CHECK(sigaction(SIGUSR1, &action, 0) == 0);
    CHECK(raise(SIGUSR1) == 0 && handled == 1);
    CHECK(kill(getpid(), SIGUSR1) == 0);
    CHECK(handled == 2);
    pthread_join(thread, 0);
    // What the other thread blocked is its own affair.
    CHECK(pthread_sigmask(SIG_BLOCK, 0, &old) == 0 && !sigismember(&old, SIGUSR1));
    sigemptyset(&one);
    sigaddset(&one, SIGUSR1);
    CHECK(sigprocmask(SIG_BLOCK, &one, 0) == 0);
    CHECK(raise(SIGUSR1) == 0 && handled == 2);
    CHECK(sigpending(&old) == 0 && sigismember(&old, SIGUSR1));
    CHECK(sigprocmask(SIG_UNBLOCK, &one, 0) == 0);
    CHECK(handled == 3);
    return 0;
}
