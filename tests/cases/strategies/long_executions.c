// check: --max-executions 2 --time-limit 20
// args: 16000
// verdict: incomplete
// executions: 2
// check: --max-executions 3 --time-limit 20
// args: 4000 readers
// verdict: verified
// executions: 1

// The analysis of one execution takes time and memory in proportion to its length: each of the
// 32,000 critical sections can be overtaken by the first one of the other thread. The readers of
// the second run commute, so that there is one trace.

#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static int rounds, counter;

static void *count(void *arg)
{
    for (int i = 0; i < rounds; i++) {
        pthread_mutex_lock(&mutex);
        counter++;
        pthread_mutex_unlock(&mutex);
    }
    return arg;
}

static void *look(void *arg)
{
    for (int i = 0; i < rounds; i++) {
        pthread_rwlock_rdlock(&rwlock);
        pthread_rwlock_unlock(&rwlock);
    }
    return arg;
}

int main(int argc, char **argv)
{
    pthread_t threads[2];
    rounds = atoi(argv[1]);
    for (int i = 0; i < 2; i++) {
        pthread_create(&threads[i], NULL, argc > 2 ? look : count, NULL);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
    }
    return 0;
}
