// prints: all ok

// Feature by feature, what C programs do with POSIX threads. Every section checks itself, whatever
// the schedule.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static struct timespec soon(long milliseconds)
{
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    time.tv_nsec += milliseconds * 1000000;
    time.tv_sec += time.tv_nsec / 1000000000;
    time.tv_nsec %= 1000000000;
    return time;
}

static void *echo(void *arg)
{
    return arg;
}

static void *leave(void *arg)
{
    pthread_exit((char *)arg + 1);
}

static sem_t gate;

static void *pass_gate(void *arg)
{
    sem_wait(&gate);
    return arg;
}

static void joining(void)
{
    pthread_t thread;
    void *result;
    struct timespec time;
    assert(!pthread_create(&thread, NULL, echo, (void *)5) && !pthread_join(thread, &result) && result == (void *)5);
    assert(!pthread_create(&thread, NULL, leave, (void *)5) && !pthread_join(thread, &result) && result == (void *)6);
    sem_init(&gate, 0, 0);
    assert(!pthread_create(&thread, NULL, pass_gate, (void *)7));
    assert(pthread_tryjoin_np(thread, &result) == EBUSY);
    time = soon(5);
    assert(pthread_timedjoin_np(thread, &result, &time) == ETIMEDOUT);
    time = soon(5);
    assert(pthread_clockjoin_np(thread, &result, CLOCK_REALTIME, &time) == ETIMEDOUT);
    sem_post(&gate);
    while (pthread_tryjoin_np(thread, &result) == EBUSY) {
        sched_yield();
    }
    assert(result == (void *)7);
    sem_destroy(&gate);
    assert(pthread_equal(pthread_self(), pthread_self()) && !pthread_equal(pthread_self(), thread));
}

static char own_stack[1 << 17] __attribute__((aligned(4096)));

static void *deep(void *arg)
{
    volatile char room[6 << 20];
    room[0] = 1;
    room[sizeof room - 1] = 2;
    return (void *)(intptr_t)(room[0] + room[sizeof room - 1]);
}

static void *on_own_stack(void *arg)
{
    char here;
    pthread_attr_t attr;
    void *low;
    size_t size;
    assert(!pthread_getattr_np(pthread_self(), &attr) && !pthread_attr_getstack(&attr, &low, &size));
    assert((char *)low <= &here && &here < (char *)low + size);
    pthread_attr_destroy(&attr);
    return (void *)(intptr_t)(own_stack <= &here && &here < own_stack + sizeof own_stack);
}

static sem_t detached_done;

static void *run_detached(void *arg)
{
    int state;
    pthread_attr_t attr;
    assert(!pthread_getattr_np(pthread_self(), &attr) && !pthread_attr_getdetachstate(&attr, &state));
    assert(state == PTHREAD_CREATE_DETACHED);
    sem_post(&detached_done);
    return NULL;
}

static void attributes(void)
{
    pthread_attr_t attr;
    pthread_t thread;
    void *result;
    pthread_attr_init(&attr);
    assert(!pthread_attr_setstacksize(&attr, 16 << 20));
    assert(!pthread_create(&thread, &attr, deep, NULL) && !pthread_join(thread, &result) && result == (void *)3);
    assert(!pthread_attr_setstack(&attr, own_stack, sizeof own_stack));
    assert(!pthread_create(&thread, &attr, on_own_stack, NULL) && !pthread_join(thread, &result) && result == (void *)1);
    assert(!pthread_create(&thread, NULL, on_own_stack, NULL) && !pthread_join(thread, &result) && result == (void *)0);
    pthread_attr_destroy(&attr);
    on_own_stack(NULL);
    sem_init(&detached_done, 0, 0);
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    assert(!pthread_create(&thread, &attr, run_detached, NULL));
    sem_wait(&detached_done);
    sem_destroy(&detached_done);
    pthread_attr_destroy(&attr);
}

