// compilers: gcc clang
// check: --strategy stateful
// verdict: verified
// most-runs: 400

// Four workers take eight items from a queue under a lock. The default search does not end in a
// minute.

#include <assert.h>
#include <pthread.h>

enum { WORKERS = 4, ITEMS = 8 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int next_item;
static int done[ITEMS];

static void *work(void *arg) {
    for (;;) {
        pthread_mutex_lock(&lock);
        int item = next_item < ITEMS ? next_item++ : -1;
        pthread_mutex_unlock(&lock);
        if (item < 0)
            return arg;
        done[item]++;
    }
}

int main(void) {
    pthread_t workers[WORKERS];
    for (int i = 0; i < WORKERS; i++)
        pthread_create(&workers[i], 0, work, 0);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(workers[i], 0);
    for (int i = 0; i < ITEMS; i++)
        assert(done[i] == 1);
    return 0;
}
