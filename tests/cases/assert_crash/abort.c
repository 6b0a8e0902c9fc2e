// check:
// verdict: bug
// finding: assertion detail=abort line=21

// abort() if the second thread overtakes.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

atomic_int place;

static void *first(void *arg)
{
    atomic_fetch_add(&place, 1);
    return NULL;
}

static void *second(void *arg)
{
    if (atomic_fetch_add(&place, 1) == 0)
        abort();
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, first, NULL);
    pthread_create(&b, NULL, second, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
