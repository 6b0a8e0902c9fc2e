//! Scheduling policies and priorities of threads, by the rules of Linux. The host decides the
//! schedule, so they have no effect but for what the program is told: what a thread was given is
//! stored here, and never passed to the kernel. Whether the program may raise a priority follows
//! from its capabilities and limits, as in the kernel. A call that reads or changes what belongs to
//! a thread is a transition.

use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

use raddle_vocab::policy::mix;

use crate::arch::entry::export;
use crate::interpose::buffers::{reads, writes};
use crate::interpose::io::regular_files::FileAccess;
use crate::interpose::process::couriers;
use crate::interpose::process::settings::{self, SYS_NICE, has_capability, with_errno};
use crate::interpose::process::shared_state::{self, SharedPart};
use crate::interpose::thread::identity;
use crate::library::calls;
use crate::state::{controlled, run};
use crate::syscall::libc_real::real;
use crate::syscall::{set_errno, syscall};

real! { hidden:
    fn pthread_setschedparam(thread: u64, policy: i32, parameter: *const libc::sched_param) -> i32;
    fn pthread_getschedparam(thread: u64, policy: *mut i32, parameter: *mut libc::sched_param) -> i32;
    fn pthread_setschedprio(thread: u64, priority: i32) -> i32;
    fn sched_setscheduler(process: i32, policy: i32, parameter: *const libc::sched_param) -> i32;
    fn sched_getscheduler(process: i32) -> i32;
    fn sched_setparam(process: i32, parameter: *const libc::sched_param) -> i32;
    fn sched_getparam(process: i32, parameter: *mut libc::sched_param) -> i32;
    fn getpriority(which: i32, who: u32) -> i32;
    fn setpriority(which: i32, who: u32, nice: i32) -> i32;
    fn nice(by: i32) -> i32;
    fn pthread_attr_getinheritsched(attr: *const libc::pthread_attr_t, inherit: *mut i32) -> i32;
    fn pthread_attr_getschedpolicy(attr: *const libc::pthread_attr_t, policy: *mut i32) -> i32;
    fn pthread_attr_getschedparam(attr: *const libc::pthread_attr_t, parameter: *mut libc::sched_param) -> i32;
}

/// How a thread is scheduled.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Scheduling {
    policy: i32,
    priority: i32,
    nice: i32,
    /// Whether threads that it creates are scheduled in the ordinary way.
    resets: bool,
}

/// Functions that change how threads are scheduled.
const SETTERS: [&[u8]; 7] = [
    b"pthread_setschedparam",
    b"pthread_setschedprio",
    b"sched_setscheduler",
    b"sched_setparam",
    b"setpriority",
    b"nice",
    b"syscall",
];

/// Whether a module of the program imports one of them.
static CHANGES: AtomicBool = AtomicBool::new(false);

/// A module of the program imports a function of this name.
pub fn imported(name: &[u8]) {
    if SETTERS.contains(&name) {
        CHANGES.store(true, Relaxed);
    }
}

const EXPLICIT: i32 = 1;
const NORMAL: i32 = libc::SCHED_OTHER;
const BATCH: i32 = libc::SCHED_BATCH;
const IDLE: i32 = libc::SCHED_IDLE;

impl Scheduling {
    /// That of the process when it was started.
    fn at_start() -> Self {
        let mut parameter = libc::sched_param { sched_priority: 0 };
        // SAFETY: questions about the calling thread; the kernel writes to the local.
        let (policy, nice) = unsafe {
            syscall!(libc::SYS_sched_getparam, 0, &raw mut parameter);
            (syscall!(libc::SYS_sched_getscheduler, 0), syscall!(libc::SYS_getpriority, libc::PRIO_PROCESS, 0))
        };
        let policy = policy as i32;
        Scheduling {
            policy: policy & !libc::SCHED_RESET_ON_FORK,
            priority: parameter.sched_priority,
            nice: 20 - nice as i32,
            resets: policy & libc::SCHED_RESET_ON_FORK != 0,
        }
    }

    fn is_real_time(&self) -> bool {
        matches!(self.policy, libc::SCHED_FIFO | libc::SCHED_RR)
    }

    /// What a new thread of one that is scheduled so gets.
    fn inherited(self) -> Self {
        if !self.resets {
            return self;
        }
        let policy = if self.is_real_time() { NORMAL } else { self.policy };
        Scheduling { policy, priority: 0, nice: self.nice.max(0), resets: false }
    }

    /// A number for it.
    pub fn digest(&self) -> u64 {
        let [policy, priority, nice] = [self.policy, self.priority, self.nice].map(|word| u64::from(word as u32));
        mix(policy << 32 ^ priority ^ nice << 8 ^ u64::from(self.resets) << 63)
    }
}

fn of(tid: usize) -> Scheduling {
    run().fibers[tid].private.schedule.unwrap_or_else(Scheduling::at_start)
}

/// A new thread is scheduled as its creator, unless that was told otherwise.
pub fn inherit(parent: usize, child: usize) {
    let run = run();
    run.fibers[child].private.schedule = run.fibers[parent].private.schedule.map(Scheduling::inherited);
}

