//! Locks of files that belong to open files (`flock`, `F_OFD_SETLKW`): they block threads that have
//! opened the file separately. Locks that belong to the process (`F_SETLKW`, `lockf`) never do.
//!
//! A wait is a transition on the lock of the file, which is enabled when the kernel would grant the
//! lock. The kernel cannot be asked that for `flock`, so these locks are noted here, too.

use raddle_vocab::{OpKind, Outcome, io};
use raddle_wire::limit;

use crate::arch::entry::export;
use crate::interpose::io::descriptors::MAX_CHANNELS;
use crate::interpose::io::files::as_c;
use crate::interpose::io::regular_files::{self, thing};
use crate::interpose::io::slots;
use crate::restore::snapshot::touch;
use crate::sched;
use crate::sched::controller::note_limit;
use crate::state::{AnnouncedOp, controlled, run};
use crate::syscall::syscall;

/// Files that can be locked by `flock` at a time.
const MAX_LOCKS: usize = 64;

/// A lock by `flock`, or locks of ranges.
#[derive(Clone, Copy)]
struct FileLock {
    /// Identity of the content of the file; 0 if the entry is free.
    content: u32,
    /// The open file that holds it.
    holder: u32,
    is_exclusive: bool,
    /// Locks of ranges: which, the kernel knows.
    has_ranges: bool,
}

/// All locks of files.
pub struct FileLocks([FileLock; MAX_LOCKS]);

impl FileLock {
    const NONE: FileLock = FileLock { content: 0, holder: 0, is_exclusive: false, has_ranges: false };

    fn is_of(&self, content: u32, holder: u32) -> bool {
        self.content == content && self.holder == holder
    }
}

impl FileLocks {
    /// None.
    pub const NONE: FileLocks = FileLocks([FileLock::NONE; MAX_LOCKS]);

    fn would_wait(&self, content: u32, holder: u32, is_exclusive: bool) -> bool {
        let mut others =
            self.0.iter().filter(|lock| lock.content == content && lock.holder != holder && !lock.has_ranges);
        others.any(|lock| is_exclusive || lock.is_exclusive)
    }

    /// Notes that the open file holds the lock so, or not at all.
    fn set(&mut self, content: u32, holder: u32, is_exclusive: Option<bool>) {
        let own = self.0.iter().position(|lock| lock.is_of(content, holder) && !lock.has_ranges);
        match (own, is_exclusive) {
            (Some(index), Some(is_exclusive)) => self.0[index].is_exclusive = is_exclusive,
            (Some(index), None) => self.0[index] = FileLock::NONE,
            (None, Some(is_exclusive)) => self.add(FileLock { content, holder, is_exclusive, has_ranges: false }),
            (None, None) => {}
        }
    }

    /// Notes that the open file has locked ranges, or gives some or all of them up. All are given
    /// up with it at the latest.
    fn note_ranges(&mut self, content: u32, holder: u32, gives_up: bool, is_all: bool) {
        let own = self.0.iter_mut().find(|lock| lock.is_of(content, holder) && lock.has_ranges);
        match own {
            Some(lock) if gives_up && is_all => *lock = FileLock::NONE,
            None if !gives_up => self.add(FileLock { content, holder, is_exclusive: false, has_ranges: true }),
            _ => {}
        }
    }

    fn add(&mut self, lock: FileLock) {
        match self.0.iter_mut().find(|lock| lock.content == 0) {
            Some(free) => *free = lock,
            None => note_limit(limit::EXTERNAL_WAIT),
        }
    }

    /// Forgets all locks of the open file.
    fn remove(&mut self, content: u32, holder: u32) {
        self.0.iter_mut().filter(|lock| lock.is_of(content, holder)).for_each(|lock| *lock = FileLock::NONE);
    }

    fn holds(&self, content: u32, holder: u32) -> bool {
        self.0.iter().any(|lock| lock.is_of(content, holder))
    }
}

fn object(content: u32) -> u64 {
    io::file(thing(u64::from(content), 23))
}

/// Waits for its turn to use the lock of the file; for the lock itself if `events` says so.
fn arrive(descriptor: i32, content: u32, events: i16, pc: u64) {
    let op = AnnouncedOp::new(OpKind::Io, object(content), io::waits_for(descriptor, events), pc);
    if run().threads > 1 || events != 0 {
        sched::perform(op, Outcome::Done, 0, 0);
    }
}

