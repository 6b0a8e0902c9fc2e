// check:
// verdict: verified
// executions: 1
// blocked: 0

// Four readers.
#include <pthread.h>

static pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
static const int value = 7;
int seen[4];

static void *reader(void *arg)
{
    int *mine = arg;
    pthread_rwlock_rdlock(&l);
    *mine = value;
    pthread_rwlock_unlock(&l);
    return NULL;
}

int main(void)
{
    pthread_t t[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, reader, &seen[i]);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    return 0;
}
