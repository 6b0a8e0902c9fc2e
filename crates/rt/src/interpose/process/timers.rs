//! Timers in virtual time: `alarm`, `setitimer`, `timer_create`, timer descriptors, and `pause`.
//!
//! The kernel's timers would go off at times that no schedule controls.
//!
//! A timer whose signal every thread has blocked can go off at any moment, and only waiting for the
//! signal tells when: a thread that waits for it can go on while the timer is armed. So all orders
//! are explored. Arming such a timer is a transition on the pending signals.
//!
//! In a program with handlers a timer whose signal some thread accepts has couriers ([`couriers`]),
//! and goes off at any moment between being armed and being disarmed: real time may pass anywhere.
//! A thread that has slept beyond it goes on only when it has gone off. A timer that goes off again
//! and again does so at any moment only for the first time; later, when a thread has slept beyond
//! it, or when no thread can go on otherwise. That is named.
//!
//! Timers of descriptors go off when a thread has slept beyond them, or when no thread can go on
//! otherwise: an armed timer is an event that can still happen, so the threads are not in a
//! deadlock. Other moments are not explored, which is named.

use raddle_vocab::io::SIGNALS;
use raddle_vocab::policy::MAX_THREADS;
use raddle_vocab::{OpKind, Outcome, io};
use raddle_wire::limit;

use crate::arch::entry::{export, hook};
use crate::arch::signal::KernelAction;
use crate::interpose::buffers::{reads, writes};
use crate::interpose::io::slots;
use crate::interpose::io::{descriptors, queues};
use crate::interpose::process::couriers::{self, Errand, InterruptibleCall, Serial};
use crate::interpose::process::pending_signals::{self, Sent};
use crate::interpose::process::shared_state;
use crate::interpose::process::signal_masks::{self, all_block, bit};
use crate::interpose::thread::identity;
use crate::sched;
use crate::sched::controller::note_limit;
use crate::sched::virtual_time::{self, SECOND};
use crate::state::{AnnouncedOp, controlled, run};
use crate::syscall::libc_real::real;
use crate::syscall::{set_errno, syscall};

real! { hidden:
    fn alarm(seconds: u32) -> u32;
    fn setitimer(which: i32, new: *const libc::itimerval, old: *mut libc::itimerval) -> i32;
    fn getitimer(which: i32, old: *mut libc::itimerval) -> i32;
    fn timer_create(clock: i32, event: *const libc::sigevent, timer: *mut usize) -> i32;
    fn timer_settime(timer: usize, flags: i32, new: *const libc::itimerspec, old: *mut libc::itimerspec) -> i32;
    fn timer_gettime(timer: usize, old: *mut libc::itimerspec) -> i32;
    fn timer_delete(timer: usize) -> i32;
    fn timer_getoverrun(timer: usize) -> i32;
    fn timerfd_create(clock: i32, flags: i32) -> i32;
    fn timerfd_settime(descriptor: i32, flags: i32, new: *const libc::itimerspec, old: *mut libc::itimerspec) -> i32;
    fn timerfd_gettime(descriptor: i32, old: *mut libc::itimerspec) -> i32;
    fn pause() -> i32;
    fn raise(signal: i32) -> i32;
}

/// Timers that a run can have.
const MOST: usize = 32;
/// The alarm and the three interval timers of the process have the first places.
const CREATED: usize = 3;

/// What a timer does when it goes off.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Effect {
    /// The place is free.
    None,
    /// Sends a signal; 0 for none that is modelled.
    Signal(i32),
    /// Makes descriptors readable: those that refer to the channel with this identity.
    Descriptor(u64),
}

#[derive(Clone, Copy)]
struct Timer {
    effect: Effect,
    /// When it goes off, on the clocks of virtual time; 0 if it is not armed.
    at: u64,
    /// Time between two times that it goes off; 0 if it does so once.
    interval: u64,
    /// How often it was armed or disarmed.
    setting: u32,
    /// Whether it has gone off, and does so again only when time has passed.
    rests: bool,
    /// The thread that gets its signal; `None` for the process.
    target: Option<u16>,
    /// The value that it sends with the signal.
    value: usize,
}

