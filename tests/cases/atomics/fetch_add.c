// compilers: gcc clang
// check:
// verdict: verified
// executions: 6
// blocked: 0

// Read-modify-writes of one location are ordered: 3!.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

atomic_int count;

static void *add(void *arg)
{
    *(int *)arg = atomic_fetch_add(&count, 1);
    return NULL;
}

int main(void)
{
    pthread_t t[3];
    int ticket[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], NULL, add, &ticket[i]);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    assert(atomic_load(&count) == 3);
    assert(ticket[0] + ticket[1] + ticket[2] == 3);
    return 0;
}
