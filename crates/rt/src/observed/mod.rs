//! Programs without hooks whose memory accesses are recorded from outside: they run under an
//! emulator, and a plug-in of it (crate `observer`) does for each access of the program's code what
//! a hook would have done. Only what a hook does beside recording is left to the runtime: a thread
//! that has accessed much without a transition lets others run. The plug-in asks for that by a
//! signal.
//!
//! What differs from hooks: an access is seen when it was made, so that no run can be stopped
//! before one. Atomic operations are scheduling points all the same ([`sites`]).

pub mod sites;

use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use raddle_vocab::RunStatus;
use raddle_wire::observed::{MAX_RECENT, RecentAccesses};
use raddle_wire::{config_flag, observed};

use crate::arch::{code, signal};
use crate::sched::{self, controller, startup, timeouts};
use crate::spinloop::{detector, knowledge};
use crate::state::{controlled, process, run};
use crate::syscall::{callers, syscall};

/// The signal of the plug-in. Crashes have handlers already, and no thread blocks their signals in
/// the kernel.
const REQUEST_SIGNAL: i32 = libc::SIGTRAP;

/// Accesses of bytes that have another owner now are others. Goes to the plug-in.
static OWNERS: AtomicU64 = AtomicU64::new(0);

/// Accesses whose values are hashed. Come from the plug-in.
static RECENT: RecentAccesses =
    RecentAccesses { count: AtomicUsize::new(0), accesses: [const { [const { AtomicU64::new(0) }; 2] }; MAX_RECENT] };

/// What the kernel says of a signal that was sent with a value.
#[repr(C)]
struct QueuedSignal {
    signal: i32,
    error: i32,
    code: i32,
    _padding: i32,
    pid: i32,
    uid: u32,
    value: u64,
}

/// Whether a plug-in records the program's accesses.
pub fn is_on() -> bool {
    process().config_flags & config_flag::OBSERVED != 0
}

/// Tells the plug-in where to record. The program's code is known already.
pub fn attach() {
    if !is_on() {
        return;
    }
    let mut port = observed::Port {
        version: observed::VERSION,
        attached: AtomicU64::new(0),
        hot: &raw mut run().hot,
        code: callers::code(),
        // SAFETY: the control page stays mapped.
        limits: unsafe { &raw const (*process().control).limits },
        owners: &raw const OWNERS,
        atomics: sites::atomics(),
        recent: &raw const RECENT,
    };
    // SAFETY: the plug-in reads and writes the port, which outlives the call; the kernel knows no
    // such call.
    unsafe { syscall!(observed::ATTACH, &raw mut port) };
    if port.attached.load(Ordering::Relaxed) != observed::VERSION {
        controller::refuse("the emulator has not loaded raddle's plug-in, or one of another version");
    }
    if callers::code_ranges().count() == observed::MAX_SEGMENTS {
        controller::refuse("the program has more libraries of its own than can be observed");
    }
    translate_again();
    SEGMENTS.store(callers::code_ranges().count(), Ordering::Relaxed);
}

/// Segments of code that the plug-in has known of.
static SEGMENTS: AtomicUsize = AtomicUsize::new(0);

/// Has the emulator translate the program's code anew: what it has translated before it knew that
/// it is the program's is not observed. It forgets its translations of a page that becomes
/// writable.
fn translate_again() {
    with_writable_code(|| {});
}

/// Does something while the program's code can be written. Whole segments change, so that the
/// mappings stay as they are.
fn with_writable_code(action: impl FnOnce()) {
    const EXECUTABLE: usize = (libc::PROT_READ | libc::PROT_EXEC) as usize;
    let protect = |protection: usize| {
        for [start, end] in callers::code_ranges() {
            let (start, end) = (start & !(crate::arch::PAGE - 1), end.next_multiple_of(crate::arch::PAGE));
            // SAFETY: the pages stay as they are, and nothing runs meanwhile.
            let failed = unsafe { syscall!(libc::SYS_mprotect, start, end - start, protection) } < 0;
            if failed {
                controller::refuse("the protection of the program's code cannot be changed");
            }
        }
    };
    protect(EXECUTABLE | libc::PROT_WRITE as usize);
    action();
    protect(EXECUTABLE);
}

/// A run begins.
pub fn begin_run() {
    RECENT.count.store(0, Ordering::Relaxed);
}

