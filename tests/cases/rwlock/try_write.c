// check:
// verdict: verified
// executions: 3
// blocked: 0

// The writer's try comes before the reader, while it reads (and fails), or after.
#include <assert.h>
#include <errno.h>
#include <pthread.h>

static pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
int value;

static void *reader(void *arg)
{
    pthread_rwlock_rdlock(&l);
    assert(value == 0 || value == 1);
    pthread_rwlock_unlock(&l);
    return NULL;
}

static void *writer(void *arg)
{
    int status = pthread_rwlock_trywrlock(&l);
    if (status == 0) {
        value = 1;
        pthread_rwlock_unlock(&l);
    } else {
        assert(status == EBUSY);
    }
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
