// prints: all ok

// The system call below everything else.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static atomic_int word, other, arrived, turn;

static long futex(atomic_int *address, int operation, int value, void *time, atomic_int *second, int third)
{
    return syscall(SYS_futex, address, operation, value, time, second, third);
}

static void *wait_bitset(void *arg)
{
    atomic_fetch_add(&arrived, 1);
    while (atomic_load(&word) == 0) {
        futex(&word, FUTEX_WAIT_BITSET_PRIVATE, 0, NULL, NULL, FUTEX_BITSET_MATCH_ANY);
    }
    return NULL;
}

// A mutex of three states.
static atomic_int lock;
static int counter;

static void *count(void *arg)
{
    for (int i = 0; i < 2; i++) {
        int seen = 0;
        if (!atomic_compare_exchange_strong(&lock, &seen, 1)) {
            while (atomic_exchange(&lock, 2) != 0) {
                futex(&lock, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
            }
        }
        counter++;
        if (atomic_exchange(&lock, 0) == 2) {
            futex(&lock, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
        }
    }
    return NULL;
}

static void *wait_turn(void *arg)
{
    while (atomic_load(&turn) == 0) {
        futex(&turn, FUTEX_WAIT, 0, NULL, NULL, 0);
    }
    while (atomic_load(&other) == 0) {
        futex(&other, FUTEX_WAIT, 0, NULL, NULL, 0);
    }
    return NULL;
}

int main(void)
{
    pthread_t thread[2];
    struct timespec span = {0, 2000000}, time;
    assert(futex(&word, FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0) == -1 && errno == EAGAIN);
    assert(futex(&word, FUTEX_WAIT_PRIVATE, 0, &span, NULL, 0) == -1 && errno == ETIMEDOUT);
    clock_gettime(CLOCK_MONOTONIC, &time);
    assert(futex(&word, FUTEX_WAIT_BITSET_PRIVATE, 0, &time, NULL, FUTEX_BITSET_MATCH_ANY) == -1 && errno == ETIMEDOUT);
    assert(futex(&word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0) == 0);
    for (int i = 0; i < 2; i++) {
        pthread_create(&thread[i], NULL, wait_bitset, NULL);
    }
    atomic_store(&word, 1);
    assert(futex(&word, FUTEX_WAKE_BITSET_PRIVATE, INT_MAX, NULL, NULL, FUTEX_BITSET_MATCH_ANY) <= 2);
    for (int i = 0; i < 2; i++) {
        pthread_join(thread[i], NULL);
        pthread_create(&thread[i], NULL, count, NULL);
    }
    count(NULL);
    for (int i = 0; i < 2; i++) {
        pthread_join(thread[i], NULL);
    }
    assert(counter == 6 && arrived == 2);
    for (int i = 0; i < 2; i++) {
        pthread_create(&thread[i], NULL, wait_turn, NULL);
    }
    atomic_store(&turn, 1);
    futex(&turn, FUTEX_CMP_REQUEUE, 1, (void *)(long)INT_MAX, &other, 1);
    atomic_store(&other, 1);
    futex(&other, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    for (int i = 0; i < 2; i++) {
        pthread_join(thread[i], NULL);
    }
    assert(futex(&turn, FUTEX_CMP_REQUEUE, 1, (void *)1, &other, 7) == -1 && errno == EAGAIN);
    assert(syscall(SYS_getpid) == getpid() && syscall(SYS_gettid) == gettid());
    assert(!syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &time) && syscall(SYS_close, -1) == -1 && errno == EBADF);
    puts("all ok");
    return 0;
}