impl Timer {
    const NONE: Timer =
        Timer { effect: Effect::None, at: 0, interval: 0, setting: 0, rests: false, target: None, value: 0 };

    /// Whether it is armed and may go off. When the process has exited, threads go on as they could
    /// have before, and so do timers; but one that goes off again and again would do so for ever.
    fn can_go_on(&self) -> bool {
        self.at != 0 && !(self.rests && run().exit.is_some())
    }
}

/// The timers of the process.
pub struct Timers {
    all: [Timer; MOST],
    /// Whether any was ever armed.
    used: bool,
    /// When the last one went off.
    last: u64,
}

impl Timers {
    /// Whether any was ever armed.
    pub fn is_used(&self) -> bool {
        self.used
    }

    /// None.
    pub const NEW: Timers = Timers { all: [Timer::NONE; MOST], used: false, last: 0 };

    /// The timer that goes off next. One that sends what all threads have blocked does so when a
    /// thread wants it.
    fn next(&self) -> Option<usize> {
        let goes_off = |&index: &usize| {
            let timer = &self.all[index];
            timer.can_go_on()
                && !matches!(timer.effect, Effect::Signal(signal) if all_block(signal))
                && !is_delivered(timer)
        };
        (0..MOST).filter(goes_off).min_by_key(|&index| self.all[index].at)
    }

    /// The armed timers that can send one of the signals, which all threads have blocked.
    fn senders(&self, signals: u64) -> impl Iterator<Item = (usize, i32)> {
        self.all.iter().enumerate().filter_map(move |(index, timer)| match timer.effect {
            Effect::Signal(signal @ 1..=64) if timer.can_go_on() && signals & bit(signal) != 0 => {
                all_block(signal).then_some((index, signal))
            }
            _ => None,
        })
    }

    /// Whether the timer is still armed as it was by the setting with this number.
    pub fn is_set(&self, index: u8, setting: u32) -> bool {
        let timer = &self.all[usize::from(index)];
        timer.at != 0 && timer.setting == setting
    }

    /// Whether it can go off now.
    pub fn can_go_off(&self, index: u8, setting: u32) -> bool {
        self.is_set(index, setting) && !self.all[usize::from(index)].rests
    }

    fn of_descriptor(&self, descriptor: i32) -> Option<usize> {
        let identity = descriptors::channel(descriptor);
        (0..MOST).find(|&index| self.all[index].effect == Effect::Descriptor(identity))
    }
}

/// What can still happen where no thread can step.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// No timer is armed.
    None,
    /// A timer went off, and threads may go on.
    Fired,
    /// A timer is armed, but what it would do is not modelled.
    NotModelled,
}

/// Whether a timer can send one of the signals to a thread that waits for it.
pub fn may_send(signals: u64) -> bool {
    run().timers.used && run().timers.senders(signals).next().is_some()
}

/// Lets the timer go off that is the first to send one of the signals.
pub fn send_one(signals: u64) {
    let timers = &run().timers;
    let Some((index, signal)) = timers.senders(signals).min_by_key(|&(index, _)| timers.all[index].at) else { return };
    if timers.senders(signals).count() > 1 {
        // The other one may come first.
        note_limit(limit::TIMER);
    }
    pending_signals::keep_of_timer(signal);
    went_off(index);
    observe();
}

/// The timer goes off: what its signal says.
pub fn goes_off(index: u8) -> Sent {
    let index = usize::from(index);
    let Timer { effect, at, target, value, .. } = run().timers.all[index];
    let signal = if let Effect::Signal(signal) = effect { signal } else { 0 };
    virtual_time::not_before(at);
    went_off(index);
    let code = if index < CREATED { libc::SI_KERNEL } else { libc::SI_TIMER };
    Sent { signal, target, serial: 0, has_courier: true, code, value }
}

