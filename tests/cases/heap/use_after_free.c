// compilers: gcc clang
// check:
// verdict: bug
// findings: at-least
// finding: data-race detail=use-after-free line=27 line2=21

// One thread frees what another still reads.
#include <pthread.h>
#include <stdlib.h>

struct node {
    int value;
    struct node *next;
};

struct node *shared;
int copy;

static void *reader(void *arg)
{
    copy = shared->value;
    return NULL;
}

static void *owner(void *arg)
{
    free(shared);
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    shared = malloc(sizeof *shared);
    shared->value = 1;
    pthread_create(&a, NULL, reader, NULL);
    pthread_create(&b, NULL, owner, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
