// compilers: gcc clang
// check:
// verdict: bug
// finding: data-race var=account.balance detail=write-write line=18 line2=24

// The race is on one field; the neighbours are written by one thread each.
#include <pthread.h>

struct {
    int id;
    long balance;
    int flags;
} account;

static void *one(void *arg)
{
    account.id = 1;
    account.balance = 100;
    return NULL;
}

static void *two(void *arg)
{
    account.balance = 200;
    account.flags = 2;
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, one, NULL);
    pthread_create(&b, NULL, two, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
