// compilers: gcc clang
// check:
// verdict: bug
// findings: at-least
// finding: data-race detail=use-after-return line=36
// check: --strategy optimal
// flags: -DORDERED
// verdict: verified
// check: --strategy optimal
// flags: -DARGUMENTS
// verdict: verified

// Main ends by pthread_exit while another thread uses a variable of it. ORDERED: main waits for the last use.
// ARGUMENTS: the arguments of the program are not main's variables.
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>

#ifdef ORDERED
static sem_t done;
#endif

static void *work(void *lent)
{
#ifdef ARGUMENTS
    char **arguments = lent;
    char first = *(volatile char *)arguments[0];
    (void)first;
#else
    int *variable = lent;
#endif
#ifdef ORDERED
    *variable = 1;
    sem_post(&done);
#elif !defined(ARGUMENTS)
    *variable = 1;
#endif
    return NULL;
}

int main(int count, char **arguments)
{
    pthread_t thread;
    int variable = count;
    void *lent = &variable;
#ifdef ARGUMENTS
    lent = arguments;
#endif
    (void)arguments;
#ifdef ORDERED
    sem_init(&done, 0, 0);
#endif
    pthread_create(&thread, NULL, work, lent);
    pthread_detach(thread);
#ifdef ORDERED
    sem_wait(&done);
    sem_destroy(&done);
#endif
    pthread_exit(NULL);
}
