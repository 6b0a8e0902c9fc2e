//! How many bytes the synchronising objects of glibc take. The runtime compares them with those of
//! the C library.

/// `pthread_mutex_t` on x86-64. On aarch64 it ends with eight bytes of padding more.
pub const MUTEX: u64 = 40;
/// `pthread_spinlock_t`
pub const SPIN_LOCK: u64 = 4;
/// `pthread_cond_t`
pub const COND: u64 = 48;
/// `pthread_rwlock_t`
pub const RWLOCK: u64 = 56;
/// `pthread_barrier_t`
pub const BARRIER: u64 = 32;
/// `sem_t`
pub const SEMAPHORE: u64 = 32;
/// `pthread_once_t`
pub const ONCE: u64 = 4;
