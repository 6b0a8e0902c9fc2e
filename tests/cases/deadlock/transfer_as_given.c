// check:
// verdict: bug
// executions: 3
// finding: deadlock detail=cycle line=20

// The same with the locks in the order of the arguments.
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
    pthread_mutex_lock(&from->lock);
    pthread_mutex_lock(&to->lock);
    from->balance -= amount;
    to->balance += amount;
    pthread_mutex_unlock(&to->lock);
    pthread_mutex_unlock(&from->lock);
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
    return 0;
}
