// check:
// verdict: verified
// executions: 2

// Main leaves by pthread_exit; the others go on, and the process ends with the last of them.
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
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_create(&a, &attr, add, NULL);
    pthread_create(&b, &attr, add, NULL);
    pthread_attr_destroy(&attr);
    pthread_exit(NULL);
}
