// compilers: gcc clang
// check:
// verdict: verified

// Every read-modify-write, against one writer; whatever the order, the result is one of the
// sequential ones.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

atomic_uint u = 12;
atomic_bool b;
atomic_flag f = ATOMIC_FLAG_INIT;

static void *operate(void *arg)
{
    unsigned old = atomic_fetch_or(&u, 1);
    assert((old & ~1u) == 12);
    atomic_fetch_and(&u, ~4u);
    atomic_fetch_xor(&u, 2);
    atomic_fetch_sub(&u, 1);
    bool was = atomic_exchange(&b, true);
    assert(!was);
    assert(!atomic_flag_test_and_set(&f));
    atomic_flag_clear(&f);
    return NULL;
}

static void *look(void *arg)
{
    unsigned v = atomic_load(&u);
    assert(v == 12 || v == 13 || v == 9 || v == 11 || v == 10);
    return NULL;
}

int main(void)
{
    pthread_t a, c;
    pthread_create(&a, NULL, operate, NULL);
    pthread_create(&c, NULL, look, NULL);
    pthread_join(a, NULL);
    pthread_join(c, NULL);
    assert(atomic_load(&u) == 10);
    return 0;
}
