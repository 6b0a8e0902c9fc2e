// compilers: gcc clang
// check:
// verdict: bug
// finding: assertion detail=assert line=32
// check: --strategy dpor
// verdict: bug
// finding: assertion detail=assert line=32

// Only one of the 3! orders makes 123.
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int number;

static void *append(void *arg)
{
    pthread_mutex_lock(&m);
    number = number * 10 + *(int *)arg;
    pthread_mutex_unlock(&m);
    return NULL;
}

int main(void)
{
    pthread_t t[3];
    int digit[3] = { 3, 1, 2 };
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], NULL, append, &digit[i]);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    assert(number != 123);
    return 0;
}
