//! `flockfile` and its kin: each stream has a recursive lock. The C library's own lock of a stream
//! would stop all threads of the program, so it is never taken by these functions. A recursive
//! mutex of the runtime stands for it.
//!
//! Functions that use a stream take its lock for their own duration. Each use is one transition, so
//! that makes a difference only where a thread holds the lock for longer: in programs that import a
//! function that takes it, and while a call waits for a pipe in the middle. There a call takes the
//! lock before it uses the stream. The call itself comes behind its last transition, so the lock is
//! released when the thread arrives at its next operation. Until then others find it held, as they
//! may while the call lasts.
//!
//! Functions that leave the lock to their caller (`putc_unlocked`) use the stream without it.
//! Beside them every use counts as an access to the stream, so a use that nothing orders with them
//! is a race.

use core::ffi::c_void;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

use raddle_wire::limit;

use crate::arch::entry::export;
use crate::interpose::io::streams;
use crate::interpose::process::couriers;
use crate::interpose::sync::mutex;
use crate::sched::controller::name_limit;
use crate::state::{controlled, run};
use crate::syscall::libc_real::real;

real! { hidden:
    fn flockfile(stream: *mut c_void);
    fn ftrylockfile(stream: *mut c_void) -> i32;
    fn funlockfile(stream: *mut c_void);
}

/// Functions that take the lock of a stream for longer than a call, or make calls run the program's
/// own code with it.
const LOCKING: [&[u8]; 8] = [
    b"flockfile",
    b"ftrylockfile",
    b"_IO_flockfile",
    b"_IO_ftrylockfile",
    b"fopencookie",
    b"register_printf_specifier",
    b"register_printf_function",
    b"register_printf_modifier",
];
/// What the macros of functions that do not take it call, and the end of the names of these
/// functions.
const FROM_MACROS: [&[u8]; 6] =
    [b"__overflow", b"__uflow", b"__underflow", b"__woverflow", b"__wuflow", b"__wunderflow"];
const UNLOCKED: &[u8] = b"_unlocked";
/// Others that do not take it.
const ASKING: [&[u8]; 3] = [b"__fpending", b"__fbufsize", b"__fsetlocking"];

/// Who takes the lock of a stream for a call that uses it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Locking {
    Call,
    Caller,
}

/// Whether the program imports any of these. Written only when modules are loaded.
static LOCKS: AtomicBool = AtomicBool::new(false);
/// Whether it imports any that use a stream without its lock. Without them accesses to streams
/// cannot race.
static HAS_UNLOCKED: AtomicBool = AtomicBool::new(false);

/// A module of the program imports a function of this name.
pub fn imported(name: &[u8]) {
    let is_unlocked = FROM_MACROS.contains(&name) || ASKING.contains(&name) || name.ends_with(UNLOCKED);
    if is_unlocked || LOCKING.contains(&name) {
        LOCKS.store(true, Relaxed);
    }
    if is_unlocked {
        HAS_UNLOCKED.store(true, Relaxed);
    }
}

/// Streams that can be locked in one run.
const STREAMS: usize = 32;
/// Room for a mutex.
const WORDS: usize = 5;
/// As glibc numbers kinds of mutexes.
const RECURSIVE: u64 = 1;

/// The locks of streams, by a hash of the stream.
pub struct StreamLocks {
    streams: [usize; STREAMS],
    locks: [[u64; WORDS]; STREAMS],
    used: bool,
}

impl StreamLocks {
    /// Whether any stream was locked.
    #[inline(always)]
    pub fn is_used(&self) -> bool {
        self.used
    }

    /// No stream was locked. All-zero is a free mutex; its kind is the low half of the third word.
    pub const NEW: StreamLocks =
        StreamLocks { streams: [0; STREAMS], locks: [[0, 0, RECURSIVE, 0, 0]; STREAMS], used: false };

