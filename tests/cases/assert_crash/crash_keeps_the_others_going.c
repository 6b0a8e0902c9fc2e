// check:
// verdict: bug
// findings: 2
// finding: crash detail=SIGSEGV line=16
// finding: assertion detail=assert line=25

// The crash of one thread does not hide what another does wrong later.
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

int *volatile nowhere;

static void *crashes(void *arg)
{
    *nowhere = 1;
    return NULL;
}

static void *fails(void *arg)
{
    for (volatile int i = 0; i < 100; i++)
        ;
    int x = 1;
    assert(x == 2);
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, crashes, NULL);
    pthread_create(&b, NULL, fails, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
