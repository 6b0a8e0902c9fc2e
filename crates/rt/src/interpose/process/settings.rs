//! ProcessSettings of the process and of its threads that the kernel keeps: what `prctl` and
//! `setrlimit` set.
//!
//! A setting that changes nothing that a program can notice but what it is told when it asks (the
//! slack of timers, whether core files are written) is kept here and never passed on. So the end of
//! the run undoes it. Those of the process are objects of the search; those of a thread only itself
//! can set.
//!
//! Limits of resources that later calls feel (sizes of files, numbers of descriptors) are set in
//! the kernel, by a run in a process of its own. To ask for them and to set them are transitions;
//! that a call of another thread feels them is not, so a program that sets one while it has several
//! threads is told that this is not part of the search. So are other settings of `prctl`.

use raddle_vocab::policy::mix;

use crate::arch::entry::export;
use crate::interpose::buffers::{reads, writes};
use crate::interpose::io::regular_files::FileAccess;
use crate::interpose::process::couriers;
use crate::interpose::process::shared_state::{self, SharedPart};
use crate::library::calls;
use crate::restore::snapshot::touch;
use crate::restore::undo;
use crate::state::{controlled, process, run};
use crate::syscall::libc_real::real;
use crate::syscall::{set_errno, syscall};

real! { hidden:
    fn prlimit64(process: i32, resource: i32, new: *const libc::rlimit, old: *mut libc::rlimit) -> i32;
}

/// Kinds of resources that have a limit.
const RESOURCES: usize = 16;

/// ProcessSettings of the process, as far as the run has set them.
pub struct ProcessSettings {
    dumpable: Option<bool>,
    adopts_orphans: Option<bool>,
    no_huge_pages: Option<bool>,
    limits: [Option<(u64, u64)>; RESOURCES],
    /// Whether anything was set, here or for a thread.
    used: bool,
}

impl ProcessSettings {
    /// As the process was started.
    pub const AT_START: ProcessSettings = ProcessSettings {
        dumpable: None,
        adopts_orphans: None,
        no_huge_pages: None,
        limits: [None; RESOURCES],
        used: false,
    };

    /// A number for what the run has set; 0 if that is nothing.
    pub fn digest(&self) -> u64 {
        if !self.used {
            return 0;
        }
        let flags = [self.dumpable, self.adopts_orphans, self.no_huge_pages];
        let flags = flags.into_iter().map(|flag| flag.map_or(0, |flag| 1 + u64::from(flag)));
        let limits = self.limits.iter().flat_map(|limit| match *limit {
            Some((soft, hard)) => [1, soft, hard],
            None => [0; 3],
        });
        flags.chain(limits).fold(1, |hash, word| mix(hash ^ word))
    }
}

/// ProcessSettings of a thread, as far as the run has set them.
#[derive(Clone, Copy)]
pub struct ThreadSettings {
    /// Nanoseconds by which its timers may be late, and those that it began with.
    slack: [Option<u64>; 2],
    /// The signal that it gets when its parent dies.
    death_signal: u8,
    keeps_capabilities: Option<bool>,
    no_new_privileges: bool,
}

impl ThreadSettings {
    /// As the process was started.
    pub const AT_START: ThreadSettings =
        ThreadSettings { slack: [None; 2], death_signal: 0, keeps_capabilities: None, no_new_privileges: false };

    /// Those of a new thread that this one creates.
    pub fn inherited(self) -> Self {
        ThreadSettings { slack: [self.slack[0]; 2], death_signal: 0, ..self }
    }

    /// A number for them.
    pub fn digest(&self) -> u64 {
        let slack = self.slack.map(|slack| slack.map_or(0, |slack| slack ^ 1 << 63));
        let flags = u64::from(self.death_signal)
            | self.keeps_capabilities.map_or(0, |keeps| 1 + u64::from(keeps)) << 8
            | u64::from(self.no_new_privileges) << 10;
        mix(mix(slack[0]) ^ slack[1].rotate_left(17)) ^ mix(flags)
    }
}

