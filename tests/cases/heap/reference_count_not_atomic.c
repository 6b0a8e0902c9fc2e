// check:
// verdict: bug
// findings: at-least
// finding: data-race line=17 line2=17

// The count itself is plain.
#include <pthread.h>
#include <stdlib.h>

struct object {
    int references;
};

static void *user(void *arg)
{
    struct object *o = arg;
    o->references--;
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    struct object *o = calloc(1, sizeof *o);
    o->references = 2;
    pthread_create(&a, NULL, user, o);
    pthread_create(&b, NULL, user, o);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    free(o);
    return 0;
}
