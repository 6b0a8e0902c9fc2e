// check:
// verdict: bug
// findings: at-least
// finding: data-race detail=use-after-free

// The lock protects the object, but lies inside it: the second thread uses memory that the first
// has freed.
#include <pthread.h>
#include <stdlib.h>

struct object {
    pthread_mutex_t lock;
    int users;
};

static void *let_go(void *arg)
{
    struct object *o = arg;
    pthread_mutex_lock(&o->lock);
    int last = --o->users == 0;
    pthread_mutex_unlock(&o->lock);
    if (last) {
        pthread_mutex_destroy(&o->lock);
        free(o);
    }
    return NULL;
}

static void *peek(void *arg)
{
    struct object *o = arg;
    return o->users > 5 ? arg : NULL;
}

int main(void)
{
    pthread_t a, b;
    struct object *o = malloc(sizeof *o);
    pthread_mutex_init(&o->lock, NULL);
    o->users = 1;
    pthread_create(&a, NULL, let_go, o);
    pthread_create(&b, NULL, peek, o);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
