// check:
// verdict: bug
// finding: misuse detail=join-twice line=17

// Main and another thread join the same one: the second comes too late, whichever it is.
#include <pthread.h>

static pthread_t worker;

static void *work(void *arg)
{
    return NULL;
}

static void join_worker(void)
{
    pthread_join(worker, NULL);
}

static void *joiner(void *arg)
{
    join_worker();
    return NULL;
}

int main(void)
{
    pthread_t t;
    pthread_create(&worker, NULL, work, NULL);
    pthread_create(&t, NULL, joiner, NULL);
    join_worker();
    pthread_join(t, NULL);
    return 0;
}
