// check:
// verdict: verified
// check:
// flags: -DFORGETS
// verdict: bug
// finding: assertion detail=assert
// check: --strategy optimal
// flags: -DFORGETS
// verdict: bug
// finding: assertion detail=assert

// A handler ends a wait if it returns before the semaphore is posted. Its return depends on the post.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stddef.h>

static sem_t s;

static void handle(int number)
{
}

static void *waiter(void *arg)
{
#ifdef FORGETS
    assert(sem_wait(&s) == 0);
#else
    while (sem_wait(&s) != 0)
        assert(errno == EINTR);
#endif
    return arg;
}

int main(void)
{
    pthread_t t;
    struct sigaction action = { .sa_handler = handle };
    sigaction(SIGUSR1, &action, NULL);
    sem_init(&s, 0, 0);
    pthread_create(&t, NULL, waiter, NULL);
    pthread_kill(t, SIGUSR1);
    sem_post(&s);
    pthread_join(t, NULL);
    sem_destroy(&s);
    return 0;
}
