//! Atomic operations on memory.

use raddle_vocab::{MemOrder, OpKind, Outcome, SECTION, Words};

use super::{Namer, Operation, OrderSink, UnpackError, allowed};
use crate::depend::{Footprint, Mode, bytes_touch, object_touch};
use crate::semantics::SyncState;

/// `arg` of a load that ended a folded spin loop.
const AWAITED: u64 = 1;

/// An atomic operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtomicOp {
    /// First byte.
    pub addr: u64,
    /// Number of bytes.
    pub size: u32,
    /// Memory order.
    pub order: MemOrder,
    /// What is done.
    pub action: AtomicAction,
    /// Whether a store goes on with a release sequence that its own thread began: so it is in C,
    /// and was in C++ before C++20.
    pub continues: bool,
    /// Whether it has to wait while another thread is inside an atomic section.
    pub outside: bool,
}

/// Kinds of atomic operations, with the values that they saw and wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtomicAction {
    /// A load.
    Load {
        /// What was read.
        value: u64,
        /// If it ended a folded spin loop: a value with which the loop would have gone round again.
        awaited: Option<u64>,
    },
    /// A store.
    Store {
        /// What was written.
        value: u64,
        /// What it replaced.
        old: u64,
    },
    /// A read-modify-write.
    Rmw {
        /// What was written.
        value: u64,
        /// What it replaced.
        old: u64,
    },
    /// A compare-exchange.
    Cas {
        /// What it compares with.
        expected: u64,
        /// What it writes if it succeeds; a runtime may leave that open if it fails.
        new: u64,
        /// What it saw.
        seen: u64,
        /// Whether it wrote.
        success: bool,
    },
}

impl AtomicOp {
    /// Whether it reads the location: all but stores.
    #[must_use]
    pub fn reads(&self) -> bool {
        !matches!(self.action, AtomicAction::Store { .. })
    }

    /// Whether it wrote the location.
    #[must_use]
    #[inline]
    pub fn writes(&self) -> bool {
        match self.action {
            AtomicAction::Load { .. } => false,
            AtomicAction::Store { .. } | AtomicAction::Rmw { .. } => true,
            AtomicAction::Cas { success, .. } => success,
        }
    }

    /// Whether it writes the location in some state.
    #[must_use]
    #[inline]
    pub fn is_load(&self) -> bool {
        matches!(self.action, AtomicAction::Load { .. })
    }

    /// What the location held before.
    #[must_use]
    #[inline]
    pub fn seen(&self) -> u64 {
        match self.action {
            AtomicAction::Load { value, .. } => value,
            AtomicAction::Store { old, .. } | AtomicAction::Rmw { old, .. } => old,
            AtomicAction::Cas { seen, .. } => seen,
        }
    }

    /// What the operation puts into the location if it writes; for a load, what it read.
    #[must_use]
    #[inline]
    pub fn value(&self) -> u64 {
        match self.action {
            AtomicAction::Load { value, .. }
            | AtomicAction::Store { value, .. }
            | AtomicAction::Rmw { value, .. }
            | AtomicAction::Cas { new: value, .. } => value,
        }
    }

    /// What the location held afterwards.
    #[must_use]
    pub fn left(&self) -> u64 {
        if self.writes() { self.value() } else { self.seen() }
    }

    /// The value with which the folded spin loop that a load ended would have gone round again.
    #[must_use]
    pub fn awaited(&self) -> Option<u64> {
        match self.action {
            AtomicAction::Load { awaited, .. } => awaited,
            _ => None,
        }
    }

    /// Whether both access the same bytes.
    #[must_use]
    #[inline]
    pub fn is_at(&self, addr: u64, size: u32) -> bool {
        (self.addr, self.size) == (addr, size)
    }

    /// The operation as it would be if the location held `now`.
    #[must_use]
    pub fn with_seen(self, now: u64) -> Self {
        let action = match self.action {
            AtomicAction::Load { awaited, .. } => AtomicAction::Load { value: now, awaited },
            AtomicAction::Store { value, .. } => AtomicAction::Store { value, old: now },
            AtomicAction::Rmw { value, .. } => AtomicAction::Rmw { value, old: now },
            AtomicAction::Cas { expected, new, .. } => {
                AtomicAction::Cas { expected, new, seen: now, success: now == expected }
            }
        };
        AtomicOp { action, ..self }
    }
}

impl Operation for AtomicOp {
    #[inline]
    fn kind(&self) -> OpKind {
        match self.action {
            AtomicAction::Load { .. } => OpKind::AtomicLoad,
            AtomicAction::Store { .. } => OpKind::AtomicStore,
            AtomicAction::Rmw { .. } => OpKind::AtomicRmw,
            AtomicAction::Cas { .. } => OpKind::AtomicCas,
        }
    }

    fn object(&self) -> u64 {
        self.addr
    }

    #[inline]
    fn outcome(&self) -> Outcome {
        match self.action {
            AtomicAction::Cas { success: false, .. } => Outcome::Failed,
            _ => Outcome::Done,
        }
    }

