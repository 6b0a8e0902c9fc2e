// Threads count together; with -DNO_LOCK they forget the lock.
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int counter;

static void *count(void *unused) {
#ifndef NO_LOCK
    pthread_mutex_lock(&lock);
#endif
    counter++;
#ifndef NO_LOCK
    pthread_mutex_unlock(&lock);
#endif
    return unused;
}

int main(int argc, char **argv) {
    enum { MOST = 4 };
    pthread_t threads[MOST];
    int n = argc > 1 ? atoi(argv[1]) : 2;
    if (n < 1 || n > MOST)
        return 2;
    for (int i = 0; i < n; i++)
        pthread_create(&threads[i], NULL, count, NULL);
    for (int i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    assert(counter == n);
    return 0;
}
