// check:
// verdict: verified
// executions: 1
// blocked: 0

// Threads that start threads, a tree of 7; each adds up what its children give back.
#include <assert.h>
#include <pthread.h>
#include <stdint.h>

static void *tree(void *arg)
{
    intptr_t depth = (intptr_t)arg, sum = 1;
    if (depth > 0) {
        pthread_t left, right;
        void *l, *r;
        pthread_create(&left, NULL, tree, (void *)(depth - 1));
        pthread_create(&right, NULL, tree, (void *)(depth - 1));
        pthread_join(left, &l);
        pthread_join(right, &r);
        sum += (intptr_t)l + (intptr_t)r;
    }
    return (void *)sum;
}

int main(void)
{
    pthread_t root;
    void *sum;
    pthread_create(&root, NULL, tree, (void *)2);
    pthread_join(root, &sum);
    assert((intptr_t)sum == 7);
    return 0;
}
