// check:
// verdict: verified
// executions: 3
// blocked: 0

// The reader's try comes before the writer, while it writes (and fails), or after.
#include <assert.h>
#include <pthread.h>

static pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
int low, high;

static void *reader(void *arg)
{
    if (pthread_rwlock_tryrdlock(&l) == 0) {
        assert(low == high);
        pthread_rwlock_unlock(&l);
    }
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
    pthread_t a, b;
    pthread_create(&a, NULL, reader, NULL);
    pthread_create(&b, NULL, writer, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
