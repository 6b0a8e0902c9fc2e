// compilers: gcc clang
// check:
// flags: -DCANCEL
// verdict: bug
// findings: at-least
// finding: misuse detail=bad-thread
// check:
// flags: -DKILL
// verdict: bug
// findings: at-least
// finding: misuse detail=bad-thread
// check:
// flags: -DITSELF
// verdict: verified

// A thread that is detached may have ended before the call that names it: then its handle names
// none. A thread can always name itself.
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>

static sem_t named;

static void *ends(void *unused) {
#ifdef ITSELF
    pthread_kill(pthread_self(), 0);
    sem_post(&named);
#endif
    return unused;
}

int main(void) {
    sem_init(&named, 0, 0);
    pthread_t thread;
    pthread_create(&thread, NULL, ends, NULL);
    pthread_detach(thread);
#if defined CANCEL
    pthread_cancel(thread);
#elif defined KILL
    pthread_kill(thread, 0);
#else
    sem_wait(&named);
#endif
    sem_destroy(&named);
    pthread_exit(NULL);
}
