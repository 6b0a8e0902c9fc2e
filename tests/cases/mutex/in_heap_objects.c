// check:
// verdict: verified
// executions: 4
// blocked: 0

// Two accounts on the heap, each with its lock; two threads visit both, one lock at a time: 2
// orders at each account.
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

struct account {
    pthread_mutex_t lock;
    int balance;
};

struct account *account[2];

static void *deposit(void *arg)
{
    for (int i = 0; i < 2; i++) {
        pthread_mutex_lock(&account[i]->lock);
        account[i]->balance += 10;
        pthread_mutex_unlock(&account[i]->lock);
    }
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    for (int i = 0; i < 2; i++) {
        account[i] = malloc(sizeof *account[i]);
        pthread_mutex_init(&account[i]->lock, NULL);
        account[i]->balance = 0;
    }
    pthread_create(&a, NULL, deposit, NULL);
    pthread_create(&b, NULL, deposit, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    for (int i = 0; i < 2; i++) {
        assert(account[i]->balance == 20);
        pthread_mutex_destroy(&account[i]->lock);
        free(account[i]);
    }
    return 0;
}
