//! Signals that may arrive at any moment, each with a courier: a thread of the runtime that
//! delivers it (`raddle_vocab::handler`).
//!
//! The sender makes the signal pending and creates the courier. The courier's first operation is
//! enabled while the signal is pending, its target lives, and the target has not blocked it. So the
//! search tries every moment. A signal to the process has a courier for each thread that could take
//! it; the first one takes the signal, and the others wait for ever, which is no deadlock.
//!
//! The courier runs the handler on a stack of its own, as if it were an alternate stack, with the
//! thread-local storage of its target. Meanwhile the target is suspended. To the program the two
//! are one thread: the target owns what the handler locks ([`owner`]), and `pthread_self` is the
//! target's.
//!
//! A signal that its target has blocked when it is sent has no courier: `sigwait` takes it, or the
//! thread itself when it unblocks it, or the courier whose handler had blocked it.
//!
//! All this is for programs that install handlers and send signals or set timers. Other programs
//! have no such scheduling points.

use core::ffi::CStr;
use core::sync::atomic::{AtomicBool, Ordering};

use raddle_vocab::handler::{self, Handling};
use raddle_vocab::io::SIGNALS;
use raddle_vocab::{Misuse, OpKind, Outcome, RunStatus};
use raddle_wire::limit;

use crate::arch::context;
use crate::arch::signal::KernelAction;
use crate::interpose::annotations::section;
use crate::interpose::process::pending_signals::{self, Sent};
use crate::interpose::process::shared_state;
use crate::interpose::process::signal_masks::{self, is_alive};
use crate::interpose::process::{handlers, timers};
use crate::interpose::thread::lifecycle;
use crate::sched::enabled::{CanStep, enabled};
use crate::sched::{self, controller, virtual_time};
use crate::state::{AnnouncedOp, ThreadStatus, run};
use crate::syscall::imports;
use crate::trace;

/// Whether handlers may run at any moment: the program installs them, and sends signals or sets
/// timers.
static IN_USE: AtomicBool = AtomicBool::new(false);

/// Functions that make a signal arrive at another moment than that of the call.
const SENDERS: [&CStr; 9] = [
    c"pthread_kill",
    c"pthread_sigqueue",
    c"tgkill",
    c"kill",
    c"sigqueue",
    c"alarm",
    c"setitimer",
    c"timer_settime",
    c"ualarm",
];
/// Functions that install a handler.
const INSTALLERS: [&CStr; 6] = [c"sigaction", c"signal", c"bsd_signal", c"__sysv_signal", c"sysv_signal", c"sigset"];

/// Finds out whether handlers may run at any moment. Called once, before the first run.
pub fn prepare() {
    let installs = imports::is_any_imported(&INSTALLERS);
    IN_USE.store(installs && imports::is_any_imported(&SENDERS), Ordering::Relaxed);
}

/// Whether handlers may run at any moment.
#[inline]
pub fn in_use() -> bool {
    IN_USE.load(Ordering::Relaxed)
}

/// What a courier delivers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Errand {
    /// The signal.
    pub signal: i32,
    /// The thread that gets it.
    pub target: u16,
    /// Which of the signals sent it is, or which time that a timer was armed.
    pub serial: Serial,
}

/// Where a signal comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Serial {
    /// A thread has sent it; its number among all.
    Sent(u32),
    /// A timer sends it.
    Timer {
        /// Which.
        index: u8,
        /// How often it had been set.
        setting: u32,
    },
}

/// The thread for which this one acts: the target of the handler that it runs, or itself.
#[inline]
pub fn owner(tid: u16) -> u16 {
    if run().couriers == 0 {
        return tid;
    }
    run().fibers[usize::from(tid)].private.acts_for.unwrap_or(tid)
}

/// The thread that the running one is to the program.
#[inline]
pub fn self_id() -> u16 {
    owner(run().hot.tid)
}

/// Whether the thread is none of the program's.
pub fn is_foreign(tid: usize) -> bool {
    let private = &run().fibers[tid].private;
    private.errand.is_some() || private.party.is_some()
}

/// Whether a handler runs in the place of the thread.
#[inline]
pub fn is_suspended(tid: usize) -> bool {
    run().couriers > 0 && run().fibers[tid].private.suspended_by.is_some()
}

/// The thread that a handler for this one would suspend: itself, or the courier whose handler runs
/// in it.
pub fn innermost(target: usize) -> usize {
    let mut tid = target;
    while let Some(courier) = run().fibers[tid].private.suspended_by {
        tid = usize::from(courier);
    }
    tid
}

/// Whether the thread can take the signal now.
pub fn accepts(tid: usize, signal: i32) -> bool {
    is_alive(tid) && !is_foreign(tid) && !signal_masks::blocks(innermost(tid), signal)
}

