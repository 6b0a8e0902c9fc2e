//! Asking whether input or output is possible: `poll`, `select`, `FIONREAD`. Each descriptor that
//! is asked about is observed by a transition of its own.
//!
//! A call that may wait for ever waits for its turn until one of its descriptors is ready. One with
//! a time-out never waits: the time may be over at any moment.

use raddle_vocab::policy::mix;
use raddle_vocab::{OpKind, Outcome, io};
use raddle_wire::limit;

use crate::arch::entry::export;
use crate::arch::syscall;
use crate::interpose::buffers::{changes, reads, writes};
use crate::interpose::io::descriptors::{self, channel};
use crate::interpose::io::regular_files::FileAccess;
use crate::interpose::io::{net, overlay, queues, slots};
use crate::interpose::process::couriers::{self, InterruptibleCall};
use crate::interpose::process::timers;
use crate::restore::snapshot::touch;
use crate::restore::undo;
use crate::sched::controller::note_limit;
use crate::sched::virtual_time;
use crate::sched::{self, timeouts};
use crate::state::{AnnouncedOp, ThreadStatus, controlled, process, run};
use crate::state_key;
use crate::syscall::libc_real::real;
use crate::syscall::set_errno;

real! { hidden:
    fn ioctl(descriptor: i32, request: u64, argument: usize) -> i32;
}

/// Descriptors that one `select` can name.
const SELECTED: usize = 64;
const MILLISECOND: u64 = 1_000_000;
/// Second operand of a wait that any of several channels ends.
const ANY_READY: u64 = io::and(io::READINESS) | io::SECOND_OBSERVES;

/// What the descriptor is ready for, of these events; `depth` is that of queues inside of queues.
pub fn revents(descriptor: i32, events: i16, depth: u32) -> i16 {
    if let Some(index) = net::of(descriptor) {
        return net::revents(index) & (events | libc::POLLERR | libc::POLLHUP);
    }
    if queues::is_queue(descriptor) {
        let found = if queues::is_ready(descriptor, depth) { libc::POLLIN | libc::POLLRDNORM } else { 0 };
        return found & events;
    }
    let mut poll = libc::pollfd { fd: descriptor, events, revents: 0 };
    syscall::poll(core::slice::from_mut(&mut poll), 0);
    poll.revents
}

/// What an entry of `poll` finds.
fn look(entry: &mut libc::pollfd) -> bool {
    entry.revents = if entry.fd < 0 { 0 } else { revents(entry.fd, entry.events, 0) };
    entry.revents != 0
}

/// The descriptors that a thread waits for: where they are, and how many.
fn polled((entries, count): (usize, usize)) -> &'static [libc::pollfd] {
    if count == 0 {
        return &[];
    }
    // SAFETY: the entries of a call that is under way, which the caller keeps.
    unsafe { core::slice::from_raw_parts(entries as *const libc::pollfd, count) }
}

/// Whether one of the descriptors is ready that a thread waits for: where they are, and how many.
pub fn is_any_ready(entries: (usize, usize)) -> bool {
    polled(entries).iter().any(|entry| look(&mut { *entry }))
}

/// Descriptors that all threads together wait for, as far as they are collected.
const AWAITED: usize = 256;
const NO_ENTRY: libc::pollfd = libc::pollfd { fd: -1, events: 0, revents: 0 };
/// How long the kernel waits before the host is told that the run goes on.
const PATIENCE: i32 = 1_000;

/// Waits in the kernel until something comes from other processes for a thread that waits for it;
/// false if none does.
pub fn wait_for_outside() -> bool {
    let Some((mut all, len)) = awaited_outside() else { return false };
    loop {
        let found = syscall::poll(&mut all[..len], PATIENCE);
        goes_on();
        if found != 0 {
            return found > 0;
        }
    }
}

/// The same, for so many milliseconds; false if nothing has come.
pub fn wait_for_outside_within(milliseconds: i32) -> bool {
    let (mut all, len) = awaited_outside().unwrap_or(([NO_ENTRY; AWAITED], 0));
    let found = syscall::poll(&mut all[..len], milliseconds);
    goes_on();
    found > 0
}

