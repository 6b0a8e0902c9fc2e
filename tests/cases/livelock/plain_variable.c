// check:
// verdict: bug
// findings: at-least
// finding: data-race var=stop line=13 line2=22

// Spinning on a plain variable: a race, and the loop still ends.
#include <pthread.h>

int stop;

static void *wait_for_it(void *arg)
{
    while (!*(volatile int *)&stop)
        ;
    return NULL;
}

int main(void)
{
    pthread_t t;
    pthread_create(&t, NULL, wait_for_it, NULL);
    stop = 1;
    pthread_join(t, NULL);
    return 0;
}
