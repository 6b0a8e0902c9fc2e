// check:
// verdict: bug
// findings: at-least
// finding: data-race detail=use-after-free line2=19

// With relaxed decrements nothing orders the other's last use before the free.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct object {
    atomic_int references;
    int value;
};

static void *user(void *arg)
{
    struct object *o = arg;
    int v = o->value;
    if (atomic_fetch_sub_explicit(&o->references, 1, memory_order_relaxed) == 1)
        free(o);
    return v ? arg : NULL;
}

int main(void)
{
    pthread_t a, b;
    struct object *o = calloc(1, sizeof *o);
    atomic_store(&o->references, 2);
    pthread_create(&a, NULL, user, o);
    pthread_create(&b, NULL, user, o);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
