// compilers: gcc clang
// check:
// verdict: verified
// executions: 2
// blocked: 0

// pthread_spin_lock orders as a mutex does.
#include <assert.h>
#include <pthread.h>

static pthread_spinlock_t s;
int count;

static void *add(void *arg)
{
    pthread_spin_lock(&s);
    count++;
    pthread_spin_unlock(&s);
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_spin_init(&s, PTHREAD_PROCESS_PRIVATE);
    pthread_create(&a, NULL, add, NULL);
    pthread_create(&b, NULL, add, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(count == 2);
    pthread_spin_destroy(&s);
    return 0;
}
