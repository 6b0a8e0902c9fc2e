// check: --stdin /etc/passwd
// verdict: verified
// executions: 6
// Every run reads its standard input from the beginning, although the C library reads it by the
// buffer. Three threads lock once: 3!.
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int turns;

static void *work(void *arg)
{
    pthread_mutex_lock(&m);
    turns++;
    pthread_mutex_unlock(&m);
    return arg;
}

int main(void)
{
    pthread_t t[3];
    assert(getchar() != EOF);
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], 0, work, 0);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], 0);
    return turns != 3;
}
