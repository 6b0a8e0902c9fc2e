// check:
// verdict: bug
// findings: at-least
// finding: misuse detail=sem-overflow var=s line=19

// A post beyond the greatest value.
#include <limits.h>
#include <semaphore.h>

#ifndef SEM_VALUE_MAX
#define SEM_VALUE_MAX INT_MAX
#endif

static sem_t s;

int main(void)
{
    sem_init(&s, 0, SEM_VALUE_MAX);
    sem_post(&s);
    sem_destroy(&s);
    return 0;
}
