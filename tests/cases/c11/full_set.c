// check: --self-check 1
// verdict: verified

// The rest of threads.h: identities, exit values, keys with destructors, yielding, sleeping, every
// kind of mutex.
#include <assert.h>
#include <threads.h>
#include <time.h>

static tss_t key;
static _Atomic int destroyed;
static void destroy(void *value) { destroyed += *(int *)value; }

static int work(void *own)
{
    tss_set(key, own);
    assert(tss_get(key) == own && thrd_equal(thrd_current(), thrd_current()));
    thrd_yield();
    thrd_sleep(&(struct timespec){0, 1000}, NULL);
    thrd_exit(*(int *)own);
}

int main(void)
{
    thrd_t thread[2];
    int number[2] = {3, 4}, result = 0;
    assert(tss_create(&key, destroy) == thrd_success);
    for (int i = 0; i < 2; i++)
        assert(thrd_create(&thread[i], work, &number[i]) == thrd_success);
    assert(!thrd_equal(thread[0], thread[1]) && !thrd_equal(thread[0], thrd_current()));
    for (int i = 0; i < 2; i++)
        assert(thrd_join(thread[i], &result) == thrd_success && result == number[i]);
    assert(destroyed == 7 && tss_get(key) == NULL);
    tss_delete(key);
    for (int kind = mtx_plain; kind <= (mtx_timed | mtx_recursive); kind++) {
        mtx_t mutex;
        if (mtx_init(&mutex, kind) != thrd_success)
            continue;
        struct timespec soon;
        timespec_get(&soon, TIME_UTC);
        assert(mtx_lock(&mutex) == thrd_success);
        assert(mtx_trylock(&mutex) == (kind & mtx_recursive ? thrd_success : thrd_busy));
        if (kind & mtx_recursive)
            assert(mtx_unlock(&mutex) == thrd_success);
        if (kind == mtx_timed)
            assert(mtx_timedlock(&mutex, &soon) == thrd_timedout);
        assert(mtx_unlock(&mutex) == thrd_success);
        mtx_destroy(&mutex);
    }
    return 0;
}