/// The threads that can get the signal of a timer, and how many they are.
fn takers_of(timer: &Timer, signal: i32) -> ([u16; MAX_THREADS], usize) {
    match timer.target {
        Some(target) => {
            let mut one = [0; MAX_THREADS];
            one[0] = target;
            (one, usize::from(couriers::accepts(usize::from(target), signal)))
        }
        None => pending_signals::takers(signal),
    }
}

/// Whether couriers deliver the signal of the timer: it is armed, a thread accepts the signal, and
/// there is a handler.
fn is_delivered(timer: &Timer) -> bool {
    let Effect::Signal(signal @ 1..=64) = timer.effect else { return false };
    couriers::in_use()
        && timer.at != 0
        && run().handlers[signal as usize].handler > libc::SIG_IGN
        && takers_of(timer, signal).1 > 0
}

/// Whether a timer should have gone off that couriers deliver, for a thread whose clock shows this.
pub fn is_any_due(clock: u64) -> bool {
    run().timers.all.iter().any(|timer| timer.at <= clock && is_delivered(timer))
}

/// No thread can go on: the next of the timers that rest may go off.
fn wake_resting() -> bool {
    let timers = &run().timers.all;
    let rests = |&index: &usize| timers[index].rests && is_delivered(&timers[index]);
    let Some(index) = (0..MOST).filter(rests).min_by_key(|&index| timers[index].at) else { return false };
    run().timers.all[index].rests = false;
    sched::changed(SIGNALS);
    true
}

/// Lets the next timer go off.
pub fn go_on() -> Next {
    if !run().timers.used {
        return Next::None;
    }
    let has_exited = run().exit.is_some();
    if !has_exited && wake_resting() {
        return Next::Fired;
    }
    let Some(index) = run().timers.next() else { return Next::None };
    let timer = run().timers.all[index];
    let fired = match timer.effect {
        Effect::Descriptor(identity) => {
            let Some(descriptor) = slots::number_of(identity) else {
                // It was closed.
                run().timers.all[index].at = 0;
                return go_on();
            };
            make_readable(descriptor);
            sched::changed(identity);
            true
        }
        Effect::Signal(signal) if is_lethal(signal) => return Next::None,
        Effect::Signal(signal) => send(signal),
        Effect::None => false,
    };
    if !fired {
        return if has_exited { Next::None } else { Next::NotModelled };
    }
    went_off(index);
    Next::Fired
}

/// Notes that the timer has gone off.
fn went_off(index: usize) {
    let timers = &mut run().timers;
    let timer = &mut timers.all[index];
    timers.last = timers.last.max(timer.at);
    timer.at = if timer.interval == 0 { 0 } else { timer.at.saturating_add(timer.interval) };
    timer.rests = timer.interval != 0;
}

/// Whether the signal would only end the process: no thread waits for that.
fn is_lethal(signal: i32) -> bool {
    let mut action = KernelAction::DEFAULT;
    // SAFETY: asks for the present action, into the local.
    let failed = unsafe { syscall!(libc::SYS_rt_sigaction, signal, 0usize, &raw mut action, 8usize) } < 0;
    !failed && action.handler <= libc::SIG_IGN && !all_block(signal)
}

/// Sends the signal where a thread waits for it; false if none does.
fn send(signal: i32) -> bool {
    let pauses = |&tid: &usize| run().fibers[tid].private.pause >= 0 && !signal_masks::blocks(tid, signal);
    let Some(tid) = (0..run().threads).find(pauses) else { return false };
    end_pause(tid, signal);
    true
}

/// Makes the thread go on behind its `pause`, with this signal.
fn end_pause(tid: usize, signal: i32) {
    let one = 1u64;
    let private = &mut run().fibers[tid].private;
    private.pause_signal = signal;
    // SAFETY: an event counter of the runtime.
    unsafe { syscall!(libc::SYS_write, private.pause, &raw const one, 8usize) };
    sched::changed(SIGNALS);
}