/// The soft limit of a resource.
fn soft_limit(resource: u32) -> u64 {
    settings::limit(resource).0
}

/// Whether the program may be as nice as this.
fn may_be_nice(nice: i32) -> bool {
    soft_limit(libc::RLIMIT_NICE) >= (20 - nice) as u64 || has_capability(SYS_NICE)
}

/// A change of policy and priority, if the kernel would allow it.
fn change(before: Scheduling, policy: i32, priority: i32) -> Result<Scheduling, i32> {
    let resets = policy & libc::SCHED_RESET_ON_FORK != 0;
    let after = Scheduling { policy: policy & !libc::SCHED_RESET_ON_FORK, priority, resets, ..before };
    let is_valid = match after.policy {
        libc::SCHED_FIFO | libc::SCHED_RR => (1..=99).contains(&priority),
        NORMAL | BATCH | IDLE => priority == 0,
        _ => false,
    };
    if !is_valid {
        return Err(libc::EINVAL);
    }
    let limit = soft_limit(libc::RLIMIT_RTPRIO);
    let rises = after.is_real_time()
        && (after.policy != before.policy && limit == 0 || priority > before.priority && priority as u64 > limit);
    let wakes = before.policy == IDLE && after.policy != IDLE && !may_be_nice(before.nice);
    if (rises || wakes || before.resets && !resets) && !has_capability(SYS_NICE) {
        return Err(libc::EPERM);
    }
    Ok(after)
}

fn touch(tid: usize, how: FileAccess, pc: u64) {
    shared_state::touch(SharedPart::Schedule(run().fibers[tid].key), how, pc);
}

fn set(tid: usize, policy: Option<i32>, priority: i32, pc: u64) -> i32 {
    touch(tid, FileAccess::Change, pc);
    let before = of(tid);
    match change(before, policy.unwrap_or(before.policy), priority) {
        Ok(after) => {
            run().fibers[tid].private.schedule = Some(after);
            0
        }
        Err(error) => error,
    }
}

/// What attributes of a new thread ask for; an error number if the thread cannot be created so.
pub fn asked_for(attr: *const libc::pthread_attr_t, pc: u64) -> Result<Option<Scheduling>, i32> {
    let me = usize::from(couriers::self_id());
    let (mut inherit, mut policy) = (0, 0);
    let mut parameter = libc::sched_param { sched_priority: 0 };
    if !attr.is_null() {
        // SAFETY: the caller passes an attribute object; the results are locals.
        unsafe {
            hidden::pthread_attr_getinheritsched(attr, &raw mut inherit);
            hidden::pthread_attr_getschedpolicy(attr, &raw mut policy);
            hidden::pthread_attr_getschedparam(attr, &raw mut parameter);
        }
    }
    let is_explicit = inherit == EXPLICIT;
    if is_explicit || CHANGES.load(Relaxed) {
        touch(me, FileAccess::Observe, pc);
    }
    if !is_explicit {
        return Ok(None);
    }
    change(of(me).inherited(), policy, parameter.sched_priority).map(Some)
}

/// The thread with this number, 0 being the running one; a negative error.
fn by_number(number: i32) -> Result<usize, i64> {
    match number {
        0 => Ok(usize::from(couriers::self_id())),
        _ => identity::by_number(number).ok_or(-i64::from(libc::ESRCH)),
    }
}

/// `sched_setscheduler`, or without a policy `sched_setparam`, as the kernel's call.
pub fn set_by_number(number: i32, policy: Option<i32>, parameter: *const libc::sched_param, pc: u64) -> i64 {
    // SAFETY: the caller passes a parameter or null.
    let Some(parameter) = (unsafe { parameter.as_ref() }).filter(|_| number >= 0 && policy.is_none_or(|p| p >= 0))
    else {
        return -i64::from(libc::EINVAL);
    };
    reads(core::ptr::from_ref(parameter) as usize, size_of::<libc::sched_param>(), pc);
    match by_number(number) {
        Ok(tid) => -i64::from(set(tid, policy, parameter.sched_priority, pc)),
        Err(error) => error,
    }
}

/// `sched_getscheduler` as the kernel's call.
pub fn policy_of(number: i32, pc: u64) -> i64 {
    let tid = match by_number(number) {
        Ok(tid) => tid,
        Err(error) => return error,
    };
    touch(tid, FileAccess::Observe, pc);
    let Scheduling { policy, resets, .. } = of(tid);
    i64::from(if resets { policy | libc::SCHED_RESET_ON_FORK } else { policy })
}

/// `sched_getparam` as the kernel's call.
pub fn parameter_of(number: i32, into: *mut libc::sched_param, pc: u64) -> i64 {
    if into.is_null() || number < 0 {
        return -i64::from(libc::EINVAL);
    }
    let tid = match by_number(number) {
        Ok(tid) => tid,
        Err(error) => return error,
    };
    touch(tid, FileAccess::Observe, pc);
    writes(into as usize, size_of::<libc::sched_param>(), pc);
    // SAFETY: the caller passes room for the parameter.
    unsafe { (*into).sched_priority = of(tid).priority };
    0
}

