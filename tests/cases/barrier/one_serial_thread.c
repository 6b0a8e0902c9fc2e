// check:
// verdict: verified

// Exactly one thread is told that it is the serial one.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static pthread_barrier_t b;
atomic_int serial;

static void *work(void *arg)
{
    if (pthread_barrier_wait(&b) == PTHREAD_BARRIER_SERIAL_THREAD)
        atomic_fetch_add(&serial, 1);
    return NULL;
}

int main(void)
{
    pthread_t t[3];
    pthread_barrier_init(&b, NULL, 3);
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], NULL, work, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    assert(atomic_load(&serial) == 1);
    pthread_barrier_destroy(&b);
    return 0;
}
