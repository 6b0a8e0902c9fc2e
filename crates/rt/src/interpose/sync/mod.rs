//! Synchronising objects: POSIX, atomics and futexes. ([`super::c11`] gives them their names in
//! C11.)

mod atomic_bytes;
pub mod atomics;
pub mod barrier;
pub mod cond;
pub mod futex;
pub mod histories;
pub mod mutex;
pub mod once;
pub mod rwlock;
pub mod sem;
pub mod sem_names;
pub mod spinlock;

/// The host knows how many bytes the objects take.
const _: () = {
    use crate::arch::MUTEX_PADDING;
    use raddle_vocab::extent;
    assert!(size_of::<libc::pthread_mutex_t>() as u64 == extent::MUTEX + MUTEX_PADDING);
    assert!(size_of::<libc::pthread_spinlock_t>() as u64 == extent::SPIN_LOCK);
    assert!(size_of::<libc::pthread_cond_t>() as u64 == extent::COND);
    assert!(size_of::<libc::pthread_rwlock_t>() as u64 == extent::RWLOCK);
    assert!(size_of::<libc::pthread_barrier_t>() as u64 == extent::BARRIER);
    assert!(size_of::<libc::sem_t>() as u64 == extent::SEMAPHORE);
    assert!(size_of::<libc::c_int>() as u64 == extent::ONCE);
};
