// check: --max-executions 200
// verdict: incomplete
// finding: misuse severity=warning

// A thread in the background goes on for ever when main returns. Runs that cannot follow their schedule
// behind the exit say nothing of the exit status.
#include <pthread.h>
#include <stddef.h>
#include <unistd.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int beats, items;

static void *beat(void *unused)
{
    for (;;) {
        sleep(1);
        pthread_mutex_lock(&m);
        beats++;
        pthread_mutex_unlock(&m);
    }
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, beat, NULL);
    pthread_detach(thread);
    for (int i = 0; i < 2; i++) {
        pthread_mutex_lock(&m);
        items++;
        pthread_mutex_unlock(&m);
    }
    return items != 2;
}