/// `getpriority` as the kernel's call: 20 minus what the library returns. Priorities of groups and
/// users are not modelled.
pub fn priority_of(which: i32, who: i32, pc: u64) -> i64 {
    if which != libc::PRIO_PROCESS as i32 {
        calls::note(b"getpriority", pc);
        // SAFETY: a question.
        return unsafe { syscall!(libc::SYS_getpriority, which, who) as i64 };
    }
    match by_number(who) {
        Ok(tid) => {
            touch(tid, FileAccess::Observe, pc);
            i64::from(20 - of(tid).nice)
        }
        Err(error) => error,
    }
}

/// `setpriority` as the kernel's call.
pub fn set_priority(which: i32, who: i32, nice: i32, pc: u64) -> i64 {
    if which != libc::PRIO_PROCESS as i32 {
        calls::note(b"setpriority", pc);
        crate::restore::undo::needs_own_process();
        // SAFETY: what the program asks of the kernel.
        return unsafe { syscall!(libc::SYS_setpriority, which, who, nice) as i64 };
    }
    let tid = match by_number(who) {
        Ok(tid) => tid,
        Err(error) => return error,
    };
    touch(tid, FileAccess::Change, pc);
    let (before, nice) = (of(tid), nice.clamp(-20, 19));
    if nice < before.nice && !may_be_nice(nice) {
        return -i64::from(libc::EACCES);
    }
    run().fibers[tid].private.schedule = Some(Scheduling { nice, ..before });
    0
}

extern "C" fn set_of_thread(handle: u64, policy: i32, parameter: *const libc::sched_param, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::pthread_setschedparam(handle, policy, parameter) };
    }
    reads(parameter as usize, size_of::<libc::sched_param>(), pc);
    // SAFETY: the caller passes a parameter.
    let priority = unsafe { (*parameter).sched_priority };
    identity::thread(handle, pc).map_or(libc::ESRCH, |tid| set(tid, Some(policy), priority, pc))
}

extern "C" fn set_priority_of_thread(handle: u64, priority: i32, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::pthread_setschedprio(handle, priority) };
    }
    identity::thread(handle, pc).map_or(libc::ESRCH, |tid| set(tid, None, priority, pc))
}

extern "C" fn get_of_thread(handle: u64, policy: *mut i32, parameter: *mut libc::sched_param, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::pthread_getschedparam(handle, policy, parameter) };
    }
    let Some(tid) = identity::thread(handle, pc) else { return libc::ESRCH };
    touch(tid, FileAccess::Observe, pc);
    writes(policy as usize, size_of::<i32>(), pc);
    writes(parameter as usize, size_of::<libc::sched_param>(), pc);
    let schedule = of(tid);
    // SAFETY: the caller passes room for both.
    unsafe {
        *policy = schedule.policy;
        (*parameter).sched_priority = schedule.priority;
    }
    0
}

extern "C" fn set_scheduler(process: i32, policy: i32, parameter: *const libc::sched_param, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::sched_setscheduler(process, policy, parameter) };
    }
    with_errno(set_by_number(process, Some(policy), parameter, pc))
}

extern "C" fn get_scheduler(process: i32, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::sched_getscheduler(process) };
    }
    with_errno(policy_of(process, pc))
}

extern "C" fn set_parameter(process: i32, parameter: *const libc::sched_param, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::sched_setparam(process, parameter) };
    }
    with_errno(set_by_number(process, None, parameter, pc))
}

extern "C" fn get_parameter(process: i32, into: *mut libc::sched_param, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::sched_getparam(process, into) };
    }
    with_errno(parameter_of(process, into, pc))
}

extern "C" fn get_nice(which: i32, who: u32, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::getpriority(which, who) };
    }
    match priority_of(which, who as i32, pc) {
        error @ ..0 => with_errno(error),
        answer => 20 - answer as i32,
    }
}

extern "C" fn set_nice(which: i32, who: u32, nice: i32, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::setpriority(which, who, nice) };
    }
    with_errno(set_priority(which, who as i32, nice, pc))
}

extern "C" fn be_nicer(by: i32, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::nice(by) };
    }
    let before = of(usize::from(couriers::self_id())).nice;
    if set_priority(libc::PRIO_PROCESS as i32, 0, before.saturating_add(by), pc) < 0 {
        set_errno(libc::EPERM);
        return -1;
    }
    of(usize::from(couriers::self_id())).nice
}

export!(pthread_setschedparam, 3 => set_of_thread);
export!(pthread_getschedparam, 3 => get_of_thread);
export!(pthread_setschedprio, 2 => set_priority_of_thread);
export!(sched_setscheduler, 3 => set_scheduler);
export!(sched_getscheduler, 1 => get_scheduler);
export!(sched_setparam, 2 => set_parameter);
export!(sched_getparam, 2 => get_parameter);
export!(getpriority, 2 => get_nice);
export!(setpriority, 3 => set_nice);
export!(nice, 1 => be_nicer);
