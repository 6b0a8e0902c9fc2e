// check:
// verdict: verified
// executions: 2

// Transfers in both directions, locks always taken in the order of their addresses.
#include <assert.h>
#include <pthread.h>

struct account {
    pthread_mutex_t lock;
    int balance;
} account[2] = {
    { PTHREAD_MUTEX_INITIALIZER, 100 },
    { PTHREAD_MUTEX_INITIALIZER, 100 },
};

static void transfer(struct account *from, struct account *to, int amount)
{
    struct account *first = from < to ? from : to, *second = from < to ? to : from;
    pthread_mutex_lock(&first->lock);
    pthread_mutex_lock(&second->lock);
    from->balance -= amount;
    to->balance += amount;
    pthread_mutex_unlock(&second->lock);
    pthread_mutex_unlock(&first->lock);
}

static void *there(void *arg)
{
    transfer(&account[0], &account[1], 30);
    return NULL;
}

static void *back(void *arg)
{
    transfer(&account[1], &account[0], 20);
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, there, NULL);
    pthread_create(&b, NULL, back, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(account[0].balance == 90 && account[1].balance == 110);
    return 0;
}
