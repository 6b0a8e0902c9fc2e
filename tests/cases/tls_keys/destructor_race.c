// check:
// verdict: bug
// finding: data-race var=sum line=13 line2=13

// The destructors of two threads add to one variable without a lock.
#include <pthread.h>

static pthread_key_t key;
int sum, token = 1;

static void destroy(void *value)
{
    sum += *(int *)value;
}

static void *work(void *arg)
{
    pthread_setspecific(key, &token);
    return NULL;
}

int main(void)
{
    pthread_t t[2];
    pthread_key_create(&key, destroy);
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, work, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    pthread_key_delete(key);
    return 0;
}