static void *named(void *arg)
{
    char name[16];
    assert(!pthread_setname_np(pthread_self(), "worker"));
    assert(!pthread_getname_np(pthread_self(), name, sizeof name) && !strcmp(name, "worker"));
    assert(!prctl(PR_SET_NAME, "renamed") && !prctl(PR_GET_NAME, name) && !strcmp(name, "renamed"));
    assert(pthread_setname_np(pthread_self(), "a name that is much too long") == ERANGE);
    return (void *)(intptr_t)gettid();
}

static volatile sig_atomic_t caught;

static void on_signal(int signal)
{
    caught = signal;
}

static void identity(void)
{
    pthread_t thread;
    void *result;
    struct sigaction action = {.sa_handler = on_signal};
    sigset_t set, old;
    assert(!pthread_create(&thread, NULL, named, NULL) && !pthread_join(thread, &result));
    assert((intptr_t)result != gettid() && gettid() == getpid());
    assert(!sigaction(SIGUSR1, &action, NULL));
    assert(!pthread_kill(pthread_self(), 0) && !pthread_kill(pthread_self(), SIGUSR1) && caught == SIGUSR1);
    caught = 0;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    assert(!pthread_sigmask(SIG_BLOCK, &set, &old));
    raise(SIGUSR1);
    assert(!caught && !pthread_sigmask(SIG_SETMASK, &old, NULL) && caught == SIGUSR1);
}

static void *try_mutexes(void *arg)
{
    pthread_mutex_t *mutex = arg;
    struct timespec time = soon(5);
    int code = pthread_mutex_trylock(&mutex[0]);
    assert(code == EBUSY);
    code = pthread_mutex_timedlock(&mutex[0], &time);
    assert(code == ETIMEDOUT);
    time = soon(5);
    code = pthread_mutex_clocklock(&mutex[1], CLOCK_REALTIME, &time);
    assert(code == ETIMEDOUT);
    time.tv_nsec = 1000000000;
    assert(pthread_mutex_timedlock(&mutex[0], &time) == EINVAL);
    assert(pthread_mutex_unlock(&mutex[2]) == EPERM);
    return NULL;
}

static void mutexes(void)
{
    static const int kinds[4] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_ADAPTIVE_NP};
    pthread_mutex_t mutex[4];
    pthread_mutexattr_t attr;
    pthread_t thread;
    for (int i = 0; i < 4; i++) {
        pthread_mutexattr_init(&attr);
        pthread_mutexattr_settype(&attr, kinds[i]);
        assert(!pthread_mutex_init(&mutex[i], &attr) && !pthread_mutex_lock(&mutex[i]));
        pthread_mutexattr_destroy(&attr);
    }
    assert(pthread_mutex_trylock(&mutex[0]) == EBUSY);
    assert(!pthread_mutex_lock(&mutex[1]) && !pthread_mutex_trylock(&mutex[1]));
    assert(pthread_mutex_lock(&mutex[2]) == EDEADLK && pthread_mutex_trylock(&mutex[2]) == EBUSY);
    pthread_create(&thread, NULL, try_mutexes, mutex);
    pthread_join(thread, NULL);
    assert(!pthread_mutex_unlock(&mutex[1]) && !pthread_mutex_unlock(&mutex[1]));
    for (int i = 0; i < 4; i++) {
        assert(!pthread_mutex_unlock(&mutex[i]) && !pthread_mutex_destroy(&mutex[i]));
    }
}

static pthread_mutex_t robust;

static void *die_holding(void *arg)
{
    assert(!pthread_mutex_lock(&robust));
    return NULL;
}

static void robust_mutexes(void)
{
    pthread_mutexattr_t attr;
    pthread_t thread;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
    assert(!pthread_mutex_init(&robust, &attr));
    pthread_create(&thread, NULL, die_holding, NULL);
    pthread_join(thread, NULL);
    assert(pthread_mutex_lock(&robust) == EOWNERDEAD);
    assert(!pthread_mutex_consistent(&robust) && !pthread_mutex_unlock(&robust));
    pthread_create(&thread, NULL, die_holding, NULL);
    pthread_join(thread, NULL);
    assert(pthread_mutex_trylock(&robust) == EOWNERDEAD && !pthread_mutex_unlock(&robust));
    assert(pthread_mutex_lock(&robust) == ENOTRECOVERABLE);
    assert(!pthread_mutex_destroy(&robust));
}

