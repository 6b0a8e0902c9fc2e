// The work-stealing deque of Chase and Lev: the owner pushes ITEMS items and takes as many, THIEVES threads steal.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#ifndef ITEMS
#define ITEMS 3
#endif
#ifndef THIEVES
#define THIEVES 2
#endif
#define SIZE 4
#define NOTHING 0

static atomic_int top, bottom, items[SIZE];
static atomic_int times[ITEMS + 1];

static void push(int item)
{
    int at = atomic_load(&bottom);
    atomic_store(&items[at % SIZE], item);
    atomic_store(&bottom, at + 1);
}

static int take(void)
{
    int at = atomic_load(&bottom) - 1;
    atomic_store(&bottom, at);
    int first = atomic_load(&top);
    int item = NOTHING;
    if (first <= at) {
        item = atomic_load(&items[at % SIZE]);
        if (first < at)
            return item;
        if (!atomic_compare_exchange_strong(&top, &first, first + 1))
            item = NOTHING;
    }
    atomic_store(&bottom, at + 1);
    return item;
}

static int steal(void)
{
    for (;;) {
        int first = atomic_load(&top);
        int at = atomic_load(&bottom);
        if (first >= at)
            return NOTHING;
        int item = atomic_load(&items[first % SIZE]);
        if (atomic_compare_exchange_strong(&top, &first, first + 1))
            return item;
    }
}

static void *owner(void *arg)
{
    for (int item = 1; item <= ITEMS; item++)
        push(item);
    for (int item = 1; item <= ITEMS; item++)
        atomic_fetch_add(&times[take()], 1);
    return arg;
}

static void *thief(void *arg)
{
    atomic_fetch_add(&times[steal()], 1);
    return arg;
}

int main(void)
{
    pthread_t threads[THIEVES + 1];
    for (int i = 0; i <= THIEVES; i++)
        pthread_create(&threads[i], NULL, i == 0 ? owner : thief, NULL);
    for (int i = 0; i <= THIEVES; i++)
        pthread_join(threads[i], NULL);
    for (int item = 1; item <= ITEMS; item++)
        assert(atomic_load(&times[item]) == 1);
    return 0;
}
