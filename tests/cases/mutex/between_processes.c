// compilers: gcc clang
// check:
// verdict: verified
// check:
// flags: -DUNORDERED
// verdict: bug
// finding: data-race line=53 line2=74

// Objects that processes may share are ordinary ones as long as no other process has their memory: here it is
// a mapping without a file, and there is no child.
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>

static struct shared {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    pthread_rwlock_t rwlock;
    pthread_barrier_t barrier;
    pthread_spinlock_t spinlock;
    sem_t sem;
    int ready, value;
} *shared;

static void initialise(void)
{
    pthread_mutexattr_t mutex;
    pthread_condattr_t cond;
    pthread_rwlockattr_t rwlock;
    pthread_barrierattr_t barrier;
    pthread_mutexattr_init(&mutex);
    pthread_condattr_init(&cond);
    pthread_rwlockattr_init(&rwlock);
    pthread_barrierattr_init(&barrier);
    pthread_mutexattr_setpshared(&mutex, PTHREAD_PROCESS_SHARED);
    pthread_condattr_setpshared(&cond, PTHREAD_PROCESS_SHARED);
    pthread_rwlockattr_setpshared(&rwlock, PTHREAD_PROCESS_SHARED);
    pthread_barrierattr_setpshared(&barrier, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&shared->mutex, &mutex);
    pthread_cond_init(&shared->cond, &cond);
    pthread_rwlock_init(&shared->rwlock, &rwlock);
    pthread_barrier_init(&shared->barrier, &barrier, 2);
    pthread_spin_init(&shared->spinlock, PTHREAD_PROCESS_SHARED);
    sem_init(&shared->sem, 1, 0);
}

static void *thread(void *arg)
{
#ifndef UNORDERED
    pthread_rwlock_wrlock(&shared->rwlock);
#endif
    shared->value = 1;
#ifndef UNORDERED
    pthread_rwlock_unlock(&shared->rwlock);
#endif
    pthread_mutex_lock(&shared->mutex);
    shared->ready = 1;
    pthread_cond_signal(&shared->cond);
    pthread_mutex_unlock(&shared->mutex);
    sem_post(&shared->sem);
    pthread_barrier_wait(&shared->barrier);
    return arg;
}

int main(void)
{
    pthread_t created;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert(shared != MAP_FAILED);
    initialise();
    pthread_create(&created, NULL, thread, NULL);
    pthread_rwlock_wrlock(&shared->rwlock);
    shared->value = 2;
    pthread_rwlock_unlock(&shared->rwlock);
    pthread_mutex_lock(&shared->mutex);
    while (!shared->ready)
        pthread_cond_wait(&shared->cond, &shared->mutex);
    pthread_mutex_unlock(&shared->mutex);
    pthread_spin_lock(&shared->spinlock);
    pthread_spin_unlock(&shared->spinlock);
    sem_wait(&shared->sem);
    pthread_barrier_wait(&shared->barrier);
    pthread_join(created, NULL);
    pthread_mutex_destroy(&shared->mutex);
    pthread_cond_destroy(&shared->cond);
    pthread_rwlock_destroy(&shared->rwlock);
    pthread_barrier_destroy(&shared->barrier);
    pthread_spin_destroy(&shared->spinlock);
    sem_destroy(&shared->sem);
    munmap(shared, sizeof *shared);
    return 0;
}
