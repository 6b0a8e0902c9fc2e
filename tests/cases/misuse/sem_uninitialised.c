// check:
// verdict: bug
// findings: at-least
// finding: misuse detail=sem-uninitialised var=s line=14

// A semaphore has no static initialiser: a global one without sem_init is not usable.
#include <pthread.h>
#include <semaphore.h>

static sem_t s;

int main(void)
{
    sem_post(&s);
    return 0;
}
