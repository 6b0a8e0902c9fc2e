//! Values that the program leaves open (`__VERIFIER_nondet_int`, `RADDLE_CHOOSE`).
//!
//! A choice has one successor for each value. It touches nothing that other threads know, so it
//! depends only on the events of its own thread.

use raddle_vocab::{OpKind, Outcome, Words};

use super::{Namer, Operation, UnpackError};
use crate::depend::Footprint;
use crate::semantics::SyncState;

/// The choice of a value.
#[derive(Clone, Copy, Debug, Eq)]
pub struct ChoiceOp {
    /// How many values there are.
    pub values: u64,
    /// Which of them is chosen, from 0.
    pub chosen: u64,
    /// What the program got. Only the target knows it for choices that no run has made.
    pub given: u64,
}

impl PartialEq for ChoiceOp {
    /// What the program got follows from which value it is.
    fn eq(&self, other: &Self) -> bool {
        (self.values, self.chosen) == (other.values, other.chosen)
    }
}

impl Operation for ChoiceOp {
    #[inline]
    fn kind(&self) -> OpKind {
        OpKind::Choose
    }

    fn object(&self) -> u64 {
        0
    }

    fn pack(&self) -> Words {
        Words { value: self.chosen, old: self.given, ..Words::new(OpKind::Choose) }.on(0, self.values)
    }

    fn unpack(words: &Words) -> Result<Self, UnpackError> {
        let Words { arg: values, value: chosen, old: given, .. } = *words;
        if values == 0 || values > u64::from(u16::MAX) {
            return Err(UnpackError::new(words, "number of values", values));
        }
        if chosen >= values {
            return Err(UnpackError::new(words, "value with the number", chosen));
        }
        Ok(ChoiceOp { values, chosen, given })
    }

    fn attempt(&self, _thread: u16, _state: &SyncState, choice: u16) -> Option<Outcome> {
        (u64::from(choice) < self.values).then_some(Outcome::Done)
    }

    fn resolve(self, _thread: u16, _state: &SyncState, choice: u16, _outcome: Outcome) -> Self {
        let chosen = u64::from(choice);
        let given = if chosen == self.chosen { self.given } else { 0 };
        ChoiceOp { chosen, given, ..self }
    }

    fn successors(&self, _thread: u16, _state: &SyncState) -> u16 {
        u16::try_from(self.values).unwrap_or(u16::MAX)
    }

    fn apply(&self, _thread: u16, _state: &mut SyncState) {}

    fn footprint(&self, _thread: u16, _into: &mut Footprint) {}

    fn phrase(&self, _names: &dyn Namer) -> String {
        format!("{} {} (value {} of {})", self.kind().word(), self.given as i64, self.chosen + 1, self.values)
    }
}
