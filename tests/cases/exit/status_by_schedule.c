// compilers: gcc clang
// check:
// verdict: bug
// finding: assertion detail=exit-status line=28
// check: --jobs 2
// verdict: bug
// finding: assertion detail=exit-status line=28
// check: --allow-exit 1
// verdict: verified

// A check of its own fails under some schedules: the program says so by its status only.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static atomic_int sum;

static void *add(void *arg)
{
    atomic_store(&sum, atomic_load(&sum) + 1);
    return arg;
}

static void expect(int value)
{
    if (atomic_load(&sum) != value)
        exit(fprintf(stderr, "sum is wrong\n") < 0 ? 2 : 1);
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, add, NULL);
    add(NULL);
    pthread_join(thread, NULL);
    expect(2);
    return 0;
}
