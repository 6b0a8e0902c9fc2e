//! Signal handlers of the program.
//!
//! The kernel calls [`crash::on_signal`] for every signal that the program handles, on a stack of
//! the runtime: the kernel cannot write its frame to a page that the snapshot protects. [`relay`]
//! then moves the frame to the stack where the kernel would have put it, which is the thread's own
//! or its alternate one, and goes on with the program's handler there. So the handler may wait for
//! other threads like any code of its thread. Meanwhile the signals of its mask are blocked, and
//! its own unless `SA_NODEFER` says otherwise. What its frame keeps is blocked again when it
//! returns ([`returned`]), or what `sigsetjmp` has kept when it jumps out ([`jumps`]).

use core::ffi::c_void;
use core::sync::atomic::{AtomicBool, Ordering};

use crate::arch::RED_ZONE;
use crate::arch::entry::export;
use crate::arch::signal::{self, KernelAction};
use crate::interpose::buffers::{reads, writes};
use crate::interpose::io::regular_files::FileAccess;
use crate::interpose::process::couriers;
use crate::interpose::process::crash::{self, CRASHES};
use crate::interpose::process::shared_state::{self, SharedPart};
use crate::interpose::process::signal_masks;
use crate::restore::undo;
use crate::state::{controlled, run};
use crate::syscall::libc_real::real;
use crate::syscall::set_errno;
use crate::trace::faults::{self, Fault};

real! { hidden:
    fn sigaction(signal: i32, new: *const libc::sigaction, old: *mut libc::sigaction) -> i32;
    fn signal(signal: i32, handler: usize) -> usize;
    fn __sysv_signal(signal: i32, handler: usize) -> usize;
    fn sigset(signal: i32, handler: usize) -> usize;
    fn sighold(signal: i32) -> i32;
    fn sigrelse(signal: i32) -> i32;
    fn sigignore(signal: i32) -> i32;
    fn sigaltstack(new: *const libc::stack_t, old: *mut libc::stack_t) -> i32;
}

/// `SIG_HOLD` of `sigset`.
const HOLD: usize = 2;

/// Whether a frame is being moved: a fault meanwhile is one of the stack.
static MOVING: AtomicBool = AtomicBool::new(false);

/// Whether the present fault comes from moving a frame, which then does not go on.
pub fn fails_to_relay() -> bool {
    MOVING.swap(false, Ordering::Relaxed)
}

/// The alternate stack of the running thread, if it has one.
fn alternate() -> Option<core::ops::Range<usize>> {
    let (start, bytes) = run().me().private.signal_stack;
    (bytes != 0).then_some(start..start + bytes)
}

/// Goes on with the program's handler when [`crash::on_signal`] returns.
///
/// # Safety
/// The pointers must be those that the kernel passed to the handler.
pub unsafe fn relay(action: KernelAction, number: i32, info: *mut libc::siginfo_t, context: *mut libc::ucontext_t) {
    // SAFETY: the caller's promise.
    let (frame, sp) = unsafe { (signal::frame(info, context), signal::stack_pointer(&*context)) };
    let wants_alternate = action.flags & libc::SA_ONSTACK as u64 != 0;
    let top = match alternate().filter(|stack| wants_alternate && !stack.contains(&sp)) {
        Some(stack) => stack.end,
        None => sp - RED_ZONE,
    };
    if action.flags & libc::SA_RESETHAND as u64 != 0 {
        run().handlers[number as usize] = KernelAction::DEFAULT;
    }
    // SAFETY: the caller's promise.
    let faulted = unsafe { fault(number, &*info, &*context) }.and_then(|fault| faults::withdraw(&fault));
    let me = run().me();
    // `sigsuspend` keeps the set from before its call.
    let behind = me.private.blocked_behind_handler.take().unwrap_or(me.blocked);
    MOVING.store(true, Ordering::Relaxed);
    // SAFETY: the frame is the one that the kernel made for this signal. Where its new place is not
    // writable, the fault is reported as the program's.
    unsafe { signal::move_frame(frame, top, action.handler, number, info, context) };
    MOVING.store(false, Ordering::Relaxed);
    // SAFETY: the caller's promise; the frame was moved.
    unsafe { signal::set_blocked(context, behind, signal_masks::handler_begins(blocked_by_handler(action, number))) };
    if let Some(faulted) = faulted {
        // SAFETY: as above.
        faults::keep(faulted, unsafe { signal::moved_context(context) });
    }
}

