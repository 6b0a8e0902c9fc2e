// check:
// verdict: bug
// findings: at-least
// finding: data-race var=calls line=12 line2=12

// A static variable inside a function is as shared as any other.
#include <pthread.h>

static int count_call(void)
{
    static int calls;
    calls++;
    return calls;
}

static void *work(void *arg)
{
    return count_call() > 0 ? NULL : arg;
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
