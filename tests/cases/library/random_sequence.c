// compilers: gcc clang
// check:
// verdict: bug
// executions: 2
// finding: assertion detail=assert
//
// rand() has one sequence for all threads, under a lock of its own: no race, but which thread gets
// which number depends on the order. There are two orders of the two calls.
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

static int drawn;

static void *draw(void *unused)
{
    (void)unused;
    drawn = rand();
    return NULL;
}

int main(void)
{
    srand(1);
    int first = rand();
    srand(1);
    pthread_t thread;
    pthread_create(&thread, NULL, draw, NULL);
    rand();
    pthread_join(thread, NULL);
    assert(drawn == first);
    return 0;
}
