// check:
// verdict: bug
// finding: data-race detail=read-write line=14 line2=15

// The barrier that should separate the phases was forgotten: the first access of the second phase
// races.
#include <pthread.h>

int cell[2], sum[2];

static void *work(void *arg)
{
    int i = *(int *)arg;
    cell[i] = i + 1;
    sum[i] = cell[1 - i];
    return NULL;
}

int main(void)
{
    pthread_t t[2];
    int id[2] = { 0, 1 };
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, work, &id[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    return 0;
}
