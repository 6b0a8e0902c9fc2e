// compilers: gcc clang
// check:
// verdict: verified
// check:
// flags: -DSENDERS
// verdict: bug
// finding: data-race var=value
// check:
// flags: -DTAKERS
// verdict: bug
// finding: data-race var=value

// What a thread does before it sends a signal is ordered before what the thread does that takes it.
// SENDERS: two senders are not ordered. TAKERS: neither are two threads that take signals.
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>

static sigset_t both, one, other;
static pthread_t a, b;
static atomic_int flag;
static int value;

static void wait_for_flag(void)
{
    while (!atomic_load_explicit(&flag, memory_order_relaxed))
        ;
}

static void *taker(void *arg)
{
    int number;
#ifdef TAKERS
    value = 1;
    sigwait(&one, &number);
    atomic_store_explicit(&flag, 1, memory_order_relaxed);
#else
    sigwait(&both, &number);
#ifdef SENDERS
    sigwait(&both, &number);
#else
    assert(value == 1);
#endif
#endif
    return arg;
}

#if defined SENDERS || defined TAKERS
static void *second(void *arg)
{
    wait_for_flag();
#ifdef SENDERS
    pthread_kill(a, SIGUSR2);
#else
    int number;
    sigwait(&other, &number);
#endif
    assert(value == 1);
    return arg;
}
#endif

int main(void)
{
    sigemptyset(&one);
    sigemptyset(&other);
    sigaddset(&one, SIGUSR1);
    sigaddset(&other, SIGUSR2);
    sigemptyset(&both);
    sigaddset(&both, SIGUSR1);
    sigaddset(&both, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &both, NULL);
    pthread_create(&a, NULL, taker, NULL);
#if defined SENDERS || defined TAKERS
    pthread_create(&b, NULL, second, NULL);
#endif
#ifndef TAKERS
    value = 1;
#endif
    pthread_kill(a, SIGUSR1);
#ifdef TAKERS
    pthread_kill(b, SIGUSR2);
#endif
#ifdef SENDERS
    atomic_store_explicit(&flag, 1, memory_order_relaxed);
#endif
#if defined SENDERS || defined TAKERS
    pthread_join(b, NULL);
#endif
    pthread_join(a, NULL);
    return 0;
}