    #[inline]
    fn with_outcome(self, outcome: Outcome) -> Self {
        match self.action {
            AtomicAction::Cas { expected, new, seen, .. } => {
                let action = AtomicAction::Cas { expected, new, seen, success: outcome == Outcome::Done };
                AtomicOp { action, ..self }
            }
            _ => self,
        }
    }

    fn pack(&self) -> Words {
        let words = Words { outcome: self.outcome(), order: self.order, size: self.size, ..Words::new(self.kind()) };
        let words = Words { outside: self.outside, ..words.on(self.addr, 0) };
        match self.action {
            AtomicAction::Load { value, awaited: None } => Words { value, ..words },
            AtomicAction::Load { value, awaited: Some(old) } => Words { arg: AWAITED, value, old, ..words },
            AtomicAction::Store { value, old } => Words { arg: u64::from(self.continues), value, old, ..words },
            AtomicAction::Rmw { value, old } => Words { value, old, ..words },
            AtomicAction::Cas { expected, new, seen, .. } => Words { arg: expected, value: new, old: seen, ..words },
        }
    }

    #[inline]
    fn unpack(words: &Words) -> Result<Self, UnpackError> {
        let Words { value, old, .. } = *words;
        let action = match words.kind {
            OpKind::AtomicStore => AtomicAction::Store { value, old },
            OpKind::AtomicRmw => AtomicAction::Rmw { value, old },
            OpKind::AtomicCas => {
                allowed(words, &[Outcome::Done, Outcome::Failed], None)?;
                let success = words.outcome == Outcome::Done;
                AtomicAction::Cas { expected: words.arg, new: value, seen: old, success }
            }
            _ if words.arg > AWAITED => return Err(UnpackError::new(words, "sort of load", words.arg)),
            _ => AtomicAction::Load { value, awaited: (words.arg == AWAITED).then_some(old) },
        };
        let continues = words.kind == OpKind::AtomicStore && words.arg == 1;
        Ok(AtomicOp {
            addr: words.obj,
            size: words.size,
            order: words.order,
            action,
            continues,
            outside: words.outside,
        })
    }

    #[inline]
    fn attempt(&self, thread: u16, state: &SyncState, _choice: u16) -> Option<Outcome> {
        if self.outside && !state.is_outside_sections(thread) {
            return None;
        }
        match self.action {
            AtomicAction::Load { awaited: Some(awaited), .. } => {
                // With the old value the loop would only go round again.
                (state.value_at(self.addr, self.size) != Some(awaited)).then_some(Outcome::Done)
            }
            AtomicAction::Cas { expected, .. } => match state.value_at(self.addr, self.size) {
                Some(now) => Some(if now == expected { Outcome::Done } else { Outcome::Failed }),
                None => Some(self.outcome()),
            },
            _ => Some(Outcome::Done),
        }
    }

    #[inline]
    fn predict(&self, thread: u16, state: &SyncState, _choice: u16) -> Option<Self> {
        if self.outside && !state.is_outside_sections(thread) {
            return None;
        }
        match state.value_at(self.addr, self.size) {
            Some(now) if self.awaited() == Some(now) => None,
            Some(now) => Some(self.with_seen(now)),
            None => Some(*self),
        }
    }

    #[inline]
    fn apply(&self, _thread: u16, state: &mut SyncState) {
        match self.action {
            AtomicAction::Load { value, .. } => state.reveal(self.addr, self.size, value),
            AtomicAction::Store { value, .. } | AtomicAction::Rmw { value, .. } => {
                state.store(self.addr, self.size, Some(value));
                state.leave_guard(self.addr);
            }
            AtomicAction::Cas { new, success: true, .. } => state.store(self.addr, self.size, Some(new)),
            AtomicAction::Cas { seen, success: false, .. } => state.reveal(self.addr, self.size, seen),
        }
    }

    #[inline]
    fn footprint(&self, _thread: u16, into: &mut Footprint) {
        let mode = if self.writes() { Mode::Write } else { Mode::Observe };
        bytes_touch(self.addr, u64::from(self.size), mode, into);
        if self.outside {
            into.push(object_touch(SECTION, Mode::Observe));
        }
    }

    #[inline]
    fn may_write(&self) -> bool {
        matches!(self.action, AtomicAction::Cas { .. })
    }

    fn can_block(&self) -> bool {
        self.outside
    }

    fn is_certain(&self, state: &SyncState) -> bool {
        match self.action {
            AtomicAction::Cas { .. } | AtomicAction::Load { awaited: Some(_), .. } => {
                state.value_at(self.addr, self.size).is_some()
            }
            _ => true,
        }
    }

    #[inline]
    fn order(&self, sink: &mut impl OrderSink) {
        sink.atomic(self);
    }

    fn phrase(&self, names: &dyn Namer) -> String {
        let object = names.object(self.addr);
        match self.action {
            AtomicAction::Load { value, .. } => format!("load {object} = {value}"),
            AtomicAction::Store { value, .. } => format!("store {object} = {value}"),
            AtomicAction::Rmw { value, old } => format!("update {object}: {old} to {value}"),
            AtomicAction::Cas { new, seen, success: true, .. } => format!("exchange {object}: {seen} to {new}"),
            AtomicAction::Cas { seen, .. } => format!("exchange {object} fails: is {seen}"),
        }
    }
}
