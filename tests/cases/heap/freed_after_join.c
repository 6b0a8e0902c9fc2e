// check:
// verdict: verified
// executions: 1

// The repaired program.
#include <pthread.h>
#include <stdlib.h>

int *shared;

static void *reader(void *arg)
{
    return *shared == 1 ? NULL : arg;
}

int main(void)
{
    pthread_t a;
    shared = malloc(sizeof *shared);
    *shared = 1;
    pthread_create(&a, NULL, reader, NULL);
    pthread_join(a, NULL);
    free(shared);
    return 0;
}
