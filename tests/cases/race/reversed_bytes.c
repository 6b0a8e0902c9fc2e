// check:
// flags: -O0
// verdict: bug
// finding: data-race line=20 line2=28
// check:
// flags: -O2
// verdict: bug
// finding: data-race line=20 line2=28

// Members whose bytes are stored in the order of another machine.
#include <pthread.h>

static struct __attribute__((scalar_storage_order("big-endian"))) {
    int before;
    int member;
} shared;

static void *set(void *arg)
{
    shared.member = 1;
    return NULL;
}

int main(void)
{
    pthread_t a;
    pthread_create(&a, NULL, set, NULL);
    volatile int value = shared.member;
    (void)value;
    pthread_join(a, NULL);
    return 0;
}
