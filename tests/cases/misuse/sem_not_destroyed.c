// check:
// verdict: verified
// finding: misuse detail=sem-not-destroyed var=s severity=warning

// Initialised and never destroyed.
#include <semaphore.h>

static sem_t s;

int main(void)
{
    sem_init(&s, 0, 1);
    sem_wait(&s);
    sem_post(&s);
    return 0;
}
