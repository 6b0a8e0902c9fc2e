//! Thread-specific data. Main's keys are numbered from 0. The number of a key that another thread
//! creates follows from the thread and how many keys it has created before, so numbers do not
//! depend on the order of threads.

use raddle_vocab::policy::{MAX_THREADS, mix};

use crate::arch::entry::export;
use crate::interpose::process::couriers;
use crate::state::{controlled, keys, run};
use crate::syscall::libc_real::real;

/// Keys that exist at once, at most: what POSIX programs may count on, several times over.
pub const MAX_KEYS: usize = 1024;
/// How often destructors run at the end of a thread, at most.
const ROUNDS: usize = 4;

/// Keys and values.
pub struct Keys {
    /// How often each key was created and deleted: odd while it exists. A value is valid only in
    /// the generation in which it was set.
    generations: [u32; MAX_KEYS],
    destructors: [usize; MAX_KEYS],
    /// Value and generation, by thread and key.
    values: [[(usize, u32); MAX_KEYS]; MAX_THREADS],
    /// Whether any value was ever set, by thread.
    used: [bool; MAX_THREADS],
}

impl Keys {
    /// No key exists.
    pub const fn new() -> Self {
        Keys {
            generations: [0; MAX_KEYS],
            destructors: [0; MAX_KEYS],
            values: [[(0, 0); MAX_KEYS]; MAX_THREADS],
            used: [false; MAX_THREADS],
        }
    }

    /// Whether the thread has ever set a value.
    pub fn is_used(&self, tid: usize) -> bool {
        self.used[tid]
    }

    /// Calls the function for each value of a thread.
    pub fn each_value(&self, tid: usize, mut call: impl FnMut(usize)) {
        if self.used[tid] {
            for (key, &(value, generation)) in self.values[tid].iter().enumerate() {
                if self.exists(key) && generation == self.generations[key] {
                    call(value);
                }
            }
        }
    }

    fn exists(&self, key: usize) -> bool {
        key < MAX_KEYS && self.generations[key] % 2 == 1
    }
}

real! { hidden:
    fn pthread_key_create(key: *mut u32, destructor: usize) -> i32;
    fn pthread_key_delete(key: u32) -> i32;
    fn pthread_setspecific(key: u32, value: usize) -> i32;
    fn pthread_getspecific(key: u32) -> usize;
}

/// `pthread_key_create` and its C11 form.
pub extern "C" fn create(key: *mut u32, destructor: usize, pc: u64) -> i32 {
    crate::interpose::buffers::writes(key as usize, size_of::<u32>(), pc);
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::pthread_key_create(key, destructor) };
    }
    let run = run();
    let me = run.me();
    let nth = me.private.keys;
    me.private.keys += 1;
    let first = if run.hot.tid == 0 { nth as usize } else { mix(run.me().key ^ u64::from(nth)) as usize };
    let keys = keys();
    let free = (0..MAX_KEYS).map(|step| first.wrapping_add(step) % MAX_KEYS).find(|&key| !keys.exists(key));
    let Some(free) = free else { return libc::EAGAIN };
    keys.generations[free] += 1;
    keys.destructors[free] = destructor;
    // SAFETY: the caller passes room for the key.
    unsafe { *key = free as u32 };
    0
}

/// `pthread_key_delete` and its C11 form.
pub extern "C" fn delete(key: u32, _pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::pthread_key_delete(key) };
    }
    let keys = keys();
    if !keys.exists(key as usize) {
        return libc::EINVAL;
    }
    keys.generations[key as usize] += 1;
    0
}

/// `pthread_setspecific` and its C11 form.
pub extern "C" fn set(key: u32, value: usize, _pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::pthread_setspecific(key, value) };
    }
    let tid = couriers::self_id() as usize;
    let (keys, key) = (keys(), key as usize);
    if !keys.exists(key) {
        return libc::EINVAL;
    }
    keys.values[tid][key] = (value, keys.generations[key]);
    keys.used[tid] = true;
    0
}

/// `pthread_getspecific` and its C11 form.
pub extern "C" fn get(key: u32, _pc: u64) -> usize {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::pthread_getspecific(key) };
    }
    let (keys, key) = (keys(), key as usize);
    if !keys.exists(key) {
        return 0;
    }
    match keys.values[couriers::self_id() as usize][key] {
        (value, generation) if generation == keys.generations[key] => value,
        _ => 0,
    }
}

/// Runs the destructors of the values of the running thread, which is ending.
pub fn run_destructors() {
    let tid = run().hot.tid as usize;
    if !keys().used[tid] {
        return;
    }
    for _ in 0..ROUNDS {
        let mut called = false;
        for key in 0..MAX_KEYS {
            let keys = keys();
            let (value, generation) = core::mem::take(&mut keys.values[tid][key]);
            let destructor = keys.destructors[key];
            if value == 0 || destructor == 0 || !keys.exists(key) || generation != keys.generations[key] {
                continue;
            }
            called = true;
            // SAFETY: the program gave the destructor for values of this key.
            unsafe {
                let destructor: unsafe extern "C-unwind" fn(usize) = core::mem::transmute(destructor);
                destructor(value);
            }
        }
        if !called {
            return;
        }
    }
}

export!(pthread_key_create, 2 => create);
export!(pthread_key_delete, 1 => delete);
export!(pthread_setspecific, 2 => set);
export!(pthread_getspecific, 1 => get);