/// Sends off a courier for a signal that is pending.
pub fn send(errand: Errand, pc: u64) {
    if let Serial::Sent(number) = errand.serial {
        run().signals.note_courier(number);
    }
    lifecycle::create_courier(errand, pc);
}

/// Whether the courier can deliver its signal now.
pub fn can_deliver(tid: usize) -> bool {
    let Some(errand) = run().fibers[tid].private.errand else { return false };
    let onto = innermost(usize::from(errand.target));
    let is_at_rest = matches!(
        run().fibers[onto].status,
        ThreadStatus::Pending | ThreadStatus::AtAccess | ThreadStatus::AtSpinRead | ThreadStatus::EndlessLoop
    );
    is_at_rest
        && !run().fibers[usize::from(errand.target)].private.over
        && !section::is_closed_to(tid as u16)
        && accepts(usize::from(errand.target), errand.signal)
        && match errand.serial {
            Serial::Sent(number) => run().signals.is_next(errand.signal, number),
            Serial::Timer { index, setting } => run().timers.can_go_off(index, setting),
        }
}

/// The body of a courier's thread.
pub extern "C-unwind" fn carry(_argument: usize) -> usize {
    let mut signal = 0;
    while let Some(errand) = run().me().private.errand {
        signal = errand.signal;
        let target = usize::from(errand.target);
        let handling = |onto: usize| Handling {
            target: errand.target,
            onto: onto as u16,
            signal: errand.signal as u8,
            interrupts: false,
        };
        let place = handler::place(errand.signal as u8);
        let announced = AnnouncedOp::new(OpKind::Deliver, SIGNALS, handling(innermost(target)).pack(), place);
        sched::arrive(announced);
        let onto = innermost(target);
        let op = AnnouncedOp { arg: handling(onto).pack(), ..announced };
        let taken = match errand.serial {
            Serial::Sent(number) => run().signals.remove_number(number),
            Serial::Timer { index, .. } => Some(timers::goes_off(index)),
        };
        let Some(sent) = taken else { break };
        begin(target, onto, errand.signal);
        sched::commit(&op, Outcome::Done, 0, 0);
        sched::changed(SIGNALS);
        shared_state::gets_signal(errand.signal, place);
        // Another thread may have changed it since.
        let action = run().handlers[errand.signal as usize];
        if action.handler > libc::SIG_IGN {
            call(action, errand, sent, onto);
        }
        return_to(onto, handling(onto), action);
        run().me().private.errand = next_errand(errand);
    }
    // A courier stays one: no thread joins it.
    run().me().private.errand = Some(Errand { signal, target: 0, serial: Serial::Sent(0) });
    0
}

/// What stands for the end of the running thread, in the place of a code address: nothing, unless
/// it is a courier.
pub fn place_of_end() -> u64 {
    run().me().private.errand.map_or(0, |errand| handler::place(errand.signal as u8))
}

/// The running courier takes the place of a thread, with the signals blocked that the action of its
/// own says.
fn begin(target: usize, onto: usize, signal: i32) {
    let me = run().hot.tid;
    let (clock, blocked) = (run().fibers[onto].clock, run().fibers[onto].blocked);
    run().fibers[onto].private.suspended_by = Some(me);
    virtual_time::not_before(clock);
    let fiber = run().me();
    fiber.private.acts_for = Some(target as u16);
    fiber.private.own_thread_pointer = fiber.thread_pointer;
    fiber.blocked = blocked;
    set_thread_pointer(run().fibers[target].thread_pointer);
    signal_masks::block_in_handler(handlers::blocked_by_handler(run().handlers[signal as usize], signal));
    sched::mark(onto);
}

fn set_thread_pointer(pointer: u64) {
    run().me().thread_pointer = pointer;
    // SAFETY: the pointer of a thread whose storage is there as long as the process is. The thread
    // that it belongs to does not run meanwhile.
    unsafe { context::set_thread_pointer(pointer) };
}

/// Calls the handler, with the signals blocked that its action says.
fn call(action: KernelAction, errand: Errand, sent: Sent, onto: usize) {
    if action.flags & libc::SA_RESETHAND as u64 != 0 {
        handlers::reset(errand.signal);
    }
    let blocked = run().fibers[onto].blocked;
    signal_masks::block_in_handler(handlers::blocked_by_handler(action, errand.signal));
    let mut info = pending_signals::describe(&sent);
    // SAFETY: all-zero is a valid value.
    let mut context: libc::ucontext_t = unsafe { core::mem::zeroed() };
    // SAFETY: the set is longer than a word.
    unsafe { *(&raw mut context.uc_sigmask).cast::<u64>() = blocked };
    let saved = crate::syscall::errno();
    run().me().private.handlers += 1;
    // SAFETY: the program has installed the function as a handler, which is called so.
    unsafe {
        let function: unsafe extern "C-unwind" fn(i32, *mut libc::siginfo_t, *mut libc::ucontext_t) =
            core::mem::transmute(action.handler);
        function(errand.signal, &raw mut info, &raw mut context);
    }
    run().me().private.handlers -= 1;
    if crate::syscall::errno() != saved {
        trace::misuse(Misuse::SignalErrno, 0, errand.signal as u64, action.handler as u64 + 1);
    }
    // SAFETY: as above. The handler may have changed what is blocked behind it.
    let behind = unsafe { *(&raw const context.uc_sigmask).cast::<u64>() };
    if behind != blocked {
        run().fibers[onto].blocked = signal_masks::blockable(behind);
    }
}

