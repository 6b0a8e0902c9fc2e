// compilers: gcc clang
// check:
// verdict: verified
// check: --strategy optimal
// verdict: verified
// executions: 2
// check:
// flags: -DSAME
// verdict: bug
// finding: assertion detail=assert line=39
// check:
// flags: -DFELT
// verdict: incomplete

// Limits of resources: what was set is what is told, the order of two threads is tried, and the limit of
// core files can be raised to its hard limit. What calls of other threads feel is not part of the search.
#include <assert.h>
#include <pthread.h>
#include <sys/resource.h>

static void *work(void *arg)
{
    struct rlimit limit;
    assert(getrlimit(RLIMIT_CORE, &limit) == 0);
    limit.rlim_cur = 4096;
    assert(setrlimit(RLIMIT_CORE, &limit) == 0);
#ifdef FELT
    getrlimit(RLIMIT_FSIZE, &limit);
    setrlimit(RLIMIT_FSIZE, &limit);
#endif
    return arg;
}

#ifdef SAME
#define ALLOWED(limit) ((limit) == 4096)
#else
#define ALLOWED(limit) ((limit) == 4096 || (limit) == 8192)
#endif
static void expect(rlim_t limit) { assert(ALLOWED(limit)); }

int main(void)
{
    pthread_t thread;
    struct rlimit limit, before;
    assert(getrlimit(RLIMIT_CORE, &before) == 0);
    limit = before;
    limit.rlim_cur = 8192;
    assert(setrlimit(RLIMIT_CORE, &limit) == 0);
    pthread_create(&thread, NULL, work, NULL);
    getrlimit(RLIMIT_CORE, &limit);
    expect(limit.rlim_cur);
    pthread_join(thread, NULL);
    getrlimit(RLIMIT_CORE, &limit);
    assert(limit.rlim_cur == 4096 && limit.rlim_max == before.rlim_max);
    limit.rlim_cur = 2;
    limit.rlim_max = 1;
    assert(setrlimit(RLIMIT_CORE, &limit) == -1 && setrlimit(99, &limit) == -1);
    return 0;
}