extern "C" fn lock_file(descriptor: i32, operation: i32, pc: u64) -> i32 {
    // SAFETY: asks for a lock without waiting for it, or gives it up.
    let now = |operation: i32| unsafe { syscall!(libc::SYS_flock, descriptor, operation) };
    slots::use_settled(descriptor, pc, || {});
    let file = regular_files::get(descriptor);
    if !controlled() || file.content == 0 {
        return as_c(now(operation)) as i32;
    }
    let (kind, waits) = (operation & !libc::LOCK_NB, operation & libc::LOCK_NB == 0);
    let events = match kind {
        libc::LOCK_EX if waits => io::WAITS_FOR_LOCK,
        libc::LOCK_SH if waits => io::WAITS_FOR_SHARED_LOCK,
        _ => 0,
    };
    arrive(descriptor, file.content, events, pc);
    let result = now(operation | libc::LOCK_NB);
    if result == 0 {
        let holds = (kind != libc::LOCK_UN).then_some(kind == libc::LOCK_EX);
        run().file_locks.set(file.content, file.offset, holds);
        sched::changed(object(file.content));
    }
    as_c(result) as i32
}

/// `fcntl` with a command on a lock of the open file.
pub fn control(descriptor: i32, command: i32, request: *mut libc::flock, pc: u64) -> isize {
    slots::use_settled(descriptor, pc, || {});
    let file = regular_files::get(descriptor);
    touch(request.cast(), size_of::<libc::flock>());
    // SAFETY: the caller passes a request.
    let libc::flock { l_type, l_whence, l_start, l_len, .. } = unsafe { *request };
    // Giving a lock up never waits.
    let gives_up = i32::from(l_type) == libc::F_UNLCK;
    let waits = command == libc::F_OFD_SETLKW && !gives_up;
    if file.content != 0 {
        run().me().private.lock_request = request as usize;
        arrive(descriptor, file.content, if waits { io::WAITS_FOR_RANGE } else { 0 }, pc);
    }
    let is_modelled = command == libc::F_OFD_SETLKW && file.content != 0;
    let command = if is_modelled { libc::F_OFD_SETLK } else { command };
    // SAFETY: passes on what the caller gave.
    let result = unsafe { syscall!(libc::SYS_fcntl, descriptor, command, request) };
    if file.content != 0 {
        if result == 0 && command == libc::F_OFD_SETLK {
            let is_all = i32::from(l_whence) == libc::SEEK_SET && (l_start, l_len) == (0, 0);
            run().file_locks.note_ranges(file.content, file.offset, gives_up, is_all);
        }
        sched::changed(object(file.content));
    }
    result
}

/// Whether the kernel would grant the lock that the thread waits for.
pub fn can_lock(tid: usize, descriptor: i32, events: i16) -> bool {
    let file = regular_files::get(descriptor);
    if events != io::WAITS_FOR_RANGE {
        return !run().file_locks.would_wait(file.content, file.offset, events == io::WAITS_FOR_LOCK);
    }
    // SAFETY: the thread is in the call to which it has passed the request.
    let mut request = unsafe { *(run().fibers[tid].private.lock_request as *const libc::flock) };
    // SAFETY: asks about a lock, with a local copy of the request.
    let failed = unsafe { syscall!(libc::SYS_fcntl, descriptor, libc::F_OFD_GETLK, &raw mut request) } < 0;
    failed || i32::from(request.l_type) == libc::F_UNLCK
}

/// A descriptor is about to be closed: with the last of an open file its locks go.
pub fn closing(descriptor: i32, pc: u64) {
    let file = regular_files::get(descriptor);
    if file.content == 0 || file.offset == 0 {
        return;
    }
    let is_shared = (0..MAX_CHANNELS as i32)
        .any(|other| other != descriptor && run().open_files[other as usize].offset == file.offset);
    if !is_shared && run().file_locks.holds(file.content, file.offset) {
        arrive(descriptor, file.content, 0, pc);
        run().file_locks.remove(file.content, file.offset);
    }
}

/// The descriptor was closed: threads may have waited for its locks.
pub fn closed(content: u32) {
    if content != 0 {
        sched::changed(object(content));
    }
}

export!(flock, 2 => lock_file);