/// The handler has returned: the suspended thread goes on.
fn return_to(onto: usize, handling: Handling, action: KernelAction) {
    let suspended = &run().fibers[onto];
    let awaited = suspended.private.call.map_or(0, |_| suspended.pending.obj);
    let announced = AnnouncedOp::new(OpKind::HandlerReturn, awaited, handling.pack(), handler::place(handling.signal));
    sched::arrive(announced);
    let fiber = &mut run().fibers[onto];
    fiber.private.suspended_by = None;
    fiber.clock = fiber.clock.max(run().me().clock);
    let restarts = action.flags & libc::SA_RESTART as u64 != 0;
    let interrupts = action.handler > libc::SIG_IGN
        && enabled(onto) == CanStep::No
        && run().fibers[onto].private.call.is_some_and(|call| call == InterruptibleCall::Ends || !restarts);
    run().fibers[onto].private.interrupted |= interrupts;
    let op = AnnouncedOp { arg: Handling { interrupts, ..handling }.pack(), ..announced };
    let own = run().me().private.own_thread_pointer;
    set_thread_pointer(own);
    let me = run().me();
    me.private.acts_for = None;
    me.blocked = u64::MAX;
    sched::commit(&op, Outcome::Done, 0, 0);
    sched::mark(onto);
    sched::changed(SIGNALS);
}

/// A signal for the same thread that was blocked when it was sent, and no longer is.
fn next_errand(last: Errand) -> Option<Errand> {
    if let Serial::Timer { index, setting } = last.serial
        && run().timers.is_set(index, setting)
    {
        return Some(last);
    }
    let target = usize::from(last.target);
    let blocked = run().fibers[innermost(target)].blocked;
    let sent = run().signals.without_courier(target, !blocked)?;
    let errand = Errand { signal: sent.signal, target: last.target, serial: Serial::Sent(sent.serial) };
    (is_alive(target) && run().handlers[sent.signal as usize].handler > libc::SIG_IGN).then(|| {
        run().signals.note_courier(sent.serial);
        errand
    })
}

/// How a call that waits ends when a handler has interrupted it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InterruptibleCall {
    /// It fails with `EINTR`, unless the handler was installed with `SA_RESTART`.
    Restarts,
    /// It fails with `EINTR` in any case.
    Ends,
}

/// The running thread begins a call that waits: a signal before is one before the call.
pub fn begin_call(call: InterruptibleCall, pc: u64) {
    if in_use() && run().threads > 1 {
        sched::perform(AnnouncedOp::new(OpKind::CallBegin, 0, 0, pc), Outcome::Done, 0, 0);
        run().me().private.call = Some(call);
    }
}

/// The wait of the running thread is over; whether a handler has ended it.
pub fn end_call() -> bool {
    let private = &mut run().me().private;
    private.call = None;
    core::mem::take(&mut private.interrupted)
}

/// The running thread leaves a handler in another way than by returning from it, which is not
/// modelled for one that a courier runs.
pub fn gives_up() -> ! {
    controller::note_limit(limit::TIMER);
    sched::finish(RunStatus::Cut, 0)
}

/// The running thread calls a function that is not async-signal-safe.
#[inline]
pub fn calls_unsafe(pc: u64) {
    if run().couriers > 0 && run().me().private.handlers > 0 {
        trace::misuse(Misuse::AsyncSignalUnsafe, 0, 0, pc);
    }
}

/// The running thread, which is in a handler, is about to make an operation.
pub fn operates(op: &AnnouncedOp) {
    use OpKind as K;
    let is_safe = matches!(
        op.kind,
        K::SemPost
            | K::AtomicLoad
            | K::AtomicStore
            | K::AtomicRmw
            | K::AtomicCas
            | K::Fence
            | K::Read
            | K::Write
            | K::Free
            | K::Io
            | K::Choose
            | K::Deliver
            | K::HandlerReturn
            | K::CallBegin
            | K::Exit
            | K::ThreadStart
            | K::ThreadEnd
    );
    let is_courier = handler::of_place(op.obj).is_some();
    if !is_safe && !is_courier {
        calls_unsafe(op.pc);
    }
}
