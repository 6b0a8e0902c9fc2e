// prints: all ok

// All of <threads.h>.
#include <assert.h>
#include <stdatomic.h>
#include <stdio.h>
#include <threads.h>
#include <time.h>

static mtx_t plain, recursive, timed;
static cnd_t changed;
static once_flag once = ONCE_FLAG_INIT;
static tss_t key;
static int value, calls;
static atomic_int destructed;
static thread_local int local = 3;

static void count_call(void)
{
    calls++;
}

static void destruct(void *arg)
{
    atomic_fetch_add(&destructed, *(int *)arg);
}

static struct timespec soon(void)
{
    struct timespec time;
    assert(timespec_get(&time, TIME_UTC) == TIME_UTC);
    time.tv_nsec += 5000000;
    time.tv_sec += time.tv_nsec / 1000000000;
    time.tv_nsec %= 1000000000;
    return time;
}

static int work(void *arg)
{
    static int weight = 5;
    struct timespec time = soon();
    call_once(&once, count_call);
    assert(tss_get(key) == NULL && tss_set(key, &weight) == thrd_success && tss_get(key) == &weight);
    assert(local++ == 3);
    assert(mtx_lock(&plain) == thrd_success);
    value++;
    assert(cnd_signal(&changed) == thrd_success);
    assert(mtx_unlock(&plain) == thrd_success);
    assert(mtx_trylock(&recursive) == thrd_busy);
    assert(mtx_timedlock(&timed, &time) == thrd_timedout);
    thrd_yield();
    if (arg) {
        thrd_exit(8);
    }
    return 7;
}

static int wait_for_all(void *arg)
{
    mtx_lock(&plain);
    while (value < 3) {
        cnd_wait(&changed, &plain);
    }
    mtx_unlock(&plain);
    return 0;
}

int main(void)
{
    thrd_t thread[2], waiter;
    int result;
    struct timespec span = {0, 1000000}, time;
    assert(mtx_init(&plain, mtx_plain) == thrd_success && mtx_init(&timed, mtx_timed) == thrd_success);
    assert(mtx_init(&recursive, mtx_plain | mtx_recursive) == thrd_success);
    assert(cnd_init(&changed) == thrd_success && tss_create(&key, destruct) == thrd_success);
    assert(mtx_lock(&recursive) == thrd_success && mtx_lock(&recursive) == thrd_success && mtx_lock(&timed) == thrd_success);
    assert(thrd_create(&waiter, wait_for_all, NULL) == thrd_success);
    assert(thrd_create(&thread[0], work, NULL) == thrd_success);
    assert(thrd_create(&thread[1], work, &value) == thrd_success);
    assert(!thrd_equal(thrd_current(), thread[0]) && thrd_equal(thread[1], thread[1]));
    call_once(&once, count_call);
    assert(thrd_join(thread[0], &result) == thrd_success && result == 7);
    assert(thrd_join(thread[1], &result) == thrd_success && result == 8);
    mtx_lock(&plain);
    value++;
    time = soon();
    assert(cnd_broadcast(&changed) == thrd_success);
    while (cnd_timedwait(&changed, &plain, &time) != thrd_timedout) {
    }
    mtx_unlock(&plain);
    assert(thrd_join(waiter, NULL) == thrd_success);
    assert(calls == 1 && value == 3 && destructed == 10 && local == 3);
    assert(thrd_sleep(&span, NULL) == 0);
    mtx_unlock(&recursive);
    mtx_unlock(&recursive);
    mtx_unlock(&timed);
    mtx_destroy(&plain);
    mtx_destroy(&recursive);
    mtx_destroy(&timed);
    cnd_destroy(&changed);
    tss_delete(key);
    puts("all ok");
    return 0;
}