    /// The lock of a stream; `None` if there are too many.
    fn of(&mut self, stream: usize) -> Option<u64> {
        let first = stream >> 4;
        let mut places = (0..STREAMS).map(|probe| (first + probe) % STREAMS);
        let at = places.find(|&at| self.streams[at] == 0 || self.streams[at] == stream)?;
        self.streams[at] = stream;
        self.used = true;
        Some(&raw const self.locks[at] as u64)
    }
}

/// The lock of a stream. Beyond the limit a stream is never locked, which is named.
fn lock_of(stream: *mut c_void) -> Option<u64> {
    let lock = run().stream_locks.of(stream as usize);
    if lock.is_none() {
        name_limit(limit::DESCRIPTORS);
    }
    lock
}

/// A call from `pc` uses the stream, by the operations that `by` makes. It is told whether accesses
/// to the stream count: the call makes them without the lock, or holds the one that is modelled.
pub fn in_call(stream: usize, locking: Locking, pc: u64, by: impl FnOnce(bool)) {
    if locking == Locking::Caller || streams::is_locked_by_callers(stream) {
        return by(true);
    }
    let taken = take(stream, pc);
    by(taken != Taken::NotModelled && HAS_UNLOCKED.load(Relaxed));
    if let Taken::Now(lock) = taken {
        run().me().private.stream_lock = lock;
    }
}

/// The lock of a stream in a call that takes it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Taken {
    /// No thread holds it for longer than a call, or there are too many streams.
    NotModelled,
    /// The thread held it before.
    Before,
    Now(u64),
}

fn take(stream: usize, pc: u64) -> Taken {
    if !controlled() || stream == 0 {
        return Taken::NotModelled;
    }
    let is_waited_with = || run().stream_locks.used && run().stream_locks.streams.contains(&stream);
    if !LOCKS.load(Relaxed) && !is_waited_with() {
        return Taken::NotModelled;
    }
    leave(pc);
    match lock_of(stream as *mut c_void) {
        None => Taken::NotModelled,
        Some(lock) if mutex::held_by(lock, couriers::owner(run().hot.tid)) => Taken::Before,
        Some(lock) => {
            mutex::lock(lock, pc);
            Taken::Now(lock)
        }
    }
}

/// The thread is about to make an operation: the call that used a stream is over.
#[inline]
pub fn leave(pc: u64) {
    if run().stream_locks.used {
        let lock = core::mem::take(&mut run().me().private.stream_lock);
        if lock != 0 {
            mutex::unlock(lock, pc);
        }
    }
}

/// Takes the lock of a stream for a call that waits in the middle.
pub fn hold(stream: usize, pc: u64) {
    leave(pc);
    if let Some(lock) = lock_of(stream as *mut c_void) {
        mutex::lock(lock, pc);
    }
}

/// The end of such a call.
pub fn release(stream: usize, pc: u64) {
    leave(pc);
    if let Some(lock) = lock_of(stream as *mut c_void) {
        mutex::unlock(lock, pc);
    }
}

extern "C" fn lock(stream: *mut c_void, pc: u64) {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::flockfile(stream) };
    }
    streams::uses(stream as usize, pc);
    hold(stream as usize, pc);
}

extern "C" fn try_lock(stream: *mut c_void, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::ftrylockfile(stream) };
    }
    streams::uses(stream as usize, pc);
    leave(pc);
    lock_of(stream).map_or(0, |lock| mutex::trylock(lock, pc))
}

extern "C" fn unlock(stream: *mut c_void, pc: u64) {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::funlockfile(stream) };
    }
    streams::uses(stream as usize, pc);
    release(stream as usize, pc);
}

export!(flockfile, 1 => lock);
export!(ftrylockfile, 1 => try_lock);
export!(funlockfile, 1 => unlock);
export!(_IO_flockfile, 1 => lock);
export!(_IO_ftrylockfile, 1 => try_lock);
export!(_IO_funlockfile, 1 => unlock);