/// Tells the host that the run goes on.
fn goes_on() {
    // SAFETY: the control page stays mapped; it is an atomic there.
    unsafe { (*process().control).heartbeat.fetch_add(1, core::sync::atomic::Ordering::Relaxed) };
}

/// What threads wait for that may come from other processes: entries of `poll`, and their number.
fn awaited_outside() -> Option<([libc::pollfd; AWAITED], usize)> {
    let mut all = [NO_ENTRY; AWAITED];
    let mut len = 0;
    let mut add = |fd: i32, events: i16| {
        if len < AWAITED && fd >= 0 {
            all[len] = libc::pollfd { fd, events, revents: 0 };
            len += 1;
        }
    };
    for fiber in &run().fibers[..run().threads] {
        let (descriptor, events) = io::waited_for(fiber.pending.arg);
        if fiber.status != ThreadStatus::Pending || fiber.pending.kind != OpKind::Io || is_special(events) {
            continue;
        }
        match polled(fiber.private.polled) {
            [] if queues::is_queue(descriptor) => queues::each_wanted(descriptor, &mut add),
            [] => add(descriptor, events),
            entries => entries.iter().for_each(|entry| add(entry.fd, entry.events)),
        }
    }
    (len > 0).then_some((all, len))
}

/// Whether the events stand for something else than descriptors.
fn is_special(events: i16) -> bool {
    events & libc::POLLNVAL != 0 && events != io::WAITS_WITH_TIME_OUT
}

/// A transition that looks at what the descriptor refers to, and at what `second` says. False if it
/// refers to nothing that operations wait for: then there is none. With [`io::ASKS`] it asks for
/// nothing but readiness, and is a read of a spin loop.
fn observe(descriptor: i32, second: u64, pc: u64) -> bool {
    let mut is_any = false;
    slots::look_at(descriptor, pc, || {
        let identity = channel(descriptor);
        is_any = identity != 0;
        if is_any {
            timers::before_reading(descriptor);
            let op = AnnouncedOp::new(OpKind::Io, identity, io::waits_for(descriptor, 0) | io::OBSERVES | second, pc);
            sched::perform(op, Outcome::Done, 0, 0);
            timers::observe();
        }
    });
    is_any
}

/// What operations on the descriptor touch, if it can be waited for: a channel, or a queue.
fn awaited(descriptor: i32) -> Option<u64> {
    match channel(descriptor) {
        0 if queues::is_queue(descriptor) => Some(queues::identity(descriptor)),
        0 => None,
        identity => Some(identity),
    }
}

/// Waits until one of several is ready; whether a signal handler has ended the wait.
fn wait_for_any(entries: &[libc::pollfd], pc: u64) -> bool {
    let all = || entries.iter().filter_map(|entry| Some((entry.fd, awaited(entry.fd)?)));
    // What may come from other processes comes first: no deadlock is sure then.
    let outside = all().find(|&(_, identity)| identity == io::NETWORK);
    let Some((descriptor, about)) = outside.or_else(|| all().next()) else {
        note_limit(limit::EXTERNAL_WAIT);
        return false;
    };
    couriers::begin_call(InterruptibleCall::Ends, pc);
    run().me().private.polled = (entries.as_ptr() as usize, entries.len());
    state_key::goes_on_with(of_entries(entries));
    let arg = io::waits_for(descriptor, libc::POLLIN) | io::OBSERVES | ANY_READY;
    sched::perform(AnnouncedOp::new(OpKind::Io, about, arg, pc), Outcome::Done, 0, 0);
    run().me().private.polled = (0, 0);
    timers::observe();
    couriers::end_call()
}

/// What a call goes on with that asks about these descriptors: some callers have them in a frame of
/// the runtime.
fn of_entries(entries: &[libc::pollfd]) -> u64 {
    let word = |entry: &libc::pollfd| {
        u64::from(entry.fd.cast_unsigned())
            | u64::from(entry.events.cast_unsigned()) << 32
            | u64::from(entry.revents.cast_unsigned()) << 48
    };
    entries.iter().fold(entries.len() as u64, |hash, entry| mix(hash ^ word(entry)))
}

