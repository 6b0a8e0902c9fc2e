// check:
// verdict: verified
// executions: 6
// blocked: 0

// With one reader everything is ordered: 3!.
#include <assert.h>
#include <pthread.h>

static pthread_rwlock_t l;
int value;

static void *reader(void *arg)
{
    pthread_rwlock_rdlock(&l);
    assert(value >= 0 && value <= 2);
    pthread_rwlock_unlock(&l);
    return NULL;
}

static void *writer(void *arg)
{
    pthread_rwlock_wrlock(&l);
    value++;
    pthread_rwlock_unlock(&l);
    return NULL;
}

int main(void)
{
    pthread_t t[3];
    pthread_rwlock_init(&l, NULL);
    pthread_create(&t[0], NULL, writer, NULL);
    pthread_create(&t[1], NULL, writer, NULL);
    pthread_create(&t[2], NULL, reader, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    assert(value == 2);
    pthread_rwlock_destroy(&l);
    return 0;
}
