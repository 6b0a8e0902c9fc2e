//! What the number of a descriptor refers to is state that threads share: `dup2` and `close` change
//! it, and every call that is given a number looks it up. As in the kernel, looking it up is a step
//! of its own. A call that waits goes on with what it has found, whatever the number refers to
//! later. One that does not wait looks the number up again: that is as if it had come later.
//!
//! Most programs never replace a descriptor. They can only end one while another thread uses it,
//! which is a race. So look-ups are transitions only in programs that import a function that
//! replaces descriptors.

use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

use raddle_vocab::{OpKind, Outcome, io};

use crate::interpose::io::descriptor_ends;
use crate::interpose::io::descriptors::MAX_CHANNELS;
use crate::interpose::io::overlay;
use crate::interpose::io::regular_files::{self, thing};
use crate::sched;
use crate::state::{AnnouncedOp, Fiber, controlled, run};

/// Functions that replace descriptors.
const REPLACING: [&[u8]; 4] = [b"dup2", b"dup3", b"freopen", b"freopen64"];

/// Functions that wait for several descriptors without a queue.
const WAITING: [&[u8]; 6] = [b"poll", b"__poll_chk", b"ppoll", b"__ppoll_chk", b"select", b"pselect"];

/// Whether the program imports one of the former, and one of the latter. Written only when modules
/// are loaded.
static REPLACES: AtomicBool = AtomicBool::new(false);
static WAITS_FOR_SEVERAL: AtomicBool = AtomicBool::new(false);

/// A module of the program imports a function of this name.
pub fn imported(name: &[u8]) {
    if REPLACING.contains(&name) {
        REPLACES.store(true, Relaxed);
    }
    if WAITING.contains(&name) {
        WAITS_FOR_SEVERAL.store(true, Relaxed);
    }
}

/// Operands of an operation on a channel that may enable a wait for several, beside `others`.
pub fn may_make_ready(others: u64) -> u64 {
    if WAITS_FOR_SEVERAL.load(Relaxed) { others | io::MAKES_READY } else { others }
}

/// What a thread has looked up and not used yet.
#[derive(Clone, Copy)]
pub struct LookUp {
    /// The number; -1 if there is none.
    descriptor: i32,
    /// A copy of what it referred to, if it refers to something else by now; otherwise -1.
    held: i32,
}

impl LookUp {
    /// None.
    pub const NONE: LookUp = LookUp { descriptor: -1, held: -1 };
}

/// Whether look-ups may be transitions.
pub fn are_replaced() -> bool {
    REPLACES.load(Relaxed)
}

fn counts(descriptor: i32) -> bool {
    REPLACES.load(Relaxed) && regular_files::counts() && (0..MAX_CHANNELS as i32).contains(&descriptor)
}

fn identity(descriptor: i32) -> u32 {
    thing(descriptor as u64, 25)
}

/// The call looks up what the descriptor refers to.
pub fn looks_up(descriptor: i32, pc: u64) {
    if counts(descriptor) {
        let op = AnnouncedOp::new(OpKind::Io, io::file(identity(descriptor)), io::OBSERVES, pc);
        sched::perform(op, Outcome::Done, 0, 0);
        run().me().private.look_up = LookUp { descriptor, held: -1 };
    }
}

/// The number by which the kernel knows what was looked up, and whether it is a copy, which the
/// caller closes.
pub fn found(descriptor: i32) -> (i32, bool) {
    let look_up = core::mem::replace(&mut run().me().private.look_up, LookUp::NONE);
    if look_up.held < 0 { (descriptor, false) } else { (look_up.held, true) }
}

/// The call uses the descriptor: as [`look_at`].
pub fn use_settled(descriptor: i32, pc: u64, act: impl FnMut()) {
    descriptor_ends::uses(descriptor, pc);
    look_at(descriptor, pc, act);
}

/// Looks the descriptor up and acts on what it refers to, until both happen to the same object.
pub fn look_at(descriptor: i32, pc: u64, mut act: impl FnMut()) {
    if !controlled() {
        return act();
    }
    loop {
        looks_up(descriptor, pc);
        act();
        let (number, is_copy) = found(descriptor);
        if !is_copy {
            return;
        }
        overlay::close(number);
    }
}

/// A number by which the kernel knows the channel with this identity: the program's, or that of a
/// copy.
pub fn number_of(identity: u64) -> Option<i32> {
    let is_copy = |fiber: &Fiber| fiber.private.look_up.held >= 0 && fiber.pending.obj == identity;
    let copies = run().fibers[..run().threads].iter().filter(|fiber| is_copy(fiber));
    let own = run().channels.iter().position(|&channel| channel == identity).map(|number| number as i32);
    own.or_else(|| copies.map(|fiber| fiber.private.look_up.held).next())
}

/// Operands of an operation that changes what the number refers to, beside its object.
pub fn second(descriptor: i32) -> u64 {
    if counts(descriptor) { io::and(identity(descriptor)) } else { 0 }
}

/// The number is about to refer to something else, in a transition on the former. Calls of other
/// threads that have looked it up go on with that.
pub fn changes(descriptor: i32) {
    let own = run().hot.tid as usize;
    for tid in (0..run().threads).filter(|&tid| tid != own) {
        let look_up = run().fibers[tid].private.look_up;
        if look_up.descriptor != descriptor || look_up.held >= 0 || descriptor < 0 {
            continue;
        }
        if let Ok(held) = overlay::hold(descriptor) {
            let fiber = &mut run().fibers[tid];
            fiber.private.look_up.held = held;
            let (_, events) = io::waited_for(fiber.pending.arg);
            if fiber.pending.kind == OpKind::Io && events != 0 {
                fiber.pending.arg = io::without_descriptor(fiber.pending.arg) | io::waits_for(held, events);
            }
        }
    }
}
