// check:
// verdict: verified

// pthread_self and pthread_equal.
#include <assert.h>
#include <pthread.h>

static pthread_t seen[2];

static void *work(void *arg)
{
    *(pthread_t *)arg = pthread_self();
    return NULL;
}

int main(void)
{
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, work, &seen[i]);
    for (int i = 0; i < 2; i++) {
        pthread_join(t[i], NULL);
        assert(pthread_equal(t[i], seen[i]));
        assert(!pthread_equal(seen[i], pthread_self()));
    }
    assert(!pthread_equal(seen[0], seen[1]));
    return 0;
}
