// compilers: gcc clang
// check:
// verdict: verified
// executions: 1
// findings: 2
// finding: memory detail=leak line=43 severity=warning
// finding: memory detail=leak line=50 severity=warning
// check:
// flags: -DRACE
// verdict: verified
// executions: 2
// findings: 1
// finding: memory detail=leak line=56 severity=warning
// check:
// flags: -DFAILS
// verdict: bug
// findings: 1
// finding: assertion

// Blocks that nothing leads to at the end: one of a list of four, of which the others are behind, and
// one of a thread that has ended. Blocks that a variable, a key or another block leads to are none.
// RACE: whether the block is lost depends on the order of the threads. FAILS: a program that was
// stopped could not free anything.
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct node {
    struct node *next;
    char text[24];
};

static struct node *kept;
static pthread_key_t key;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static void *shared;

static struct node *list(int count)
{
    struct node *first = NULL;
    while (count-- > 0) {
        struct node *next = malloc(sizeof *next);
        next->next = first;
        first = next;
    }
    return first;
}

static void *loses(void *arg) { memset(malloc(10), 0, 10); return arg; }

static void *body(void *arg)
{
#ifdef RACE
    pthread_mutex_lock(&m);
    shared = malloc(20);
    pthread_mutex_unlock(&m);
    return arg;
#else
    return loses(arg);
#endif
}

int main(void)
{
    pthread_t t;
    pthread_create(&t, NULL, body, NULL);
#ifdef RACE
    pthread_mutex_lock(&m);
    shared = NULL;
    pthread_mutex_unlock(&m);
#else
    kept = list(3);
    list(4);
    pthread_key_create(&key, free);
    pthread_setspecific(key, malloc(30));
    free(malloc(3));
#endif
    pthread_join(t, NULL);
#ifdef FAILS
    assert(kept == NULL);
#endif
    return 0;
}