static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;

static void *try_rwlock(void *arg)
{
    struct timespec time = soon(5);
    assert(!pthread_rwlock_tryrdlock(&rwlock) && !pthread_rwlock_unlock(&rwlock));
    assert(!pthread_rwlock_rdlock(&rwlock) && !pthread_rwlock_rdlock(&rwlock));
    assert(!pthread_rwlock_unlock(&rwlock) && !pthread_rwlock_unlock(&rwlock));
    assert(pthread_rwlock_trywrlock(&rwlock) == EBUSY);
    assert(pthread_rwlock_timedwrlock(&rwlock, &time) == ETIMEDOUT);
    time = soon(5);
    assert(pthread_rwlock_clockwrlock(&rwlock, CLOCK_REALTIME, &time) == ETIMEDOUT);
    return NULL;
}

static void *try_written(void *arg)
{
    struct timespec time = soon(5);
    assert(pthread_rwlock_tryrdlock(&rwlock) == EBUSY);
    assert(pthread_rwlock_timedrdlock(&rwlock, &time) == ETIMEDOUT);
    return NULL;
}

static void rwlocks(void)
{
    pthread_t thread;
    assert(!pthread_rwlock_rdlock(&rwlock));
    pthread_create(&thread, NULL, try_rwlock, NULL);
    pthread_join(thread, NULL);
    assert(!pthread_rwlock_unlock(&rwlock) && !pthread_rwlock_wrlock(&rwlock));
    assert(pthread_rwlock_wrlock(&rwlock) == EDEADLK && pthread_rwlock_rdlock(&rwlock) == EDEADLK);
    pthread_create(&thread, NULL, try_written, NULL);
    pthread_join(thread, NULL);
    assert(!pthread_rwlock_unlock(&rwlock) && !pthread_rwlock_destroy(&rwlock));
}

static pthread_spinlock_t spin;
static int spun;

static void *spin_once(void *arg)
{
    assert(!pthread_spin_lock(&spin));
    spun++;
    assert(pthread_spin_trylock(&spin) == EBUSY && !pthread_spin_unlock(&spin));
    return NULL;
}

static pthread_barrier_t barrier;
static int serial;

static void *meet(void *arg)
{
    for (int i = 0; i < 2; i++) {
        if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD) {
            __atomic_fetch_add(&serial, 1, __ATOMIC_SEQ_CST);
        }
    }
    return NULL;
}

static void spinning_and_meeting(void)
{
    pthread_t thread[2];
    pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
    assert(!pthread_barrier_init(&barrier, NULL, 3));
    for (int i = 0; i < 2; i++) {
        pthread_create(&thread[i], NULL, spin_once, NULL);
    }
    spin_once(NULL);
    for (int i = 0; i < 2; i++) {
        pthread_join(thread[i], NULL);
        pthread_create(&thread[i], NULL, meet, NULL);
    }
    meet(NULL);
    for (int i = 0; i < 2; i++) {
        pthread_join(thread[i], NULL);
    }
    assert(spun == 3 && serial == 2);
    assert(!pthread_spin_destroy(&spin) && !pthread_barrier_destroy(&barrier));
}

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER, emptied;
static int items;

static void *produce(void *arg)
{
    for (int i = 0; i < 2; i++) {
        pthread_mutex_lock(&guard);
        while (items == 1) {
            pthread_cond_wait(&emptied, &guard);
        }
        items++;
        pthread_cond_signal(&ready);
        pthread_mutex_unlock(&guard);
    }
    return NULL;
}

