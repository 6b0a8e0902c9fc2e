// check: --strategy stateful
// verdict: bug
// finding: memory detail=use-after-free line=73
// findings: 1
// check: --strategy optimal
// verdict: bug
// executions: 12
// finding: memory detail=use-after-free line=73
// findings: 1
// check:
// verdict: bug
// finding: memory detail=use-after-free line=73
// findings: 1

// Which of two threads has freed a large block is seen by nothing but the heap: main uses the block again
// if the thread has freed it that main joins first. So there are two states behind the two threads, with
// the same memory. The use of the former block is wrong in one of them only, and only if the fourth thread
// takes its lock before the third: a search that takes the two states for one misses it.
// 12 traces: two orders of the first two threads, two of the last two, and three places among the posts
// for the first wait.
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

enum { LARGE = 5000 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static sem_t done;
static int *block;
static long first;

static void *frees(void *arg)
{
    pthread_mutex_lock(&mutex);
    if (block) {
        free(block);
        block = NULL;
    }
    pthread_mutex_unlock(&mutex);
    sem_post(&done);
    return arg;
}

static void *locks(void *arg)
{
    pthread_mutex_lock(&other);
    if (!first)
        first = (long)arg;
    pthread_mutex_unlock(&other);
    return arg;
}

int main(void)
{
    pthread_t a, b, c, d;
    sem_init(&done, 0, 0);
    block = malloc(LARGE);
    *block = 1;
    int *former = block;
    pthread_create(&a, NULL, frees, NULL);
    pthread_create(&b, NULL, frees, NULL);
    sem_wait(&done);
    sem_wait(&done);
    pthread_create(&c, NULL, locks, (void *)1);
    pthread_create(&d, NULL, locks, (void *)2);
    pthread_join(c, NULL);
    pthread_join(d, NULL);
    pthread_join(a, NULL);
    int *next = malloc(LARGE);
    *next = 2;
    int value = 0;
    if (first == 2)
        value = *(volatile int *)former;
    free(next);
    pthread_join(b, NULL);
    sem_destroy(&done);
    return value == 3;
}
