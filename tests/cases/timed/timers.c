// check:
// verdict: incomplete

// A timer that is armed can still go off: a thread that waits for it is in no deadlock. Time is
// virtual, so an hour is over at once. When else timers could go off is not explored.
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t calls;

static void handler(int number)
{
    calls++;
}

static void wait_for(int number)
{
    sigset_t set;
    int got;
    sigemptyset(&set);
    sigaddset(&set, number);
    sigwait(&set, &got);
    assert(got == number);
}

int main(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    time_t start = time(NULL);
    assert(alarm(1800) == 0);
    assert(alarm(3600) > 1700);
    wait_for(SIGALRM);
    assert(time(NULL) - start >= 3600);

    signal(SIGUSR1, handler);
    struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
    timer_t timer;
    timer_create(CLOCK_REALTIME, &event, &timer);
    struct itimerspec twice = { .it_interval = { 10, 0 }, .it_value = { 5, 0 } };
    timer_settime(timer, 0, &twice, NULL);
    pause();
    assert(calls >= 1);
    int before = calls;
    sleep(12);
    assert(calls > before);
    timer_delete(timer);
    before = calls;
    sleep(100);
    assert(calls == before);

    uint64_t times = 0;
    int fd = timerfd_create(CLOCK_MONOTONIC, 0);
    struct itimerspec once = { .it_value = { 3600, 0 } };
    timerfd_settime(fd, 0, &once, NULL);
    assert(read(fd, &times, sizeof times) == sizeof times && times == 1);
    close(fd);
    return 0;
}
