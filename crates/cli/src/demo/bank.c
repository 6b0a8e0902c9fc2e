// Two tellers withdraw from one account. The balance must never go below zero.
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

struct account {
    pthread_mutex_t lock;
    int balance;
};

static struct account account = {PTHREAD_MUTEX_INITIALIZER, 100};

static int withdraw(struct account *from, int amount) {
    // The bug: the balance is read without the lock. Take it first; release it on both ways out.
    if (from->balance < amount)
        return 0;
    pthread_mutex_lock(&from->lock);
    from->balance -= amount;
    pthread_mutex_unlock(&from->lock);
    return 1;
}

static void *teller(void *unused) {
    (void)unused;
    withdraw(&account, 70);
    return NULL;
}

int main(void) {
    pthread_t tellers[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&tellers[i], NULL, teller, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(tellers[i], NULL);
    assert(account.balance >= 0);
    printf("balance: %d\n", account.balance);
    pthread_mutex_destroy(&account.lock);
    return 0;
}
