//! Atomic sections of the Software Verification Competition: what is between
//! `__VERIFIER_atomic_begin` and `__VERIFIER_atomic_end`, and the bodies of functions whose names
//! begin with `__VERIFIER_atomic_`. The host knows where these functions are.
//!
//! A section is a lock that belongs to the whole program. Accesses that are transitions wait while
//! another thread holds it, so what a section does is seen at once or not at all. Sections may be
//! nested. Without raddle they do nothing.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use raddle_vocab::{MutexKind, OpKind, Outcome, SECTION};
use raddle_wire::role;

use crate::arch::entry::{export, function_hook};
use crate::sched::{self, virtual_time};
use crate::state::{AnnouncedOp, controlled, process, run};

/// The state of the section, in a run.
#[derive(Clone, Copy)]
pub struct Section {
    /// The thread inside and how many sections it is in.
    inside: Option<(u16, u32)>,
}

impl Section {
    /// No thread is inside.
    pub const fn new() -> Self {
        Section { inside: None }
    }

    /// Whether a thread is inside.
    pub fn is_entered(&self) -> bool {
        self.inside.is_some()
    }
}

/// Whether functions are hooked because some of them are sections.
pub static HAS_FUNCTIONS: AtomicBool = AtomicBool::new(false);

/// The roles that functions of the program have, a bit each.
static ROLES: AtomicU64 = AtomicU64::new(0);

/// Where the program begins.
static ENTRY: AtomicU64 = AtomicU64::new(0);

/// Looks which functions the host has found in the program: called at the start.
pub fn prepare() {
    // SAFETY: reads the auxiliary vector.
    ENTRY.store(unsafe { libc::getauxval(libc::AT_ENTRY) }, Ordering::Relaxed);
    let roles = functions().fold(0, |roles, function| roles | 1 << (function.role % 64));
    ROLES.store(roles, Ordering::Relaxed);
    HAS_FUNCTIONS.store(has(role::SECTION), Ordering::Relaxed);
}

/// Whether a function of the program has the role.
fn has(role: u64) -> bool {
    ROLES.load(Ordering::Relaxed) & 1 << role != 0
}

/// A function that the host has found in the program.
#[derive(Clone, Copy)]
struct Function {
    start: u64,
    end: u64,
    role: u64,
}

fn functions() -> impl Iterator<Item = Function> {
    // SAFETY: the control page stays mapped; the host wrote the table before the target started.
    let control = unsafe { &*process().control };
    let entry = ENTRY.load(Ordering::Relaxed);
    let count = (control.function_count as usize).min(control.functions.len());
    control.functions[..count].iter().map(move |&[start, end, role]| Function {
        start: entry.wrapping_add(start),
        end: entry.wrapping_add(end),
        role,
    })
}

/// Whether the call that returns to `pc` is in a function of this role.
pub fn is_called_in(role: u64, pc: u64) -> bool {
    // What does not return may be the last instruction of its function.
    let call = pc.wrapping_sub(1);
    has(role) && functions().any(|function| function.role == role && (function.start..function.end).contains(&call))
}

/// Whether the operation of the thread has to wait while another thread is inside a section.
pub fn waits(tid: u16, kind: OpKind) -> bool {
    process().has_sections
        && !matches!(run().section.inside, Some((holder, _)) if holder == tid)
        && (kind.is_atomic_access() || matches!(kind, OpKind::Read | OpKind::Write | OpKind::Free | OpKind::Mapping))
}

/// Whether another thread than this one is inside.
pub fn is_closed_to(tid: u16) -> bool {
    matches!(run().section.inside, Some((holder, _)) if holder != tid)
}

/// Whether the running thread is inside.
pub fn is_inside() -> bool {
    matches!(run().section.inside, Some((holder, _)) if holder == run().hot.tid)
}

extern "C" fn begin(pc: u64) {
    if !controlled() {
        return;
    }
    if let Some((holder, depth)) = &mut run().section.inside
        && *holder == run().hot.tid
    {
        *depth += 1;
        return;
    }
    let op = AnnouncedOp::new(OpKind::Lock, SECTION, MutexKind::Normal as u64, pc);
    sched::arrive(op);
    run().section.inside = Some((run().hot.tid, 1));
    virtual_time::observe(SECTION);
    sched::commit(&op, Outcome::Done, 0, 0);
}

extern "C" fn end(pc: u64) {
    if !controlled() || !is_inside() {
        return;
    }
    if let Some((_, depth)) = &mut run().section.inside
        && *depth > 1
    {
        *depth -= 1;
        return;
    }
    let op = AnnouncedOp::new(OpKind::Unlock, SECTION, MutexKind::Normal as u64, pc);
    sched::arrive(op);
    run().section.inside = None;
    virtual_time::publish(SECTION);
    sched::commit(&op, Outcome::Done, 0, 0);
    sched::section_ended();
}

/// A function was entered.
extern "C" fn entered(_caller: u64, pc: u64) {
    if is_called_in(role::SECTION, pc) {
        begin(pc);
    }
}

/// A function is left.
extern "C" fn left(pc: u64) {
    if is_called_in(role::SECTION, pc) {
        end(pc);
    }
}

export!(__VERIFIER_atomic_begin, 0 => begin);
export!(__VERIFIER_atomic_end, 0 => end);
function_hook!(__tsan_func_entry, 1 => entered);
function_hook!(__tsan_func_exit, 0 => left);