/// Lets the kernel's timer of the descriptor go off.
fn make_readable(descriptor: i32) {
    let once = libc::itimerspec {
        it_interval: libc::timespec { tv_sec: 0, tv_nsec: 0 },
        it_value: libc::timespec { tv_sec: 0, tv_nsec: 1 },
    };
    // SAFETY: arms the timer of the descriptor; the kernel refuses other descriptors.
    let armed = unsafe { syscall!(libc::SYS_timerfd_settime, descriptor, 0usize, &raw const once, 0usize) } >= 0;
    while armed && !descriptors::is_ready(descriptor, libc::POLLIN) {
        core::hint::spin_loop();
    }
    queues::notify_descriptor(descriptor);
}

/// The running thread is behind a wait that a timer may have ended: it is at least that late.
pub fn observe() {
    if run().timers.used {
        virtual_time::not_before(run().timers.last);
    }
}

/// The running thread has slept: timers that went off meanwhile call its handlers.
pub fn after_sleep() {
    if couriers::in_use() {
        return wait_for_due();
    }
    while run().timers.used {
        let timers = &run().timers;
        let Some(index) = timers.next().filter(|&index| timers.all[index].at <= run().me().clock) else { return };
        let Effect::Signal(signal) = timers.all[index].effect else { return };
        let tid = usize::from(run().hot.tid);
        let is_handled = run().handlers[signal as usize].handler > libc::SIG_IGN;
        if !is_handled || signal_masks::blocks(tid, signal) {
            return;
        }
        went_off(index);
        shared_state::gets_signal(signal, run().me().pending.pc);
        // SAFETY: sends the signal to this thread, which has a handler for it.
        unsafe { hidden::raise(signal) };
    }
}

/// The running thread has slept: it goes on when all timers have gone off that it has outlived.
fn wait_for_due() {
    while run().timers.used && is_any_due(run().me().clock) {
        let clock = run().me().clock;
        for timer in run().timers.all.iter_mut().filter(|timer| timer.at <= clock) {
            timer.rests = false;
        }
        run().me().private.awaits_timers = true;
        let arg = io::waits_for(0, io::WAITS_FOR_SIGNAL) | io::OBSERVES | io::UNORDERED;
        let op = AnnouncedOp::new(OpKind::Io, SIGNALS, arg, run().me().pending.pc);
        sched::changed(SIGNALS);
        sched::perform(op, Outcome::Done, 0, 0);
        run().me().private.awaits_timers = false;
    }
}

/// The running thread is about to read from the descriptor: a timer that it has outlived goes off.
pub fn before_reading(descriptor: i32) {
    if !run().timers.used {
        return;
    }
    if let Some(index) = run().timers.of_descriptor(descriptor) {
        let at = run().timers.all[index].at;
        if at != 0 && at <= run().me().clock {
            make_readable(descriptor);
            went_off(index);
        }
    }
}

fn nanoseconds(time: &libc::timespec) -> u64 {
    virtual_time::span(time).unwrap_or(0)
}

fn parts(nanoseconds: u64) -> libc::timespec {
    libc::timespec { tv_sec: (nanoseconds / SECOND) as i64, tv_nsec: (nanoseconds % SECOND) as i64 }
}

/// What is left of a timer, and its interval.
fn left(index: usize) -> libc::itimerspec {
    let timer = &run().timers.all[index];
    let rest = if timer.at == 0 { 0 } else { timer.at.saturating_sub(run().me().clock).max(1) };
    libc::itimerspec { it_interval: parts(timer.interval), it_value: parts(rest) }
}

/// Names what is not explored of a timer that is armed or disarmed: whether it has gone off before,
/// and when it goes off, unless a thread that waits for its signal decides that.
fn name_limit(index: usize, arms: bool) {
    let timer = &run().timers.all[index];
    let is_waited_for = matches!(timer.effect, Effect::Signal(signal) if all_block(signal));
    let is_explored = couriers::in_use() && matches!(timer.effect, Effect::Signal(1..=64));
    if (timer.at != 0 || arms && !is_waited_for) && !is_explored {
        note_limit(limit::TIMER);
    }
    if let Effect::Signal(signal @ 1..=64) = timer.effect {
        pending_signals::note_use(signal);
    }
}

