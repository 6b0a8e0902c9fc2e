// compilers: gcc clang
// check:
// flags: -O0
// verdict: bug
// finding: assertion detail=assert
// check:
// flags: -O2
// verdict: bug
// finding: assertion detail=assert
// check: --strategy dpor
// flags: -O0 -DBY_A_LIBRARY
// verdict: bug
// finding: assertion detail=assert
// check: --strategy dfs
// flags: -O1 -DBY_A_LIBRARY
// verdict: bug
// finding: assertion detail=assert

// A loop counts in the frame of its caller, which never reads the count itself: it is alive all the
// same, because the loop has a pointer to it. The thread gives up after four rounds.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

struct caller {
    int count;
    char text[16];
};

static atomic_int is_set;

static __attribute__((noinline)) int gives_up(struct caller *caller)
{
    while (!is_set) {
#ifdef BY_A_LIBRARY
        if (strlen(strcat(caller->text, "x")) >= 4)
#else
        if (++caller->count >= 4)
#endif
            return 1;
    }
    return 0;
}

static void *wait(void *arg)
{
    struct caller caller;
    memset(&caller, 0, sizeof caller);
    int has_given_up = gives_up(&caller);
    assert(!has_given_up);
    return arg;
}

static void *write_the_same(void *arg)
{
    for (int i = 0; i < 3; i++)
        is_set = 0;
    return arg;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, wait, NULL);
    pthread_create(&b, NULL, write_the_same, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
