// compilers: gcc clang
// check:
// verdict: bug
// findings: at-least
// finding: misuse detail=free-locked line=22

// The object is freed while its own lock is held.
#include <pthread.h>
#include <stdlib.h>

struct object {
    int value;
    pthread_mutex_t lock;
};

int main(void)
{
    struct object *o = malloc(sizeof *o);
    pthread_mutex_init(&o->lock, NULL);
    pthread_mutex_lock(&o->lock);
    o->value = 1;
    free(o);
    return 0;
}
