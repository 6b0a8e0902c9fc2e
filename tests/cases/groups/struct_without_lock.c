// check:
// verdict: bug
// finding: data-race
// findings: 6
// groups: 1

// The reporter forgets the lock that every other use of `account` holds. It reads three fields, and
// each of two writers changes all of them: 3 fields x 2 writers = 6 pairs of places, one cause.
#include <pthread.h>

static struct {
    int balance, count, last;
} account;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int shown;

static void *deposit(void *arg) {
    pthread_mutex_lock(&lock);
    account.balance += 10;
    account.count += 1;
    account.last = 10;
    pthread_mutex_unlock(&lock);
    return arg;
}

static void *withdraw(void *arg) {
    pthread_mutex_lock(&lock);
    account.balance -= 5;
    account.count -= 1;
    account.last = -5;
    pthread_mutex_unlock(&lock);
    return arg;
}

static void *report(void *arg) {
    shown = account.balance;
    shown += account.count;
    shown += account.last;
    return arg;
}

int main(void) {
    pthread_t threads[3];
    void *(*const jobs[3])(void *) = {deposit, withdraw, report};
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, jobs[i], NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
