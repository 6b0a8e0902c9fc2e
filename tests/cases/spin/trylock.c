// check:
// verdict: verified
// executions: 4
// blocked: 0

// As mutex/trylock_both.c.
#include <assert.h>
#include <errno.h>
#include <pthread.h>

static pthread_spinlock_t s;
int count;

static void *attempt(void *arg)
{
    int status = pthread_spin_trylock(&s);
    if (status == 0) {
        count++;
        pthread_spin_unlock(&s);
    } else {
        assert(status == EBUSY);
    }
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_spin_init(&s, PTHREAD_PROCESS_PRIVATE);
    pthread_create(&a, NULL, attempt, NULL);
    pthread_create(&b, NULL, attempt, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(count == 1 || count == 2);
    pthread_spin_destroy(&s);
    return 0;
}
