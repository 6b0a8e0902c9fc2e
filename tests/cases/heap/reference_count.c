// compilers: gcc clang
// check:
// verdict: verified
// executions: 2
// blocked: 0

// The last to let go frees: each decrement releases, the last one acquires.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct object {
    atomic_int references;
    int value[2];
};

static void *user(void *arg)
{
    struct object *o = arg;
    o->value[0] = o->value[1];
    if (atomic_fetch_sub_explicit(&o->references, 1, memory_order_acq_rel) == 1)
        free(o);
    return NULL;
}

static void *other(void *arg)
{
    struct object *o = arg;
    int v = o->value[1];
    if (atomic_fetch_sub_explicit(&o->references, 1, memory_order_acq_rel) == 1)
        free(o);
    return v ? arg : NULL;
}

int main(void)
{
    pthread_t a, b;
    struct object *o = calloc(1, sizeof *o);
    atomic_store(&o->references, 2);
    pthread_create(&a, NULL, user, o);
    pthread_create(&b, NULL, other, o);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
