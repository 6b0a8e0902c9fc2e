// check:
// verdict: bug
// finding: data-race detail=use-after-free line=23 line2=13

// The creator frees the argument without waiting for the thread to read it.
#include <pthread.h>
#include <stdlib.h>

int copy;

static void *work(void *arg)
{
    copy = *(int *)arg;
    return NULL;
}

int main(void)
{
    pthread_t t;
    int *argument = malloc(sizeof *argument);
    *argument = 7;
    pthread_create(&t, NULL, work, argument);
    free(argument);
    pthread_join(t, NULL);
    return 0;
}
