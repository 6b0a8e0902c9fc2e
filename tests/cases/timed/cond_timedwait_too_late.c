// compilers: gcc clang
// check:
// verdict: bug
// finding: assertion detail=assert line=33
// check: --strategy optimal
// verdict: bug
// executions: 4
// finding: assertion detail=assert line=33
// check: --strategy dpor
// verdict: bug
// finding: assertion detail=assert line=33

// A timed wait may time out while another thread holds the mutex, sets the flag and signals. So
// ETIMEDOUT does not say that the flag is not set. S is the signaller's section, with the signal in
// it; W- is falling asleep, t timing out, L taking the mutex again:
//   S W         flag seen, no wait
//   W- S L      woken
//   W- t L S    timed out, and the flag is not set
//   W- t S L    timed out, and the flag is set
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <time.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int ready;

static void wait_for_it(const struct timespec *until)
{
    pthread_mutex_lock(&m);
    if (!ready && pthread_cond_timedwait(&c, &m, until) == ETIMEDOUT)
        assert(!ready);
    pthread_mutex_unlock(&m);
}

static void *signaller(void *arg)
{
    pthread_mutex_lock(&m);
    ready = 1;
    pthread_cond_signal(&c);
    pthread_mutex_unlock(&m);
    return arg;
}

int main(void)
{
    struct timespec until;
    pthread_t thread;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 1;
    pthread_create(&thread, NULL, signaller, NULL);
    wait_for_it(&until);
    pthread_join(thread, NULL);
    return 0;
}
