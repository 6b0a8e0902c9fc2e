// check:
// verdict: verified
// executions: 1

// The dynamic loader has no error to tell of before the program has made one.
#include <assert.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>

static void *look_up(void *unused)
{
    assert(dlerror() == NULL);
    return unused;
}

int main(void)
{
    pthread_t t;
    assert(dlerror() == NULL);
    pthread_create(&t, NULL, look_up, NULL);
    pthread_join(t, NULL);
    return 0;
}