/// The fault of an access that the signal stands for, if it is one.
///
/// # Safety
/// The description must be the kernel's.
unsafe fn fault(number: i32, info: &libc::siginfo_t, context: &libc::ucontext_t) -> Option<Fault> {
    /// The kernel does not say which address.
    const UNKNOWN: i32 = 0x80;
    if !controlled() || !matches!(number, libc::SIGSEGV | libc::SIGBUS) || info.si_code <= 0 {
        return None;
    }
    // SAFETY: a fault comes with an address.
    let address = (info.si_code != UNKNOWN).then(|| unsafe { info.si_addr() } as u64);
    Some(Fault { address, instruction: signal::program_counter(context) })
}

/// The program's handler has returned: what its frame keeps is blocked again.
///
/// # Safety
/// The context must be the one that the handler was given.
pub unsafe extern "C" fn returned(context: *mut libc::ucontext_t) {
    // SAFETY: the caller's promise.
    let kept = unsafe { signal::blocked(context) };
    if controlled() {
        signal_masks::changes_to(kept, run().me().pending.pc);
    }
    let blocked = signal_masks::go_back_to(kept);
    // SAFETY: as above.
    unsafe { signal::set_kept(context, blocked) };
    if controlled() {
        // SAFETY: as above.
        faults::handler_returns(context as usize, signal::program_counter(unsafe { &*context }));
    }
}

/// The program is about to jump to where it has called `setjmp` or `sigsetjmp`.
pub fn jumps(buffer: usize) {
    /// Where the buffer says whether signals were kept, and which: behind eight registers.
    const IS_KEPT: usize = 64;
    const KEPT: usize = 72;
    if controlled() {
        if run().me().private.acts_for.is_some() && !is_own_stack(signal::jump_target(buffer)) {
            couriers::gives_up();
        }
        // SAFETY: the program passes a buffer that the C library has filled.
        let kept = unsafe { (*((buffer + IS_KEPT) as *const i32) != 0).then(|| *((buffer + KEPT) as *const u64)) };
        if let Some(kept) = kept {
            signal_masks::changes_to(kept, run().me().pending.pc);
            signal_masks::go_back_to(kept);
        }
    }
}

/// Whether the address lies on the stack of the running thread.
fn is_own_stack(address: usize) -> bool {
    let (low, high) = run().hot.stack;
    (low..high).contains(&address)
}

/// What the program has set for a signal that the kernel passes to the runtime.
fn as_program_sees(slot: KernelAction) -> libc::sigaction {
    // SAFETY: all-zero is a valid value.
    let mut action: libc::sigaction = unsafe { core::mem::zeroed() };
    action.sa_sigaction = slot.handler;
    action.sa_flags = slot.flags as i32;
    // SAFETY: the set is longer than a word.
    unsafe { *(&raw mut action.sa_mask).cast::<u64>() = slot.mask };
    action
}

fn as_slot(action: &libc::sigaction) -> KernelAction {
    KernelAction {
        handler: action.sa_sigaction,
        flags: action.sa_flags as u32 as u64,
        // SAFETY: the set is longer than a word.
        mask: unsafe { *(&raw const action.sa_mask).cast::<u64>() },
        ..KernelAction::DEFAULT
    }
}

/// Whether the signal has no effect where it is not blocked.
pub fn is_ignored(number: i32) -> bool {
    const IGNORED: [i32; 4] = [libc::SIGCHLD, libc::SIGCONT, libc::SIGURG, libc::SIGWINCH];
    let action = if CRASHES.contains(&number) {
        run().handlers[number as usize].handler
    } else {
        // SAFETY: all-zero is a valid value.
        let mut present: libc::sigaction = unsafe { core::mem::zeroed() };
        // SAFETY: asks for the present action.
        unsafe { hidden::sigaction(number, core::ptr::null(), &raw mut present) };
        present.sa_sigaction
    };
    action == libc::SIG_IGN || action == libc::SIG_DFL && IGNORED.contains(&number)
}

