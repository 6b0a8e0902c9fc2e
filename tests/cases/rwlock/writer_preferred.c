// compilers: gcc clang
// check:
// verdict: verified
// executions: 2

// In glibc this kind keeps no reader out: the writer comes before both reads, or behind both.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>

static pthread_rwlock_t l;

static void *writer(void *arg)
{
    pthread_rwlock_wrlock(&l);
    pthread_rwlock_unlock(&l);
    return NULL;
}

int main(void)
{
    pthread_rwlockattr_t kind;
    pthread_rwlockattr_init(&kind);
    pthread_rwlockattr_setkind_np(&kind, PTHREAD_RWLOCK_PREFER_WRITER_NP);
    pthread_rwlock_init(&l, &kind);
    pthread_t t;
    pthread_create(&t, NULL, writer, NULL);
    pthread_rwlock_rdlock(&l);
    int again = pthread_rwlock_tryrdlock(&l);
    if (again == 0)
        pthread_rwlock_unlock(&l);
    pthread_rwlock_unlock(&l);
    pthread_join(t, NULL);
    pthread_rwlock_destroy(&l);
    assert(again == 0);
    return 0;
}