/// Arms or disarms a timer; what was left of it.
fn arm(index: usize, absolute: bool, new: &libc::itimerspec, pc: u64) -> libc::itimerspec {
    pending_signals::touch(pending_signals::SEES_TAKERS, pc);
    name_limit(index, nanoseconds(&new.it_value) != 0);
    let before = left(index);
    let value = nanoseconds(&new.it_value);
    let now = run().me().clock;
    let at = match value {
        0 => 0,
        _ if absolute => virtual_time::deadline(&raw const new.it_value).unwrap_or(0).max(1),
        _ => now.saturating_add(value).max(1),
    };
    let timers = &mut run().timers;
    timers.used = true;
    virtual_time::observed();
    let timer = &mut timers.all[index];
    (timer.at, timer.interval, timer.rests) = (at, nanoseconds(&new.it_interval), false);
    timer.setting += 1;
    sched::changed(SIGNALS);
    send_couriers(index, pc);
    before
}

/// Sends off couriers for the signal of a timer that was armed.
fn send_couriers(index: usize, pc: u64) {
    let timer = run().timers.all[index];
    let Effect::Signal(signal @ 1..=64) = timer.effect else { return };
    if !couriers::in_use() || timer.at == 0 || all_block(signal) || is_lethal(signal) {
        return;
    }
    if timer.interval != 0 {
        note_limit(limit::TIMER);
    }
    let (takers, count) = takers_of(&timer, signal);
    let serial = Serial::Timer { index: index as u8, setting: timer.setting };
    for &target in &takers[..count] {
        couriers::send(Errand { signal, target, serial }, pc);
    }
}

/// The timer that `alarm` and `setitimer` set, which exists from the start.
fn of_process(which: i32) -> Option<usize> {
    let signal = match which {
        libc::ITIMER_REAL => libc::SIGALRM,
        libc::ITIMER_VIRTUAL => libc::SIGVTALRM,
        libc::ITIMER_PROF => libc::SIGPROF,
        _ => return None,
    };
    run().timers.all[which as usize].effect = Effect::Signal(signal);
    Some(which as usize)
}

extern "C" fn set_alarm(seconds: u32, pc: u64) -> u32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::alarm(seconds) };
    }
    let new = libc::itimerspec { it_interval: parts(0), it_value: parts(u64::from(seconds) * SECOND) };
    let before = of_process(libc::ITIMER_REAL).map_or(parts(0), |index| arm(index, false, &new, pc).it_value);
    before.tv_sec as u32 + u32::from(before.tv_nsec != 0)
}

fn from_val(time: &libc::itimerval) -> libc::itimerspec {
    let spec = |time: &libc::timeval| libc::timespec { tv_sec: time.tv_sec, tv_nsec: time.tv_usec * 1_000 };
    libc::itimerspec { it_interval: spec(&time.it_interval), it_value: spec(&time.it_value) }
}

fn to_val(time: &libc::itimerspec) -> libc::itimerval {
    let val = |time: &libc::timespec| libc::timeval { tv_sec: time.tv_sec, tv_usec: time.tv_nsec / 1_000 };
    libc::itimerval { it_interval: val(&time.it_interval), it_value: val(&time.it_value) }
}

extern "C" fn set_interval(which: i32, new: *const libc::itimerval, old: *mut libc::itimerval, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::setitimer(which, new, old) };
    }
    // SAFETY: the caller passes times, and room for them or null.
    let (new, old) = unsafe { (new.as_ref(), old.as_mut()) };
    let (Some(index), Some(new)) = (of_process(which), new) else {
        set_errno(libc::EINVAL);
        return -1;
    };
    let before = arm(index, false, &from_val(new), pc);
    if let Some(old) = old {
        *old = to_val(&before);
    }
    0
}

