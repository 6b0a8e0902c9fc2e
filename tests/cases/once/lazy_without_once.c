// check:
// verdict: bug
// findings: at-least
// finding: data-race var=ready

// Lazy initialisation with a plain flag and nothing else.
#include <pthread.h>

int ready, value;

static void *work(void *arg)
{
    if (!ready) {
        value = 42;
        ready = 1;
    }
    return value ? NULL : arg;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, work, NULL);
    pthread_create(&b, NULL, work, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
