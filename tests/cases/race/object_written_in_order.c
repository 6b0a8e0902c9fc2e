// compilers: gcc clang
// check:
// verdict: verified
// check: --strategy optimal
// flags: -O2
// verdict: verified

// Plain writes to objects that are ordered with all uses: before there are threads, by the thread that
// makes the object before it passes it on, after the last use, in memory that is used again. Reading an
// object, as a copy of the struct around it does, is no write.
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

struct account {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    long balance;
    struct account *next;
};

static struct account first, pool[1], *inbox;
static pthread_mutex_t inbox_lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t done;

static void initialise(struct account *account, long balance)
{
    memset(account, 0, sizeof *account);
    account->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    account->changed = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    account->balance = balance;
}

static void deposit(struct account *account, long amount)
{
    pthread_mutex_lock(&account->lock);
    account->balance += amount;
    pthread_cond_signal(&account->changed);
    pthread_mutex_unlock(&account->lock);
}

static void *pay(void *arg)
{
    struct account local;
    initialise(&local, 1);
    deposit(&local, 1);
    deposit(&first, local.balance);
    // Passed on under another lock.
    struct account *made = malloc(sizeof *made);
    initialise(made, 3);
    pthread_mutex_lock(&inbox_lock);
    made->next = inbox;
    inbox = made;
    pthread_mutex_unlock(&inbox_lock);
    return arg;
}

static void *borrow(void *arg)
{
    struct account *slot = arg;
    deposit(slot, 5);
    sem_post(&done);
    return NULL;
}

static long snapshot(void)
{
    pthread_mutex_lock(&first.lock);
    struct account copy = first;
    pthread_mutex_unlock(&first.lock);
    return copy.balance;
}

int main(void)
{
    pthread_t t;
    initialise(&first, 10);
    sem_init(&done, 0, 0);
    pthread_create(&t, NULL, pay, NULL);
    long seen = snapshot();
    assert(seen == 10 || seen == 12);
    pthread_mutex_lock(&inbox_lock);
    struct account *got = inbox;
    inbox = NULL;
    pthread_mutex_unlock(&inbox_lock);
    if (got) {
        deposit(got, 1);
        free(got);
    }
    pthread_join(t, NULL);
    free(inbox);
    // The memory of an object is used again, for another object and for data.
    struct account *again = malloc(sizeof *again);
    memset(again, 0xff, sizeof *again);
    initialise(again, 0);
    pthread_create(&t, NULL, borrow, again);
    initialise(&pool[0], 0);
    sem_wait(&done);
    memset(&first, 0, sizeof first);
    pthread_join(t, NULL);
    memset(again, 1, sizeof *again);
    free(again);
    memset(&pool, 1, sizeof pool);
    sem_destroy(&done);
    return 0;
}
