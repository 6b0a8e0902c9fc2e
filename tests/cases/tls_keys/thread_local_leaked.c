// check:
// verdict: bug
// finding: data-race detail=read-write line=19 line2=29
// finding: data-race detail=use-after-return line=17 line2=29

// The address of a thread-local variable is given away: another thread's access to it races, with the
// write and with the end of the thread.
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static _Thread_local int own;
int *_Atomic leaked;
int copy;

static void *owner(void *arg)
{
    atomic_store(&leaked, &own);
    own = 1;
    return NULL;
}

int main(void)
{
    pthread_t t;
    pthread_create(&t, NULL, owner, NULL);
    int *p = atomic_load(&leaked);
    if (p != NULL)
        copy = *p;
    pthread_join(t, NULL);
    return 0;
}
