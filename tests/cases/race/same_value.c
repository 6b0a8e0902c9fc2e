// check:
// verdict: bug
// finding: data-race var=found detail=write-write line=12 line2=12

// Both write the same value: often called benign, still a race.
#include <pthread.h>

int found;

static void *work(void *arg)
{
    found = 1;
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, work, NULL);
    pthread_create(&b, NULL, work, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
