// compilers: gcc clang
// check:
// verdict: verified
// check:
// flags: -DTWICE
// verdict: bug
// finding: misuse detail=lock-not-free var=lock line=53
// check:
// flags: -DREAD
// verdict: bug
// finding: misuse detail=lock-not-free var=lock line=55
// check:
// flags: -DUNLOCKED
// verdict: bug
// finding: misuse detail=unlock-not-locked var=lock line=57
// check:
// flags: -DOTHER
// verdict: bug
// finding: misuse detail=unlock-not-owner var=lock line=59
// check:
// flags: -DDESTROYED
// verdict: bug
// finding: misuse detail=destroy-locked var=lock line=61

// A lock of the program's own, which it announces: what the announcements say has to fit together.
#include <pthread.h>
#include <stdatomic.h>

void AnnotateRWLockCreate(const char *file, int line, void *lock);
void AnnotateRWLockCreateStatic(const char *file, int line, void *lock);
void AnnotateRWLockAcquired(const char *file, int line, void *lock, long writes);
void AnnotateRWLockReleased(const char *file, int line, void *lock, long writes);
void AnnotateRWLockDestroy(const char *file, int line, void *lock);

static atomic_int lock;
static int guarded, used_always;

static void *worker(void *arg)
{
    while (atomic_exchange(&lock, 1))
        ;
    AnnotateRWLockAcquired(__FILE__, __LINE__, &lock, 1);
    guarded++;
    AnnotateRWLockReleased(__FILE__, __LINE__, &lock, 1);
    atomic_store(&lock, 0);
    return arg;
}

/* Main holds the lock meanwhile, except in one variant. */
static void *wrong(void *arg)
{
#ifdef TWICE
    AnnotateRWLockAcquired(__FILE__, __LINE__, &lock, 1);
#elif defined READ
    AnnotateRWLockAcquired(__FILE__, __LINE__, &lock, 0);
#elif defined UNLOCKED
    AnnotateRWLockReleased(__FILE__, __LINE__, &lock, 1);
#elif defined OTHER
    AnnotateRWLockReleased(__FILE__, __LINE__, &lock, 1);
#elif defined DESTROYED
    AnnotateRWLockDestroy(__FILE__, __LINE__, &lock);
#endif
    return arg;
}

int main(void)
{
    pthread_t t;
    /* A static lock is in use before its constructor and behind its destructor. */
    AnnotateRWLockAcquired(__FILE__, __LINE__, &used_always, 1);
    AnnotateRWLockCreateStatic(__FILE__, __LINE__, &used_always);
    AnnotateRWLockReleased(__FILE__, __LINE__, &used_always, 1);
    AnnotateRWLockAcquired(__FILE__, __LINE__, &used_always, 1);
    AnnotateRWLockDestroy(__FILE__, __LINE__, &used_always);
    AnnotateRWLockReleased(__FILE__, __LINE__, &used_always, 1);
    AnnotateRWLockCreate(__FILE__, __LINE__, &lock);
    pthread_create(&t, NULL, worker, NULL);
    worker(NULL);
    pthread_join(t, NULL);
#ifndef UNLOCKED
    AnnotateRWLockAcquired(__FILE__, __LINE__, &lock, 1);
#endif
    pthread_create(&t, NULL, wrong, NULL);
    pthread_join(t, NULL);
#if !defined UNLOCKED && !defined OTHER && !defined TWICE && !defined DESTROYED
    AnnotateRWLockReleased(__FILE__, __LINE__, &lock, 1);
#endif
#if !defined READ && !defined TWICE && !defined DESTROYED
    AnnotateRWLockDestroy(__FILE__, __LINE__, &lock);
#endif
    return 0;
}
