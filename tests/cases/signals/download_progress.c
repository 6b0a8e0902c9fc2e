// check:
// verdict: bug
// finding: data-race var=bwritten
// check:
// flags: -DHANDLER
// verdict: bug
// finding: data-race var=bwritten
// findings: at-least

// As aget, a downloader of files, has it: threads count the bytes that they have written under a mutex,
// and what is called when the user interrupts the program reads the count without it. There it is a
// thread that waits for SIGINT; with HANDLER it is the handler itself.
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

enum { THREADS = 2, PIECES = 2 };

static pthread_mutex_t bwritten_mutex = PTHREAD_MUTEX_INITIALIZER;
static unsigned bwritten;
static unsigned saved;
static sigset_t signal_set;

static void save_log(void)
{
    saved = bwritten;
}

#ifdef HANDLER
static void handle(int number)
{
    save_log();
}
#else
static void *signal_waiter(void *arg)
{
    int number;
    sigwait(&signal_set, &number);
    if (number == SIGINT)
        save_log();
    return arg;
}
#endif

static void *http_get(void *arg)
{
    for (int piece = 0; piece < PIECES; piece++) {
        pthread_mutex_lock(&bwritten_mutex);
        bwritten += 1024;
        pthread_mutex_unlock(&bwritten_mutex);
    }
    return arg;
}

int main(void)
{
    pthread_t threads[THREADS], waiter;
    sigemptyset(&signal_set);
    sigaddset(&signal_set, SIGINT);
#ifdef HANDLER
    signal(SIGINT, handle);
    (void)waiter;
#else
    pthread_sigmask(SIG_BLOCK, &signal_set, NULL);
    pthread_create(&waiter, NULL, signal_waiter, NULL);
#endif
    for (int thread = 0; thread < THREADS; thread++)
        pthread_create(&threads[thread], NULL, http_get, NULL);
    kill(getpid(), SIGINT);
    for (int thread = 0; thread < THREADS; thread++)
        pthread_join(threads[thread], NULL);
#ifndef HANDLER
    pthread_join(waiter, NULL);
#endif
    return 0;
}
