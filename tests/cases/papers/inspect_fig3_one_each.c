// compilers: gcc clang
// check:
// verdict: bug
// executions: 4
// blocked: 0
// findings: at-least
// finding: deadlock detail=cycle
// check: --strategy dpor
// verdict: bug
// executions: 4
// findings: at-least
// finding: deadlock detail=cycle

// Figure 3 of the Inspect paper: a shared database with two classes of operations that must not run
// together. `mutex` guards the counters, `lock` is held by the class that is inside; its first
// member takes it and its last one gives it back. One thread of each class: while A is inside, B
// takes `mutex` and waits for `lock` under it, and A cannot get `mutex` to leave. Executions: A
// through first or B through first (2), A inside when B comes, B inside when A comes.
#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, lock = PTHREAD_MUTEX_INITIALIZER;
int a_count, b_count;

static void *class_a(void *arg)
{
    pthread_mutex_lock(&mutex);
    a_count++;
    if (a_count == 1)
        pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&mutex);

    pthread_mutex_lock(&mutex);
    a_count--;
    if (a_count == 0)
        pthread_mutex_unlock(&lock);
    pthread_mutex_unlock(&mutex);
    return NULL;
}

static void *class_b(void *arg)
{
    pthread_mutex_lock(&mutex);
    b_count++;
    if (b_count == 1)
        pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&mutex);

    pthread_mutex_lock(&mutex);
    b_count--;
    if (b_count == 0)
        pthread_mutex_unlock(&lock);
    pthread_mutex_unlock(&mutex);
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, class_a, NULL);
    pthread_create(&b, NULL, class_b, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
