// compilers: gcc clang
// check:
// verdict: incomplete
// check:
// flags: -DHARMLESS
// verdict: verified
// executions: 1
//
// A function that is looked up by its name is called without being seen.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>

#ifdef HARMLESS
#define NAME "abs"
#else
#define NAME "rand"
#endif

static void *work(void *unused)
{
    (void)unused;
    int (*function)(int);
    *(void **)&function = dlsym(RTLD_DEFAULT, NAME);
    function(1);
    return NULL;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    return 0;
}