static void conditions(void)
{
    pthread_t thread;
    pthread_condattr_t attr;
    struct timespec time;
    pthread_condattr_init(&attr);
    assert(!pthread_condattr_setclock(&attr, CLOCK_MONOTONIC) && !pthread_cond_init(&emptied, &attr));
    pthread_condattr_destroy(&attr);
    pthread_create(&thread, NULL, produce, NULL);
    for (int i = 0; i < 2; i++) {
        pthread_mutex_lock(&guard);
        while (items == 0) {
            pthread_cond_wait(&ready, &guard);
        }
        items--;
        pthread_cond_broadcast(&emptied);
        pthread_mutex_unlock(&guard);
    }
    pthread_join(thread, NULL);
    pthread_mutex_lock(&guard);
    time = soon(5);
    assert(pthread_cond_timedwait(&ready, &guard, &time) == ETIMEDOUT);
    clock_gettime(CLOCK_MONOTONIC, &time);
    assert(pthread_cond_clockwait(&ready, &guard, CLOCK_MONOTONIC, &time) == ETIMEDOUT);
    time.tv_nsec = -1;
    assert(pthread_cond_timedwait(&ready, &guard, &time) == EINVAL);
    pthread_mutex_unlock(&guard);
    assert(!pthread_cond_destroy(&emptied));
}

