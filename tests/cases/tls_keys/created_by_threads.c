// compilers: gcc clang
// check:
// verdict: verified
// executions: 1
//
// The number of a key follows from the thread that creates it, so that the two creations commute.
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

static void *create(void *unused)
{
    (void)unused;
    pthread_key_t key;
    assert(pthread_key_create(&key, NULL) == 0);
    assert(pthread_setspecific(key, &key) == 0 && pthread_getspecific(key) == &key);
    assert(pthread_key_delete(key) == 0);
    return NULL;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, create, NULL);
    create(NULL);
    pthread_join(thread, NULL);
    return 0;
}