const PR_GET_THP_DISABLE: i32 = 42;
const PR_SET_THP_DISABLE: i32 = 41;
/// ProcessSettings of the kernel that no later call of the program feels, or questions.
const HARMLESS: [i32; 14] = [
    libc::PR_GET_UNALIGN,
    libc::PR_GET_FPEMU,
    libc::PR_GET_FPEXC,
    libc::PR_GET_TIMING,
    libc::PR_GET_ENDIAN,
    libc::PR_GET_SECCOMP,
    libc::PR_CAPBSET_READ,
    libc::PR_GET_SECUREBITS,
    libc::PR_MCE_KILL_GET,
    libc::PR_GET_TID_ADDRESS,
    // Tagged addresses, speculation.
    56,
    52,
    // Names of mappings, and who may trace the process.
    0x5356_4d41,
    0x5961_6d61,
];

/// The kernel's answer.
fn ask(option: i32, operands: [usize; 4]) -> i64 {
    let [a, b, c, d] = operands;
    // SAFETY: what the program asks of the kernel.
    unsafe { syscall!(libc::SYS_prctl, option, a, b, c, d) as i64 }
}

/// A setting of the process that is a flag: reads it, or sets it.
fn flag_of_process(
    option: i32,
    place: fn(&mut ProcessSettings) -> &mut Option<bool>,
    set: Option<bool>,
    pc: u64,
) -> Option<bool> {
    let how = if set.is_some() { FileAccess::Change } else { FileAccess::Observe };
    shared_state::touch(SharedPart::Setting(option as u32), how, pc);
    let settings = &mut run().settings;
    if set.is_some() {
        settings.used = true;
        *place(settings) = set;
    }
    *place(settings)
}

fn refuse_unless(is_allowed: bool) -> Result<(), i64> {
    if is_allowed { Ok(()) } else { Err(-i64::from(libc::EINVAL)) }
}

/// Stores an answer at the place that the program passed.
fn store(at: usize, value: i32, pc: u64) -> i64 {
    writes(at, size_of::<i32>(), pc);
    // SAFETY: the caller passes room for the answer.
    unsafe { *(at as *mut i32) = value };
    0
}

/// `prctl` but for names, as the kernel's call.
pub fn control(option: i32, operands: [usize; 4], pc: u64) -> i64 {
    controlled_by(option, operands, pc).unwrap_or_else(|error| error)
}

fn controlled_by(option: i32, operands: [usize; 4], pc: u64) -> Result<i64, i64> {
    let [a, b, c, d] = operands;
    let is_rest_zero = [b, c, d] == [0; 3];
    let me = usize::from(couriers::self_id());
    let answer = match option {
        PR_SET_THP_DISABLE => {
            refuse_unless(is_rest_zero)?;
            flag_of_process(PR_SET_THP_DISABLE, |all| &mut all.no_huge_pages, Some(a != 0), pc);
            0
        }
        PR_GET_THP_DISABLE => {
            refuse_unless(a == 0 && is_rest_zero)?;
            let flag = flag_of_process(PR_SET_THP_DISABLE, |all| &mut all.no_huge_pages, None, pc);
            flag.map_or_else(|| ask(option, operands), i64::from)
        }
        libc::PR_SET_DUMPABLE => {
            refuse_unless(a <= 1)?;
            flag_of_process(libc::PR_SET_DUMPABLE, |all| &mut all.dumpable, Some(a == 1), pc);
            0
        }
        libc::PR_GET_DUMPABLE => {
            let flag = flag_of_process(libc::PR_SET_DUMPABLE, |all| &mut all.dumpable, None, pc);
            flag.map_or_else(|| ask(option, operands), i64::from)
        }
        libc::PR_SET_CHILD_SUBREAPER => {
            flag_of_process(libc::PR_SET_CHILD_SUBREAPER, |all| &mut all.adopts_orphans, Some(a != 0), pc);
            0
        }
        libc::PR_GET_CHILD_SUBREAPER => {
            let flag = flag_of_process(libc::PR_SET_CHILD_SUBREAPER, |all| &mut all.adopts_orphans, None, pc);
            store(a, i32::from(flag.unwrap_or(false)), pc)
        }
        _ => match of_thread(option, operands, me, pc) {
            Some(answer) => answer?,
            None => pass_on(option, operands, pc),
        },
    };
    Ok(answer)
}

