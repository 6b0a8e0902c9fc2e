// check: --strategy random --seed 1 --max-executions 50
// verdict: incomplete
// exit: 3
// check: --strategy pct --seed 1 --max-executions 50
// verdict: incomplete
// exit: 3
// check: --strategy pos --seed 1 --max-executions 50
// verdict: incomplete
// exit: 3

// A right program: sampling finds nothing and proves nothing.
#include <pthread.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int count;

static void *add(void *arg)
{
    pthread_mutex_lock(&m);
    count++;
    pthread_mutex_unlock(&m);
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, add, NULL);
    pthread_create(&b, NULL, add, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