/// Tells the detection of spin loops what the running thread has accessed, as hooks would have done
/// at once. Called while values are hashed, before another thread runs.
#[cold]
pub fn take_recent() {
    let count = RECENT.count.swap(0, Ordering::Relaxed);
    if count > MAX_RECENT {
        run().me().read_history.forget();
    }
    for [address, what] in RECENT.accesses.iter().take(count) {
        let (address, what) = (address.load(Ordering::Relaxed), what.load(Ordering::Relaxed));
        let size = what & 0xffff_ffff;
        let (low, high) = run().hot.stack;
        if (what & !RecentAccesses::WRITE) >> RecentAccesses::THREAD != u64::from(run().hot.tid) {
            continue;
        }
        if what & RecentAccesses::WRITE == 0 {
            detector::note_data_read(address, size);
        } else if (low..high).contains(&(address as usize)) {
            detector::note_private_write(address, size);
        } else {
            detector::note_write(address, size);
        }
    }
}

/// Libraries were loaded in a run.
pub fn code_has_changed() {
    let segments = callers::code_ranges().count();
    if is_on() && segments != SEGMENTS.swap(segments, Ordering::Relaxed) {
        // What their constructors did was not recorded.
        controller::note_limit(raddle_wire::limit::LATE_CODE);
        translate_again();
    }
}

/// The running thread asks for memory that may hold code, which is not that of a file.
pub fn makes_code() {
    if is_on() {
        controller::note_limit(raddle_wire::limit::LATE_CODE);
    }
}

/// The program initialises a variable of a function once. Behind that, it reads from the first byte
/// of the guard whether this was done.
pub fn guards(guard: u64) {
    if is_on() {
        sites::add_place(guard, 1);
    }
}

/// An instruction of the program is not known. If the processor would know it, the run ends here.
pub fn meets_unknown_instruction(pc: u64) {
    if is_on() && !code::is_never_valid(pc) {
        controller::note_limit(raddle_wire::limit::INSTRUCTION);
        sched::finish(RunStatus::Cut, 0);
    }
}

/// Bytes have another owner.
pub fn owner_changes() {
    OWNERS.fetch_add(1, Ordering::Relaxed);
}

/// Whether the signal comes from the plug-in.
///
/// # Safety
/// The description must be the kernel's.
pub unsafe fn is_request(number: i32, info: *const libc::siginfo_t) -> bool {
    const QUEUED: i32 = -1;
    let info = info.cast::<QueuedSignal>();
    // SAFETY: the caller's promise; a signal with this code has a sender and a value.
    number == REQUEST_SIGNAL
        && is_on()
        && unsafe { (*info).code == QUEUED && (*info).pid == process().pid && (*info).value == observed::REQUEST }
}

/// The running thread has accessed much without a transition.
///
/// # Safety
/// The pointers must be those passed to the handler that runs.
pub unsafe fn on_request(info: *mut libc::siginfo_t, context: *mut libc::ucontext_t) {
    // SAFETY: the caller's promise.
    let pc = signal::program_counter(unsafe { &*context });
    let is_elsewhere = startup::is_runtime_code(pc) || !callers::is_program(pc);
    // Elsewhere, the next access of the program asks again.
    if controlled() && !is_elsewhere {
        // SAFETY: the caller's promise; the thread is in code of the program, on its stack.
        unsafe { signal::call_before_going_on(info, context) };
    }
}

/// Called in the place of the interrupted instruction, on the thread's own stack. True if the
/// plug-in has asked for it.
pub fn interrupted() -> bool {
    if !is_on() {
        return false;
    }
    if sites::has_news() {
        knowledge::restart_run();
    }
    take_recent();
    let (wrote, epoch) = (core::mem::take(&mut run().hot.wrote), run().hot.epoch);
    let before =
        if STRETCHES.0.swap(epoch, Ordering::Relaxed) == epoch { STRETCHES.1.load(Ordering::Relaxed) } else { 0 };
    STRETCHES.1.store(before + 1, Ordering::Relaxed);
    if wrote {
        timeouts::progress();
    }
    // It may wait for another thread, even if it writes meanwhile.
    if !wrote || before >= WRITING_STRETCHES {
        sched::yield_in_stretch();
    }
    true
}

/// The epoch in which the plug-in asked last, and how often it has in that epoch.
static STRETCHES: (AtomicU64, AtomicU32) = (AtomicU64::new(0), AtomicU32::new(0));

/// How often it asks before a thread that writes meanwhile lets others run.
const WRITING_STRETCHES: u32 = sched::LONG_WRITING_STRETCH / sched::LONG_STRETCH;
