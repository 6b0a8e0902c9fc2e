// check:
// verdict: verified
// executions: 1

// A deleted key is refused with an error code, and its value reads as NULL.
#include <assert.h>
#include <errno.h>
#include <pthread.h>

int main(void)
{
    pthread_key_t key;
    static int token;
    assert(pthread_key_create(&key, NULL) == 0);
    assert(pthread_setspecific(key, &token) == 0);
    assert(pthread_key_delete(key) == 0);
    assert(pthread_setspecific(key, &token) == EINVAL);
    assert(pthread_getspecific(key) == NULL);
    return 0;
}
