// check:
// verdict: verified
// executions: 6
// Main's stack has to grow far below its first page, at once and then step by step. Then three
// threads lock once each: 3!.
#include <assert.h>
#include <pthread.h>
#include <string.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int turns;

static void *work(void *arg)
{
    pthread_mutex_lock(&m);
    turns++;
    pthread_mutex_unlock(&m);
    return arg;
}

static int deep(int depth)
{
    volatile char frame[4000];
    memset((void *)frame, depth, sizeof frame);
    if (depth > 0)
        return deep(depth - 1) + (frame[17] == (char)depth);
    pthread_t t[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], 0, work, 0);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], 0);
    return 0;
}

int main(void)
{
    volatile char big[1 << 20];
    big[5] = 7;
    assert(deep(300) == 300);
    assert(big[5] == 7 && turns == 3);
    return 0;
}
