// check:
// verdict: verified
// executions: 4
// blocked: 0

// A loop that counts its tries makes progress and is not folded: the store comes before the first,
// second or third look, or after them all.
#include <pthread.h>
#include <stdatomic.h>

atomic_int flag;

static void *try_three_times(void *arg)
{
    for (int i = 0; i < 3; i++)
        if (atomic_load(&flag))
            return NULL;
    return NULL;
}

static void *set(void *arg)
{
    atomic_store(&flag, 1);
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, try_three_times, NULL);
    pthread_create(&b, NULL, set, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