/// `poll` with one channel, and without a time-out.
fn ask_about_one(entry: &mut libc::pollfd, about: u64, pc: u64) -> i32 {
    let descriptor = entry.fd;
    slots::looks_up(descriptor, pc);
    let arg = io::waits_for(descriptor, if entry.events == 0 { libc::POLLERR } else { entry.events }) | io::OBSERVES;
    couriers::begin_call(InterruptibleCall::Ends, pc);
    run().me().private.polled = (core::ptr::from_ref(entry) as usize, 1);
    sched::perform(AnnouncedOp::new(OpKind::Io, about, arg, pc), Outcome::Done, 0, 0);
    let is_interrupted = couriers::end_call();
    run().me().private.polled = (0, 0);
    timers::observe();
    let (number, is_copy) = slots::found(descriptor);
    entry.fd = number;
    let is_ready = look(entry);
    entry.fd = descriptor;
    if is_copy {
        overlay::close(number);
    }
    if is_interrupted && !is_ready {
        set_errno(libc::EINTR);
        return -1;
    }
    i32::from(is_ready)
}

/// A time-out of so many milliseconds is over.
pub fn timed_out(milliseconds: i32, pc: u64) {
    if milliseconds > 0 {
        virtual_time::slept(milliseconds as u64 * MILLISECOND);
        timers::after_sleep();
        timeouts::time_passes(pc);
    }
}

/// `poll`, under control.
fn ask(entries: &mut [libc::pollfd], milliseconds: i32, pc: u64) -> i32 {
    if let [only] = entries
        && milliseconds < 0
        && channel(only.fd) != 0
    {
        return ask_about_one(only, channel(only.fd), pc);
    }
    loop {
        let is_foreign_ready =
            |entry: &libc::pollfd| entry.fd >= 0 && awaited(entry.fd).is_none() && look(&mut { *entry });
        let waits = milliseconds < 0 && !entries.iter().any(is_foreign_ready);
        let can_wait = entries.iter().any(|entry| awaited(entry.fd).is_some());
        let is_interrupted = waits && wait_for_any(entries, pc);
        // As in the kernel, each is looked at in its turn.
        let mut ready = 0;
        for number in 0..entries.len() {
            run().me().private.asked = number as u8;
            if channel(entries[number].fd) != 0 && !slots::are_replaced() {
                let flags = u64::from(waits) | u64::from(is_interrupted) << 1 | u64::from(can_wait) << 2 | 1 << 3;
                let place = [number as u64, ready as u64, flags];
                state_key::goes_on_with(place.iter().fold(of_entries(entries), |hash, word| mix(hash ^ word)));
            }
            let entry = &mut entries[number];
            let asks = if milliseconds >= 0 { io::ASKS } else { 0 };
            observe(entry.fd, asks, pc);
            ready += i32::from(look(entry));
        }
        run().me().private.asked = 0;
        if ready == 0 && is_interrupted {
            set_errno(libc::EINTR);
            return -1;
        }
        if ready > 0 || !waits || !can_wait {
            if ready == 0 {
                timed_out(milliseconds, pc);
            }
            return ready;
        }
        // Another thread was faster.
    }
}

/// `poll` with descriptors, under control.
pub fn poll(descriptors: *mut libc::pollfd, count: u64, milliseconds: i32, pc: u64) -> i32 {
    touch(descriptors.cast(), count as usize * size_of::<libc::pollfd>());
    for at in 0..count as usize {
        let entry = descriptors as usize + at * size_of::<libc::pollfd>();
        let answer = core::mem::offset_of!(libc::pollfd, revents);
        reads(entry, answer, pc);
        writes(entry + answer, size_of::<i16>(), pc);
    }
    // SAFETY: the caller passes so many entries.
    ask(unsafe { core::slice::from_raw_parts_mut(descriptors, count as usize) }, milliseconds, pc)
}

/// The sets of `select`, and the events of `poll` that they stand for.
const SETS: [i16; 3] = [libc::POLLIN, libc::POLLOUT, libc::POLLPRI];

