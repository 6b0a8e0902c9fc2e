// check:
// verdict: verified
// executions: 2

// The point of dynamic reduction: which cell a thread touches is known only when it runs. Two of
// three threads meet.
#include <pthread.h>

static pthread_mutex_t lock[8];
int cell[8];

static void *touch(void *arg)
{
    int i = *(int *)arg % 8;
    pthread_mutex_lock(&lock[i]);
    cell[i]++;
    pthread_mutex_unlock(&lock[i]);
    return NULL;
}

int main(void)
{
    pthread_t t[3];
    int key[3] = { 3, 11, 4 };
    for (int i = 0; i < 8; i++)
        pthread_mutex_init(&lock[i], NULL);
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], NULL, touch, &key[i]);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    for (int i = 0; i < 8; i++)
        pthread_mutex_destroy(&lock[i]);
    return 0;
}