/// The handler of the signal is gone, as its action says.
pub fn reset(number: i32) {
    undo::save_action(number);
    run().handlers[number as usize] = KernelAction::DEFAULT;
    if !CRASHES.contains(&number) {
        // SAFETY: all-zero is the default action; it is a local.
        unsafe { hidden::sigaction(number, &core::mem::zeroed(), core::ptr::null_mut()) };
    }
}

/// Signals that are blocked while the handler runs, in addition.
pub fn blocked_by_handler(action: KernelAction, number: i32) -> u64 {
    let own = if action.flags & libc::SA_NODEFER as u64 != 0 { 0 } else { signal_masks::bit(number) };
    action.mask | own
}

/// `sigaction`, under control.
fn change(number: i32, new: Option<&libc::sigaction>, pc: u64) -> Option<libc::sigaction> {
    if new.is_some() {
        shared_state::installs_handler(number, pc);
    } else {
        shared_state::touch(SharedPart::Action(number), FileAccess::Observe, pc);
    }
    if CRASHES.contains(&number) {
        let slot = &mut run().handlers[number as usize];
        let before = as_program_sees(*slot);
        if let Some(new) = new {
            *slot = as_slot(new);
        }
        return Some(before);
    }
    // SAFETY: all-zero is a valid value.
    let mut before: libc::sigaction = unsafe { core::mem::zeroed() };
    // SAFETY: asks for the present action.
    if unsafe { hidden::sigaction(number, core::ptr::null(), &raw mut before) } < 0 {
        return None;
    }
    if before.sa_sigaction == crash::handler() {
        before = as_program_sees(run().handlers[number as usize]);
    }
    if let Some(new) = new {
        undo::save_action(number);
        let mut action = *new;
        run().handlers[number as usize] = as_slot(new);
        if new.sa_sigaction > libc::SIG_IGN {
            const KEPT: i32 = libc::SA_RESTART | libc::SA_RESETHAND | libc::SA_NOCLDSTOP | libc::SA_NOCLDWAIT;
            action.sa_sigaction = crash::handler();
            action.sa_flags = new.sa_flags & KEPT | libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
        }
        // SAFETY: all-zero is the empty set.
        action.sa_mask = unsafe { core::mem::zeroed() };
        // SAFETY: the action is a local.
        if unsafe { hidden::sigaction(number, &raw const action, core::ptr::null_mut()) } < 0 {
            return None;
        }
    }
    Some(before)
}

extern "C" fn set_action(number: i32, new: *const libc::sigaction, old: *mut libc::sigaction, pc: u64) -> i32 {
    if !controlled() || !(1..=64).contains(&number) {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::sigaction(number, new, old) };
    }
    reads(new as usize, size_of::<libc::sigaction>(), pc);
    // SAFETY: null, or the caller passes an action.
    let Some(before) = change(number, unsafe { new.as_ref() }, pc) else { return -1 };
    writes(old as usize, size_of::<libc::sigaction>(), pc);
    if !old.is_null() {
        // SAFETY: not null, so the caller passes room for an action.
        unsafe { *old = before };
    }
    0
}

/// Sets a handler with these flags; the one before, or `SIG_ERR`.
fn set_with(number: i32, handler: usize, flags: i32, pc: u64) -> usize {
    // SAFETY: all-zero is a valid value.
    let mut new: libc::sigaction = unsafe { core::mem::zeroed() };
    new.sa_sigaction = handler;
    new.sa_flags = flags;
    if !(1..=64).contains(&number) || handler == libc::SIG_ERR {
        set_errno(libc::EINVAL);
        return libc::SIG_ERR;
    }
    change(number, Some(&new), pc).map_or(libc::SIG_ERR, |before| before.sa_sigaction)
}

extern "C" fn set_handler(number: i32, handler: usize, pc: u64) -> usize {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::signal(number, handler) };
    }
    set_with(number, handler, libc::SA_RESTART, pc)
}

