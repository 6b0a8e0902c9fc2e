// check: --granularity access
// verdict: bug
// findings: at-least
// finding: data-race var=count
// finding: assertion detail=assert line=26

// At access granularity what follows from the racy value is found too: an increment is lost.
#include <assert.h>
#include <pthread.h>

int count;

static void *add(void *arg)
{
    count++;
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, add, NULL);
    pthread_create(&b, NULL, add, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(count == 2);
    return 0;
}
