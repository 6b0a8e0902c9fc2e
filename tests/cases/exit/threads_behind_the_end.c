// check:
// verdict: verified
// finding: misuse detail=main-returns-early severity=warning
// check: --strategy stateful
// verdict: verified
// finding: misuse detail=main-returns-early severity=warning
// check:
// flags: -DRACE
// verdict: bug
// finding: data-race var=shared
// finding: misuse detail=main-returns-early severity=warning

// Main returns while a thread still creates others: more than there are stacks for at first.
#include <pthread.h>
#include <stddef.h>

static int shared;

static void *child(void *arg)
{
#ifdef RACE
    shared++;
#endif
    return arg;
}

static void *parent(void *arg)
{
    pthread_t all[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&all[i], NULL, child, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(all[i], NULL);
    return arg;
}

int main(void)
{
    pthread_t t;
    pthread_create(&t, NULL, parent, NULL);
    pthread_detach(t);
    return 0;
}
