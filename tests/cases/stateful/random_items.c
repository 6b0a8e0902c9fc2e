// check: --strategy stateful
// verdict: verified
// most-runs: 200
// check: --strategy optimal --max-executions 2000
// verdict: incomplete

// A buffer with three places, and random items: the hidden state of `rand` is memory like any other.
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

enum { PLACES = 3, ITEMS = 8 };

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int places[PLACES], first, used;

static void *produce(void *unused)
{
    for (int i = 0; i < ITEMS; i++) {
        int item = rand() % 26;
        pthread_mutex_lock(&m);
        while (used == PLACES)
            pthread_cond_wait(&changed, &m);
        places[(first + used++) % PLACES] = item;
        pthread_cond_signal(&changed);
        pthread_mutex_unlock(&m);
    }
    return unused;
}

static void *consume(void *unused)
{
    for (int i = 0; i < ITEMS; i++) {
        pthread_mutex_lock(&m);
        while (used == 0)
            pthread_cond_wait(&changed, &m);
        assert(places[first] >= 0 && places[first] < 26);
        first = (first + 1) % PLACES;
        used--;
        pthread_cond_signal(&changed);
        pthread_mutex_unlock(&m);
    }
    return unused;
}

int main(void)
{
    pthread_t t[2];
    pthread_create(&t[0], NULL, produce, NULL);
    pthread_create(&t[1], NULL, consume, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    return 0;
}
