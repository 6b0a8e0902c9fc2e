// check:
// verdict: bug
// findings: 2
// finding: assertion detail=assert line=14
// finding: assertion detail=assert line=21

// After the first thread failed the second runs on and fails in its turn.
#include <assert.h>
#include <pthread.h>

static void *one(void *arg)
{
    int x = 1;
    assert(x == 2);
    return NULL;
}

static void *two(void *arg)
{
    int x = 1;
    assert(x == 3);
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, one, NULL);
    pthread_create(&b, NULL, two, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
