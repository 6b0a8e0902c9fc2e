// compilers: gcc clang
// check:
// verdict: verified
// executions: 4
// blocked: 0
// check: --strategy dpor
// verdict: verified
// executions: 4

// Readers do not order each other: each of the two comes before or after the writer.
#include <assert.h>
#include <pthread.h>

static pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
int low, high;

static void *reader(void *arg)
{
    pthread_rwlock_rdlock(&l);
    assert(low == high);
    pthread_rwlock_unlock(&l);
    return NULL;
}

static void *writer(void *arg)
{
    pthread_rwlock_wrlock(&l);
    low++;
    high++;
    pthread_rwlock_unlock(&l);
    return NULL;
}

int main(void)
{
    pthread_t t[3];
    pthread_create(&t[0], NULL, writer, NULL);
    pthread_create(&t[1], NULL, reader, NULL);
    pthread_create(&t[2], NULL, reader, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    return 0;
}
