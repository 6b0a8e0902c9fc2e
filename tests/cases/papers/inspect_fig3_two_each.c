// check:
// verdict: bug
// findings: at-least
// finding: deadlock detail=cycle

// The same with two threads of each class. Now the last to leave need not be the one that took
// `lock`, so that the program also unlocks a mutex that another thread holds.
#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, lock = PTHREAD_MUTEX_INITIALIZER;
int a_count, b_count;

static void operate(int *count)
{
    pthread_mutex_lock(&mutex);
    ++*count;
    if (*count == 1)
        pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&mutex);

    pthread_mutex_lock(&mutex);
    --*count;
    if (*count == 0)
        pthread_mutex_unlock(&lock);
    pthread_mutex_unlock(&mutex);
}

static void *class_a(void *arg)
{
    operate(&a_count);
    return NULL;
}

static void *class_b(void *arg)
{
    operate(&b_count);
    return NULL;
}

int main(void)
{
    pthread_t t[4];
    pthread_create(&t[0], NULL, class_a, NULL);
    pthread_create(&t[1], NULL, class_a, NULL);
    pthread_create(&t[2], NULL, class_b, NULL);
    pthread_create(&t[3], NULL, class_b, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    return 0;
}
