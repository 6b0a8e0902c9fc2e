// compilers: gcc clang
// check: --strategy optimal
// verdict: verified
// executions: 2
// check: --strategy dfs
// verdict: verified
// check:
// flags: -DFIRST
// verdict: bug
// finding: assertion detail=assert line=49
// check:
// flags: -DSECOND
// verdict: bug
// finding: assertion detail=assert line=51

// One thread writes two pieces between `flockfile` and `funlockfile`, another one writes a piece by a call of its
// own, which takes the lock for its duration. So there are two orders, and the piece never comes into the middle.
// Two traces: the lock is acquired in two orders.
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static FILE *f;

static void *section(void *arg)
{
    flockfile(f);
    fputs("a", f);
    fputs("b", f);
    funlockfile(f);
    return arg;
}

int main(void)
{
    char text[8] = "";
    pthread_t t;
    f = fopen("text", "w+");
    if (!f)
        return 1;
    pthread_create(&t, NULL, section, NULL);
    fputs("x", f);
    pthread_join(t, NULL);
    rewind(f);
    if (!fgets(text, sizeof text, f))
        return 1;
#ifdef FIRST
    assert(strcmp(text, "xab") != 0);
#elif defined SECOND
    assert(strcmp(text, "abx") != 0);
#else
    assert(strcmp(text, "xab") == 0 || strcmp(text, "abx") == 0);
#endif
    fclose(f);
    return 0;
}
