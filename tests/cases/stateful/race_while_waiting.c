// compilers: gcc clang
// check: --strategy stateful
// verdict: bug
// finding: data-race var=data

// The loop that waits reads data, and one order of the other threads makes one of them write it. The
// state behind both orders is the same but for what the waiting thread has read.
#include <pthread.h>
#include <stdatomic.h>

static atomic_int flag, way;
int data;

static void *waits(void *arg)
{
    int seen = 0;
    while (!atomic_load(&flag))
        seen += data;
    return seen == 0 ? arg : NULL;
}

static void *may_write(void *arg)
{
    if (atomic_load(&way) == 1)
        data = 0;
    return arg;
}

static void *opens(void *arg)
{
    atomic_store(&way, 1);
    atomic_store(&way, 0);
    atomic_store(&flag, 1);
    return arg;
}

int main(void)
{
    pthread_t threads[3];
    pthread_create(&threads[0], NULL, opens, NULL);
    pthread_create(&threads[1], NULL, may_write, NULL);
    pthread_create(&threads[2], NULL, waits, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