/// `select` with descriptors, under control; `None` if there are too many.
pub fn select(count: i32, sets: [*mut libc::fd_set; 3], milliseconds: i32, pc: u64) -> Option<i32> {
    for set in sets {
        changes(set as usize, (count.max(0) as usize).div_ceil(64) * 8, pc);
    }
    let mut entries = [libc::pollfd { fd: -1, events: 0, revents: 0 }; SELECTED];
    let mut len = 0;
    for fd in 0..count {
        // SAFETY: each set is null or the caller's, with a bit for every descriptor below `count`.
        let wants = |set: *mut libc::fd_set| !set.is_null() && unsafe { libc::FD_ISSET(fd, set) };
        let events = sets.iter().zip(SETS).filter(|&(&set, _)| wants(set)).fold(0, |all, (_, event)| all | event);
        if events != 0 {
            *entries.get_mut(len)? = libc::pollfd { fd, events, revents: 0 };
            len += 1;
        }
    }
    if entries[..len].iter().any(|entry| revents(entry.fd, 0, 0) & libc::POLLNVAL != 0) {
        set_errno(libc::EBADF);
        return Some(-1);
    }
    ask(&mut entries[..len], milliseconds, pc);
    let mut found = 0;
    for (&set, event) in sets.iter().zip(SETS).filter(|(set, _)| !set.is_null()) {
        // A closed end can be read from, and one with an error written to: the call would not wait.
        let hangs_up = match event {
            libc::POLLIN => libc::POLLHUP | libc::POLLERR,
            libc::POLLOUT => libc::POLLERR,
            _ => 0,
        };
        // SAFETY: as above.
        unsafe { libc::FD_ZERO(set) };
        for entry in entries[..len].iter().filter(|entry| entry.events & event != 0) {
            if entry.revents & (event | hangs_up) != 0 {
                // SAFETY: as above.
                unsafe { libc::FD_SET(entry.fd, set) };
                found += 1;
            }
        }
    }
    Some(found)
}

/// The memory that a request accesses. The numbers of most say how many bytes it reads and writes.
fn accesses_of(request: u64, argument: usize, pc: u64) {
    let bytes = (request >> 16 & 0x3fff) as usize;
    match request {
        libc::FIONREAD | libc::TIOCOUTQ | libc::TIOCGPGRP => writes(argument, 4, pc),
        libc::FIONBIO | libc::FIOASYNC | libc::TIOCSPGRP => reads(argument, 4, pc),
        libc::TIOCGWINSZ => writes(argument, 8, pc),
        libc::TCGETS => writes(argument, 36, pc),
        _ => match request >> 30 & 3 {
            1 => reads(argument, bytes, pc),
            2 => writes(argument, bytes, pc),
            3 => changes(argument, bytes, pc),
            _ => {}
        },
    }
}

extern "C" fn control_device(descriptor: i32, request: u64, argument: usize, pc: u64) -> i32 {
    /// What a request may write at least, whatever its number says.
    const ANY: usize = 512;
    if controlled() {
        if request == libc::FIONREAD
            && let Some(result) = net::readable_bytes(descriptor, pc)
        {
            return match result {
                Ok(bytes) => {
                    writes(argument, size_of::<i32>(), pc);
                    // SAFETY: the caller of the function passes room for a number.
                    unsafe { *(argument as *mut i32) = bytes };
                    0
                }
                Err(code) => {
                    set_errno(code);
                    -1
                }
            };
        }
        match request {
            libc::FIONREAD => _ = observe(descriptor, 0, pc),
            libc::FIONBIO => descriptors::touches(descriptor, FileAccess::Change, pc),
            _ => {}
        }
        // What it answers may be something else in every run.
        undo::changed(undo::kind::OTHER);
        if request == libc::FIONBIO {
            undo::changes_flags(descriptor);
        }
        touch(argument as *const u8, ANY.max((request >> 16 & 0x3fff) as usize));
    }
    // SAFETY: passes on what the caller gave.
    let result = unsafe { hidden::ioctl(descriptor, request, argument) };
    if result >= 0 {
        accesses_of(request, argument, pc);
    }
    result
}

export!(ioctl, 3 => control_device);
