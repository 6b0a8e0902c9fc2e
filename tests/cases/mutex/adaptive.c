// flags: -D_GNU_SOURCE
// check:
// verdict: verified
// executions: 2

// An adaptive mutex is a normal one that spins first.
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t m = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
int count;

static void *add(void *arg)
{
    pthread_mutex_lock(&m);
    count++;
    pthread_mutex_unlock(&m);
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, add, NULL);
    pthread_create(&b, NULL, add, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(count == 2);
    return 0;
}