/// A setting of the thread; `None` if it is none.
fn of_thread(option: i32, operands: [usize; 4], me: usize, pc: u64) -> Option<Result<i64, i64>> {
    let [a, b, c, d] = operands;
    let own = &mut run().fibers[me].private.settings;
    let is_set = matches!(
        option,
        libc::PR_SET_TIMERSLACK | libc::PR_SET_PDEATHSIG | libc::PR_SET_KEEPCAPS | libc::PR_SET_NO_NEW_PRIVS
    );
    run().settings.used |= is_set;
    let invalid = Some(Err(-i64::from(libc::EINVAL)));
    let answer = match option {
        libc::PR_SET_TIMERSLACK => {
            own.slack[0] = if a == 0 { own.slack[1] } else { Some(a as u64) };
            0
        }
        libc::PR_GET_TIMERSLACK => own.slack[0].map_or_else(|| ask(option, operands), |slack| slack as i64),
        libc::PR_SET_PDEATHSIG if a > 64 => return invalid,
        libc::PR_SET_PDEATHSIG => {
            own.death_signal = a as u8;
            0
        }
        libc::PR_GET_PDEATHSIG => store(a, i32::from(own.death_signal), pc),
        libc::PR_SET_KEEPCAPS if a > 1 => return invalid,
        libc::PR_SET_KEEPCAPS => {
            own.keeps_capabilities = Some(a == 1);
            0
        }
        libc::PR_GET_KEEPCAPS => own.keeps_capabilities.map_or_else(|| ask(option, operands), i64::from),
        libc::PR_SET_NO_NEW_PRIVS if [a, b, c, d] != [1, 0, 0, 0] => return invalid,
        libc::PR_SET_NO_NEW_PRIVS => {
            own.no_new_privileges = true;
            0
        }
        libc::PR_GET_NO_NEW_PRIVS if !own.no_new_privileges => ask(option, operands),
        libc::PR_GET_NO_NEW_PRIVS if [a, b, c, d] != [0; 4] => return invalid,
        libc::PR_GET_NO_NEW_PRIVS => 1,
        _ => return None,
    };
    Some(Ok(answer))
}

/// The kernel does what the program asks for.
fn pass_on(option: i32, operands: [usize; 4], pc: u64) -> i64 {
    const ROOM: usize = 64;
    undo::changed(undo::kind::OTHER);
    if !HARMLESS.contains(&option) {
        undo::needs_own_process();
        calls::note(b"prctl", pc);
    }
    touch(operands[0] as *const u8, ROOM);
    ask(option, operands)
}

/// Limits that are kept here: no call of the program feels them.
const KEPT: [u32; 6] = [
    libc::RLIMIT_CORE,
    libc::RLIMIT_RSS,
    libc::RLIMIT_LOCKS,
    libc::RLIMIT_NICE,
    libc::RLIMIT_RTPRIO,
    libc::RLIMIT_RTTIME,
];

/// The capability to raise limits, and the one to raise priorities.
const SYS_RESOURCE: u32 = 24;
pub const SYS_NICE: u32 = 23;

/// Whether the process has a capability.
pub fn has_capability(number: u32) -> bool {
    const VERSION: u32 = 0x2008_0522;
    let head = [VERSION, 0];
    let mut sets = [0u32; 6];
    // SAFETY: the kernel reads the head and writes two sets of three words.
    let failed = unsafe { syscall!(libc::SYS_capget, head.as_ptr(), sets.as_mut_ptr()) } < 0;
    !failed && sets[0] >> number & 1 != 0
}

/// A limit as the program knows it: soft and hard.
pub fn limit(resource: u32) -> (u64, u64) {
    if let Some(limit) = run().settings.limits[resource as usize] {
        return limit;
    }
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the kernel writes to the local.
    unsafe { syscall!(libc::SYS_prlimit64, 0usize, resource, 0usize, &raw mut limit) };
    (limit.rlim_cur, limit.rlim_max)
}

