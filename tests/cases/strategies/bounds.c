// check: --max-executions 5
// verdict: incomplete
// executions: 5
// exit: 3
// check: --max-events 3
// verdict: incomplete
// executions: 0
// exit: 3
// check:
// verdict: verified
// executions: 24

// Bounds stop a search that would find nothing, and say so.
#include <pthread.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int count;

static void *add(void *arg)
{
    pthread_mutex_lock(&m);
    count++;
    pthread_mutex_unlock(&m);
    return NULL;
}

int main(void)
{
    pthread_t t[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, add, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    return 0;
}
