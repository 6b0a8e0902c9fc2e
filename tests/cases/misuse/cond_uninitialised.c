// check:
// verdict: bug
// findings: at-least
// finding: misuse detail=cond-uninitialised line=13

// A condition variable in fresh heap memory, never initialised.
#include <pthread.h>
#include <stdlib.h>

int main(void)
{
    pthread_cond_t *c = malloc(sizeof *c);
    pthread_cond_signal(c);
    free(c);
    return 0;
}
