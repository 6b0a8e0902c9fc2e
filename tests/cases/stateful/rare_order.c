// check: --strategy stateful
// verdict: bug
// finding: assertion line=32

// As many threads as before take the lock, and the last one that does may find that exactly the
// thread with the highest number came first. The state then differs by one flag.

#include <assert.h>
#include <pthread.h>

enum { THREADS = 6 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int count;
static int first = -1;

static void *enter(void *arg) {
    pthread_mutex_lock(&lock);
    if (count == 0)
        first = (int)(long)arg == THREADS - 1;
    count++;
    pthread_mutex_unlock(&lock);
    return 0;
}

int main(void) {
    pthread_t threads[THREADS];
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], 0, enter, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], 0);
    assert(!first);
    return 0;
}
