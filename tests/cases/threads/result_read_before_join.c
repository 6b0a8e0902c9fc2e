// check:
// verdict: bug
// finding: data-race var=result detail=read-write line=12 line2=20

// Main looks at the result one line too early.
#include <pthread.h>

int result;

static void *work(void *arg)
{
    result = 42;
    return NULL;
}

int main(void)
{
    pthread_t t;
    pthread_create(&t, NULL, work, NULL);
    int r = result;
    pthread_join(t, NULL);
    return r == 43;
}
