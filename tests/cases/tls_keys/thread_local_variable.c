// compilers: gcc clang
// check:
// verdict: verified
// executions: 1
// blocked: 0

// Each thread has its own copy with the initial value: no race.
#include <assert.h>
#include <pthread.h>

static _Thread_local int counter = 5;
static __thread int zero;

static void *work(void *arg)
{
    assert(counter == 5 && zero == 0);
    for (int i = 0; i < 3; i++) {
        counter++;
        zero--;
    }
    assert(counter == 8 && zero == -3);
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, work, NULL);
    pthread_create(&b, NULL, work, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(counter == 5 && zero == 0);
    return 0;
}
