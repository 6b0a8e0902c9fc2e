// check:
// verdict: verified
// executions: 1

// destroy, then init again: allowed.
#include <pthread.h>

static pthread_mutex_t m;

int main(void)
{
    for (int i = 0; i < 3; i++) {
        pthread_mutex_init(&m, NULL);
        pthread_mutex_lock(&m);
        pthread_mutex_unlock(&m);
        pthread_mutex_destroy(&m);
    }
    return 0;
}
