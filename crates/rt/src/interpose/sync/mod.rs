//! Synchronising objects: POSIX, atomics and futexes. ([`super::c11`] gives them their names in
//! C11.)

mod atomic_bytes;
pub mod atomics;
pub mod barrier;
pub mod cond;
pub mod futex;
pub mod mutex;
pub mod once;
pub mod rwlock;
pub mod sem;
pub mod sem_names;
pub mod spinlock;
