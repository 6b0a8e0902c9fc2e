// flags: -D_GNU_SOURCE
// check:
// verdict: verified
// executions: 1

// Stack size, names, yielding, a signal of number 0 to oneself: none is a choice.
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>

static void *work(void *arg)
{
    char name[16];
    pthread_setname_np(pthread_self(), "worker");
    pthread_getname_np(pthread_self(), name, sizeof name);
    assert(strcmp(name, "worker") == 0);
    sched_yield();
    assert(pthread_kill(pthread_self(), 0) == 0);
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_attr_t attr;
    size_t size;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 256 * 1024);
    pthread_attr_getstacksize(&attr, &size);
    assert(size == 256 * 1024);
    pthread_create(&a, &attr, work, NULL);
    pthread_create(&b, NULL, work, NULL);
    pthread_attr_destroy(&attr);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
