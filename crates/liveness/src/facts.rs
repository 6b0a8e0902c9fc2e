//! What is known on a path through a function: constants in registers and on the stack, and
//! registers that were found equal. With it, paths are left out on which two branches contradict
//! each other. Code that leaves a scope by several ways has one copy of what all of them do, and a
//! number says where to go on.
//!
//! Only the low four bytes of a constant are known. Whatever an instruction may change is
//! forgotten.

use crate::instruction::{Comparison, Instruction, KnownValue, OperandAccess};

/// Constants that are remembered on a path.
const MOST: usize = 3;
/// Bytes of a constant.
const BYTES: i32 = 4;

/// Where a constant is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holder {
    Register(u8),
    /// At this distance from the stack pointer where the function continues.
    Slot(i32),
}

/// What is known on a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    constants: [Option<(Holder, i32)>; MOST],
    /// Two registers that were compared, with all their bytes or four, and whether they are equal.
    pair: Option<(u8, u8, bool, bool)>,
}

/// What the two ways behind a branch know.
pub(crate) struct Ways {
    /// If the compared values are equal; `None` if they cannot be.
    pub equal: Option<Facts>,
    /// If they are not.
    pub unequal: Option<Facts>,
}

impl Facts {
    pub(crate) const NONE: Facts = Facts { constants: [None; MOST], pair: None };

    /// Whether all of it is known on the other path, too.
    pub(crate) fn is_part_of(&self, other: &Facts) -> bool {
        let is_known = |fact: &Option<(Holder, i32)>| fact.is_none() || other.constants.contains(fact);
        self.constants.iter().all(is_known) && (self.pair.is_none() || self.pair == other.pair)
    }

    fn constant(&self, holder: Holder) -> Option<i32> {
        self.constants.iter().flatten().find(|(other, _)| *other == holder).map(|(_, value)| *value)
    }

    fn forget(&mut self, is_changed: impl Fn(Holder) -> bool) {
        for fact in &mut self.constants {
            *fact = fact.filter(|(holder, _)| !is_changed(*holder));
        }
    }

    /// The stack below this distance may be overwritten.
    pub(crate) fn release(&mut self, below: i32) {
        self.forget(|holder| matches!(holder, Holder::Slot(slot) if slot < below));
    }

    fn learn(&mut self, holder: Holder, value: i32) {
        self.forget(|other| other == holder);
        let free = self.constants.iter().position(Option::is_none).unwrap_or(0);
        self.constants[free] = Some((holder, value));
    }

    fn with(mut self, holder: Holder, value: i32) -> Facts {
        self.learn(holder, value);
        self
    }

    /// What is known behind the instruction, whose operand is at this distance. A slot is
    /// remembered only if it is private: no pointer leads there.
    pub(crate) fn after(&self, instruction: &Instruction, at: Option<i32>, is_private: impl Fn(i32) -> bool) -> Facts {
        let mut facts = *self;
        let changed = instruction.changes;
        facts.pair = facts.pair.filter(|&(a, b, ..)| (changed >> a | changed >> b) & 1 == 0);
        let access = instruction.operand.map(|operand| operand.access);
        facts.forget(|holder| match (holder, at, access) {
            (Holder::Register(number), ..) => changed >> number & 1 != 0,
            (Holder::Slot(_), _, None | Some(OperandAccess::Points)) => false,
            (Holder::Slot(slot), Some(at), Some(OperandAccess::Writes(bytes))) => {
                slot < at.saturating_add(i32::from(bytes)) && at < slot.saturating_add(BYTES)
            }
            (Holder::Slot(slot), Some(at), Some(OperandAccess::Reads(bytes))) => {
                !instruction.only_reads && slot < at.saturating_add(i32::from(bytes)) && at < slot.saturating_add(BYTES)
            }
            (Holder::Slot(_), ..) => true,
        });
        match (instruction.known, at) {
            (KnownValue::Register(number, value), _) => facts.learn(Holder::Register(number), value),
            (KnownValue::Slot(value), Some(at)) if is_private(at) => facts.learn(Holder::Slot(at), value),
            (KnownValue::Load(number), Some(at)) => {
                if let Some(value) = self.constant(Holder::Slot(at)) {
                    facts.learn(Holder::Register(number), value);
                }
            }
            _ => {}
        }
        facts
    }

    /// What is known behind a comparison and a branch.
    pub(crate) fn branch(&self, comparison: Comparison, at: Option<i32>, is_private: impl Fn(i32) -> bool) -> Ways {
        let holder = match (comparison, at) {
            (Comparison::Register(number, value), _) => Some((Holder::Register(number), value)),
            (Comparison::Slot(value), Some(at)) if is_private(at) => Some((Holder::Slot(at), value)),
            _ => None,
        };
        if let Some((holder, value)) = holder {
            return match self.constant(holder) {
                Some(known) => self.one_way(known == value),
                None => Ways { equal: Some(self.with(holder, value)), unequal: Some(*self) },
            };
        }
        let Comparison::Registers(a, b, is_wide) = comparison else {
            return Ways { equal: Some(*self), unequal: Some(*self) };
        };
        match self.pair {
            Some((c, d, is_all, is_equal)) if is_all == is_wide && ((a, b) == (c, d) || (a, b) == (d, c)) => {
                self.one_way(is_equal)
            }
            _ => {
                let way = |is_equal| Some(Facts { pair: Some((a, b, is_wide, is_equal)), ..*self });
                Ways { equal: way(true), unequal: way(false) }
            }
        }
    }

    fn one_way(&self, is_equal: bool) -> Ways {
        Ways { equal: is_equal.then_some(*self), unequal: (!is_equal).then_some(*self) }
    }
}