/// `signal` as System V has it, and as `-std=c99` and `_XOPEN_SOURCE` give it: for one signal.
extern "C" fn set_handler_once(number: i32, handler: usize, pc: u64) -> usize {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::__sysv_signal(number, handler) };
    }
    set_with(number, handler, libc::SA_RESETHAND | libc::SA_NODEFER, pc)
}

/// Blocks or unblocks one signal; whether it was blocked.
fn hold(number: i32, how: i32, pc: u64) -> Option<bool> {
    if !(1..=64).contains(&number) {
        set_errno(libc::EINVAL);
        return None;
    }
    let was = signal_masks::blocks(usize::from(run().hot.tid), number);
    let set = 1u64 << (number - 1);
    signal_masks::change(how, &raw const set, core::ptr::null_mut(), pc);
    Some(was)
}

extern "C" fn set_disposition(number: i32, disposition: usize, pc: u64) -> usize {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::sigset(number, disposition) };
    }
    let how = if disposition == HOLD { libc::SIG_BLOCK } else { libc::SIG_UNBLOCK };
    let before = if disposition == HOLD {
        change(number, None, pc).map_or(libc::SIG_ERR, |before| before.sa_sigaction)
    } else {
        set_with(number, disposition, 0, pc)
    };
    match hold(number, how, pc) {
        Some(true) if before != libc::SIG_ERR => HOLD,
        Some(_) => before,
        None => libc::SIG_ERR,
    }
}

extern "C" fn hold_signal(number: i32, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::sighold(number) };
    }
    if hold(number, libc::SIG_BLOCK, pc).is_some() { 0 } else { -1 }
}

extern "C" fn release_signal(number: i32, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::sigrelse(number) };
    }
    if hold(number, libc::SIG_UNBLOCK, pc).is_some() { 0 } else { -1 }
}

extern "C" fn ignore_signal(number: i32, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::sigignore(number) };
    }
    if set_with(number, libc::SIG_IGN, 0, pc) == libc::SIG_ERR { -1 } else { 0 }
}

/// `sigaltstack`, under control: an error code.
fn use_stack(new: Option<&libc::stack_t>, old: Option<&mut libc::stack_t>) -> i32 {
    let here = 0u8;
    let is_in_use = alternate().is_some_and(|stack| stack.contains(&(&raw const here as usize)));
    let (start, bytes) = run().me().private.signal_stack;
    if let Some(new) = new {
        if is_in_use {
            return libc::EPERM;
        }
        run().me().private.signal_stack = match new.ss_flags & libc::SS_DISABLE {
            0 if new.ss_size < libc::MINSIGSTKSZ => return libc::ENOMEM,
            0 => (new.ss_sp as usize, new.ss_size),
            _ => (0, 0),
        };
    }
    if let Some(old) = old {
        let flags = match bytes {
            0 => libc::SS_DISABLE,
            _ if is_in_use => libc::SS_ONSTACK,
            _ => 0,
        };
        *old = libc::stack_t { ss_sp: start as *mut c_void, ss_flags: flags, ss_size: bytes };
    }
    0
}

/// The kernel's alternate stack is the runtime's; each thread of the program has one of its own.
extern "C" fn set_stack(new: *const libc::stack_t, old: *mut libc::stack_t, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::sigaltstack(new, old) };
    }
    reads(new as usize, size_of::<libc::stack_t>(), pc);
    writes(old as usize, size_of::<libc::stack_t>(), pc);
    // SAFETY: null, or the caller passes a stack and room for one.
    match use_stack(unsafe { new.as_ref() }, unsafe { old.as_mut() }) {
        0 => 0,
        code => {
            set_errno(code);
            -1
        }
    }
}

export!(sigaction, 3 => set_action);
export!(__sigaction, 3 => set_action);
export!(signal, 2 => set_handler);
export!(bsd_signal, 2 => set_handler);
export!(ssignal, 2 => set_handler);
export!(sysv_signal, 2 => set_handler_once);
export!(__sysv_signal, 2 => set_handler_once);
export!(sigset, 2 => set_disposition);
export!(sighold, 1 => hold_signal);
export!(sigrelse, 1 => release_signal);
export!(sigignore, 1 => ignore_signal);
export!(sigaltstack, 2 => set_stack);
