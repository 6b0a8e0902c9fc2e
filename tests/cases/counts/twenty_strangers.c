// check:
// verdict: verified
// executions: 1
// blocked: 0

// Twenty threads that share nothing.
#include <pthread.h>

int own[20];

static void *work(void *arg)
{
    int *mine = arg;
    for (int i = 0; i < 100; i++)
        *mine += i;
    return NULL;
}

int main(void)
{
    pthread_t t[20];
    for (int i = 0; i < 20; i++)
        pthread_create(&t[i], NULL, work, &own[i]);
    for (int i = 0; i < 20; i++)
        pthread_join(t[i], NULL);
    return 0;
}
