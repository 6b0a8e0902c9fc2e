// check:
// verdict: bug
// findings: at-least
// finding: deadlock detail=relock line=16

// A reader that asks for the write lock waits for itself.
#include <pthread.h>

static pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
int value;

static void *work(void *arg)
{
    pthread_rwlock_rdlock(&l);
    if (value == 0) {
        pthread_rwlock_wrlock(&l);
        value = 1;
        pthread_rwlock_unlock(&l);
    }
    pthread_rwlock_unlock(&l);
    return NULL;
}

int main(void)
{
    pthread_t t;
    pthread_create(&t, NULL, work, NULL);
    pthread_join(t, NULL);
    return 0;
}