static void semaphores(void)
{
    sem_t sem, *first, *second;
    struct timespec time = soon(5);
    int value;
    assert(!sem_init(&sem, 0, 1) && !sem_wait(&sem));
    errno = 0;
    assert(sem_trywait(&sem) == -1 && errno == EAGAIN);
    assert(sem_timedwait(&sem, &time) == -1 && errno == ETIMEDOUT);
    time = soon(5);
    assert(sem_clockwait(&sem, CLOCK_REALTIME, &time) == -1 && errno == ETIMEDOUT);
    assert(!sem_post(&sem) && !sem_post(&sem) && !sem_getvalue(&sem, &value) && value == 2);
    assert(!sem_destroy(&sem));
    // Names are the machine's, where other builds of this program may be running.
    char name[128];
    snprintf(name, sizeof name, "/raddle-engine-%s", program_invocation_short_name);
    assert(sem_open(name, 0) == SEM_FAILED && errno == ENOENT);
    first = sem_open(name, O_CREAT | O_EXCL, 0600, 1);
    second = sem_open(name, O_CREAT, 0600, 9);
    assert(first != SEM_FAILED && second == first);
    assert(sem_open(name, O_CREAT | O_EXCL, 0600, 1) == SEM_FAILED && errno == EEXIST);
    assert(!sem_wait(second) && sem_trywait(first) == -1 && !sem_post(first));
    assert(!sem_close(first) && !sem_unlink(name) && sem_unlink(name) == -1 && !sem_close(second));
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int initialised;

static void initialise(void)
{
    initialised++;
}

static void *use_once(void *arg)
{
    assert(!pthread_once(&once, initialise));
    return (void *)(intptr_t)initialised;
}

static pthread_key_t key, chained;
static int destructed;

static void destruct(void *value)
{
    __atomic_fetch_add(&destructed, (int)(intptr_t)value, __ATOMIC_SEQ_CST);
    if (value == (void *)1) {
        pthread_setspecific(chained, (void *)100);
    }
}

static void *use_keys(void *arg)
{
    assert(!pthread_getspecific(key) && !pthread_setspecific(key, arg) && pthread_getspecific(key) == arg);
    return NULL;
}

static void once_and_keys(void)
{
    pthread_t thread[2];
    void *result;
    pthread_key_t many[200];
    assert(!pthread_key_create(&key, destruct) && !pthread_key_create(&chained, destruct));
    for (int i = 0; i < 2; i++) {
        pthread_create(&thread[i], NULL, use_once, NULL);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(thread[i], &result);
        assert(result == (void *)1);
        pthread_create(&thread[i], NULL, use_keys, (void *)(intptr_t)(i + 1));
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(thread[i], NULL);
    }
    assert(destructed == 103 && !pthread_getspecific(key));
    assert(!pthread_key_delete(key) && pthread_setspecific(key, &key) == EINVAL && !pthread_key_delete(chained));
    for (int i = 0; i < 200; i++) {
        assert(!pthread_key_create(&many[i], NULL) && !pthread_setspecific(many[i], &many[i]));
    }
    for (int i = 0; i < 200; i++) {
        assert(pthread_getspecific(many[i]) == &many[i] && !pthread_key_delete(many[i]));
    }
}

static int cleaned[8], clean_count;

static void clean(void *arg)
{
    cleaned[clean_count++] = (int)(intptr_t)arg;
}

static void unlock_guard(void *arg)
{
    pthread_mutex_unlock(arg);
}

static void *exit_inside(void *arg)
{
    pthread_cleanup_push(clean, (void *)1);
    pthread_cleanup_push(clean, (void *)2);
    pthread_cleanup_push(clean, (void *)3);
    pthread_cleanup_pop(1);
    pthread_exit((void *)9);
    pthread_cleanup_pop(0);
    pthread_cleanup_pop(0);
    return NULL;
}

static void cleanup_handlers(void)
{
    pthread_t thread;
    void *result;
    pthread_create(&thread, NULL, exit_inside, NULL);
    pthread_join(thread, &result);
    assert(result == (void *)9 && clean_count == 3 && cleaned[0] == 3 && cleaned[1] == 2 && cleaned[2] == 1);
}

static void *wait_to_be_cancelled(void *arg)
{
    switch ((intptr_t)arg) {
    case 0:
        pthread_mutex_lock(&guard);
        pthread_cleanup_push(unlock_guard, &guard);
        for (;;) {
            pthread_cond_wait(&ready, &guard);
        }
        pthread_cleanup_pop(1);
        break;
    case 1:
        sem_wait(&gate);
        break;
    case 2:
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
        sleep(1);
        pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
        for (;;) {
            pthread_testcancel();
            sched_yield();
        }
    default:
        for (;;) {
            sleep(100);
        }
    }
    return NULL;
}

static void cancelling(void)
{
    sem_init(&gate, 0, 0);
    for (intptr_t i = 0; i < 4; i++) {
        pthread_t thread;
        void *result;
        pthread_create(&thread, NULL, wait_to_be_cancelled, (void *)i);
        assert(!pthread_cancel(thread) && !pthread_join(thread, &result) && result == PTHREAD_CANCELED);
    }
    assert(!pthread_mutex_lock(&guard) && !pthread_mutex_unlock(&guard));
    sem_destroy(&gate);
}

static void times(void)
{
    struct timespec before, after, span = {0, 2000000};
    struct timeval day, timeout = {0, 2000};
    clock_gettime(CLOCK_MONOTONIC, &before);
    assert(!nanosleep(&span, NULL) && !usleep(2000) && !poll(NULL, 0, 2) && !select(0, NULL, NULL, NULL, &timeout));
    assert(!clock_nanosleep(CLOCK_MONOTONIC, 0, &span, NULL));
    clock_gettime(CLOCK_MONOTONIC, &after);
    assert((after.tv_sec - before.tv_sec) * 1000000000L + after.tv_nsec - before.tv_nsec >= 10000000);
    after.tv_sec -= 1;
    assert(!clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &after, NULL));
    span.tv_nsec = 1000000000;
    assert(nanosleep(&span, NULL) == -1 && errno == EINVAL);
    time_t now = time(NULL);
    assert(!gettimeofday(&day, NULL) && day.tv_sec >= now && day.tv_sec <= time(NULL) + 1 && clock() >= 0);
}

// One after the other, far more threads than run at once.
static void many(void)
{
    for (intptr_t i = 0; i < 60; i++) {
        pthread_t thread;
        void *result;
        assert(!pthread_create(&thread, NULL, echo, (void *)i) && !pthread_join(thread, &result) && result == (void *)i);
    }
}

int main(void)
{
    joining();
    attributes();
    identity();
    mutexes();
    robust_mutexes();
    rwlocks();
    spinning_and_meeting();
    conditions();
    semaphores();
    once_and_keys();
    cleanup_handlers();
    cancelling();
    times();
    many();
    puts("all ok");
    return 0;
}