extern "C" fn get_interval(which: i32, old: *mut libc::itimerval, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::getitimer(which, old) };
    }
    let Some(index) = of_process(which) else {
        set_errno(libc::EINVAL);
        return -1;
    };
    writes(old as usize, size_of::<libc::itimerval>(), pc);
    // SAFETY: the caller passes room for the times.
    unsafe { *old = to_val(&left(index)) };
    0
}

/// A new timer with this effect.
fn create(effect: Effect, target: Option<u16>, value: usize) -> Option<usize> {
    let timers = &mut run().timers;
    let index = (CREATED..MOST).find(|&index| timers.all[index].effect == Effect::None)?;
    let setting = timers.all[index].setting + 1;
    timers.all[index] = Timer { effect, setting, target, value, ..Timer::NONE };
    Some(index)
}

extern "C" fn create_timer(clock: i32, event: *const libc::sigevent, timer: *mut usize, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::timer_create(clock, event, timer) };
    }
    reads(event as usize, size_of::<libc::sigevent>(), pc);
    writes(timer as usize, size_of::<usize>(), pc);
    // SAFETY: null, or the caller passes an event.
    let (signal, target, value) = match unsafe { event.as_ref() } {
        None => (libc::SIGALRM, None, 0),
        Some(event) if event.sigev_notify == libc::SIGEV_SIGNAL => {
            (event.sigev_signo, None, event.sigev_value.sival_ptr as usize)
        }
        Some(event) if event.sigev_notify == libc::SIGEV_THREAD_ID => {
            let Some(tid) = identity::by_number(event.sigev_notify_thread_id) else {
                set_errno(libc::EINVAL);
                return -1;
            };
            (event.sigev_signo, Some(tid as u16), event.sigev_value.sival_ptr as usize)
        }
        Some(_) => (0, None, 0),
    };
    let Some(index) = create(Effect::Signal(signal), target, value) else {
        set_errno(libc::EAGAIN);
        return -1;
    };
    // SAFETY: the caller passes room for a timer.
    unsafe { *timer = index };
    0
}

/// The timer with a number that [`create_timer`] gave.
fn created(timer: usize) -> Option<usize> {
    let known = (CREATED..MOST).contains(&timer) && matches!(run().timers.all[timer].effect, Effect::Signal(_));
    if !known {
        set_errno(libc::EINVAL);
    }
    known.then_some(timer)
}

/// Arms the timer as the two calls that take times do.
fn set(index: usize, flags: i32, new: *const libc::itimerspec, old: *mut libc::itimerspec, pc: u64) -> i32 {
    reads(new as usize, size_of::<libc::itimerspec>(), pc);
    writes(old as usize, size_of::<libc::itimerspec>(), pc);
    // SAFETY: the caller passes times, and room for them or null.
    let (new, old) = unsafe { (new.as_ref(), old.as_mut()) };
    let Some(new) = new else {
        set_errno(libc::EINVAL);
        return -1;
    };
    let before = arm(index, flags & libc::TIMER_ABSTIME != 0, new, pc);
    if let Some(old) = old {
        *old = before;
    }
    0
}

extern "C" fn set_timer(
    timer: usize,
    flags: i32,
    new: *const libc::itimerspec,
    old: *mut libc::itimerspec,
    pc: u64,
) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::timer_settime(timer, flags, new, old) };
    }
    created(timer).map_or(-1, |index| set(index, flags, new, old, pc))
}

extern "C" fn get_timer(timer: usize, old: *mut libc::itimerspec, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::timer_gettime(timer, old) };
    }
    let Some(index) = created(timer) else { return -1 };
    writes(old as usize, size_of::<libc::itimerspec>(), pc);
    // SAFETY: the caller passes room for the times.
    unsafe { *old = left(index) };
    0
}

extern "C" fn delete_timer(timer: usize, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::timer_delete(timer) };
    }
    let Some(index) = created(timer) else { return -1 };
    pending_signals::touch(0, pc);
    name_limit(index, false);
    let setting = run().timers.all[index].setting + 1;
    run().timers.all[index] = Timer { setting, ..Timer::NONE };
    sched::changed(SIGNALS);
    0
}

