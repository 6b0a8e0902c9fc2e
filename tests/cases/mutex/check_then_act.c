// check:
// verdict: bug
// finding: assertion detail=assert line=33

// Every access is protected, but check and act are two critical sections: the balance can go below
// zero. No race.
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int balance = 100;

static void *withdraw(void *arg)
{
    pthread_mutex_lock(&m);
    int enough = balance >= 80;
    pthread_mutex_unlock(&m);
    if (enough) {
        pthread_mutex_lock(&m);
        balance -= 80;
        pthread_mutex_unlock(&m);
    }
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, withdraw, NULL);
    pthread_create(&b, NULL, withdraw, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(balance >= 0);
    return 0;
}
