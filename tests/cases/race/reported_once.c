// check:
// verdict: bug
// findings: 1
// finding: data-race var=hits detail=write-write line=14 line2=14

// Met in every one of 24 executions and by six pairs of threads: one finding.
#include <pthread.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int count, hits;

static void *work(void *arg)
{
    hits = 1;
    pthread_mutex_lock(&m);
    count++;
    pthread_mutex_unlock(&m);
    return NULL;
}

int main(void)
{
    pthread_t t[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, work, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    return 0;
}