extern "C" fn overruns(timer: usize) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::timer_getoverrun(timer) };
    }
    created(timer).map_or(-1, |_| 0)
}

extern "C" fn create_descriptor(clock: i32, flags: i32) -> i32 {
    // SAFETY: passes on what the caller gave.
    let descriptor = unsafe { hidden::timerfd_create(clock, flags) };
    if descriptor >= 0 && controlled() {
        let identity = descriptors::new_identity(raddle_vocab::io::ChannelKind::Timer);
        descriptors::set_channel(descriptor, identity);
        crate::interpose::io::descriptor_ends::made(descriptor);
        for timer in &mut run().timers.all {
            if matches!(timer.effect, Effect::Descriptor(identity) if slots::number_of(identity).is_none()) {
                *timer = Timer { setting: timer.setting + 1, ..Timer::NONE };
            }
        }
        if create(Effect::Descriptor(identity), None, 0).is_none() {
            note_limit(limit::DESCRIPTORS);
        }
    }
    descriptor
}

extern "C" fn set_descriptor(
    descriptor: i32,
    flags: i32,
    new: *const libc::itimerspec,
    old: *mut libc::itimerspec,
    pc: u64,
) -> i32 {
    match run().timers.of_descriptor(descriptor) {
        Some(index) if controlled() => set(index, flags, new, old, pc),
        // SAFETY: passes on what the caller gave.
        _ => unsafe { hidden::timerfd_settime(descriptor, flags, new, old) },
    }
}

extern "C" fn get_descriptor(descriptor: i32, old: *mut libc::itimerspec, pc: u64) -> i32 {
    match run().timers.of_descriptor(descriptor) {
        Some(index) if controlled() => {
            writes(old as usize, size_of::<libc::itimerspec>(), pc);
            // SAFETY: the caller passes room for the times.
            unsafe { *old = left(index) };
            0
        }
        // SAFETY: passes on what the caller gave.
        _ => unsafe { hidden::timerfd_gettime(descriptor, old) },
    }
}

/// Waits for a signal that a timer sends.
extern "C" fn pause(pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: no preconditions.
        return unsafe { hidden::pause() };
    }
    if couriers::in_use() {
        couriers::begin_call(InterruptibleCall::Ends, pc);
        run().me().private.call = Some(InterruptibleCall::Ends);
        pending_signals::wait(0, false, pc);
        couriers::end_call();
        set_errno(libc::EINTR);
        return -1;
    }
    // SAFETY: makes an event counter for the runtime's own use.
    let counter = unsafe { syscall!(libc::SYS_eventfd2, 0usize, libc::O_CLOEXEC) } as i32;
    run().me().private.pause = counter;
    if run().timers.next().is_none() {
        note_limit(limit::EXTERNAL_WAIT);
    }
    let op = AnnouncedOp::new(OpKind::Io, SIGNALS, io::waits_for(counter, libc::POLLIN), pc);
    sched::perform(op, Outcome::Done, 0, 0);
    observe();
    let private = &mut run().me().private;
    private.pause = -1;
    let signal = private.pause_signal;
    shared_state::gets_signal(signal, pc);
    // SAFETY: closes the own descriptor; the thread has a handler for the signal.
    unsafe {
        syscall!(libc::SYS_close, counter);
        hidden::raise(signal);
    }
    set_errno(libc::EINTR);
    -1
}

export!(alarm, 1 => set_alarm);
export!(setitimer, 3 => set_interval);
export!(getitimer, 2 => get_interval);
export!(timer_create, 3 => create_timer);
export!(timer_settime, 4 => set_timer);
export!(timer_gettime, 2 => get_timer);
export!(timer_delete, 1 => delete_timer);
hook!(timer_getoverrun, 1 => overruns);
hook!(timerfd_create, 2 => create_descriptor);
export!(timerfd_settime, 4 => set_descriptor);
export!(timerfd_gettime, 2 => get_descriptor);
export!(pause, 0 => pause);