fn set_limit(resource: u32, (soft, hard): (u64, u64), name: &[u8], pc: u64) -> i64 {
    if soft > hard {
        return -i64::from(libc::EINVAL);
    }
    if KEPT.contains(&resource) {
        if hard > limit(resource).1 && !has_capability(SYS_RESOURCE) {
            return -i64::from(libc::EPERM);
        }
        let settings = &mut run().settings;
        settings.used = true;
        settings.limits[resource as usize] = Some((soft, hard));
        return 0;
    }
    undo::needs_own_process();
    undo::changed(undo::kind::OTHER);
    if run().threads > 1 {
        calls::note(name, pc);
    }
    let limit = libc::rlimit { rlim_cur: soft, rlim_max: hard };
    // SAFETY: what the program asks of the kernel.
    unsafe { syscall!(libc::SYS_prlimit64, 0usize, resource, &raw const limit, 0usize) as i64 }
}

/// A question about a limit, and a change, as the kernel's call: `old` is written before `new` is
/// set.
fn limits(resource: i32, new: *const libc::rlimit, old: *mut libc::rlimit, name: &[u8], pc: u64) -> i64 {
    if !(0..RESOURCES as i32).contains(&resource) {
        return -i64::from(libc::EINVAL);
    }
    let how = if new.is_null() { FileAccess::Observe } else { FileAccess::Change };
    shared_state::touch(SharedPart::Limit(resource as u32), how, pc);
    reads(new as usize, size_of::<libc::rlimit>(), pc);
    // SAFETY: the caller passes a limit or null.
    let wanted = unsafe { new.as_ref() }.map(|new| (new.rlim_cur, new.rlim_max));
    let before = limit(resource as u32);
    let answer = wanted.map_or(0, |wanted| set_limit(resource as u32, wanted, name, pc));
    if answer == 0 && !old.is_null() {
        writes(old as usize, size_of::<libc::rlimit>(), pc);
        // SAFETY: the caller passes room for a limit.
        unsafe { *old = libc::rlimit { rlim_cur: before.0, rlim_max: before.1 } };
    }
    answer
}

/// `prlimit64` as the kernel's call; of another process it is passed on.
pub fn process_limit(pid: i32, resource: i32, new: *const libc::rlimit, old: *mut libc::rlimit, pc: u64) -> i64 {
    if pid == 0 || pid == process().pid {
        return limits(resource, new, old, b"prlimit", pc);
    }
    calls::note(b"prlimit", pc);
    touch(old.cast(), size_of::<libc::rlimit>());
    // SAFETY: what the program asks of the kernel.
    unsafe { syscall!(libc::SYS_prlimit64, pid, resource, new, old) as i64 }
}

/// The result of a function for the answer of the kernel.
pub fn with_errno(answer: i64) -> i32 {
    if answer < 0 {
        set_errno(-answer as i32);
        return -1;
    }
    answer as i32
}

extern "C" fn get_rlimit(resource: i32, into: *mut libc::rlimit, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::prlimit64(0, resource, core::ptr::null(), into) };
    }
    with_errno(limits(resource, core::ptr::null(), into, b"getrlimit", pc))
}

extern "C" fn set_rlimit(resource: i32, limit: *const libc::rlimit, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::prlimit64(0, resource, limit, core::ptr::null_mut()) };
    }
    if limit.is_null() {
        set_errno(libc::EFAULT);
        return -1;
    }
    with_errno(limits(resource, limit, core::ptr::null_mut(), b"setrlimit", pc))
}

extern "C" fn change_limit(pid: i32, resource: i32, new: *const libc::rlimit, old: *mut libc::rlimit, pc: u64) -> i32 {
    if !controlled() {
        // SAFETY: passes on what the caller gave.
        return unsafe { hidden::prlimit64(pid, resource, new, old) };
    }
    with_errno(process_limit(pid, resource, new, old, pc))
}

export!(getrlimit, 2 => get_rlimit);
export!(getrlimit64, 2 => get_rlimit);
export!(setrlimit, 2 => set_rlimit);
export!(setrlimit64, 2 => set_rlimit);
export!(prlimit, 4 => change_limit);
export!(prlimit64, 4 => change_limit);
