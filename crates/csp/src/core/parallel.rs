//! The steps of the parallel operators, for `step`.

use super::event::{EventId, Label, SetId};
use super::model::OMEGA;
use super::step::{Stepper, Transition};
use super::term::ProcId;
use crate::error::CheckError;

/// The operands of a parallel operator and how they take part in events.
pub(super) enum Sharing<'t> {
    /// All of them together in the events of the set, each alone in the others.
    Set(SetId, &'t [ProcId]),
    /// Each in the events of its own alphabet, together with all whose alphabet has the event.
    Alphabets(&'t [(SetId, ProcId)]),
}

impl Sharing<'_> {
    fn count(&self) -> usize {
        match self {
            Sharing::Set(_, operands) => operands.len(),
            Sharing::Alphabets(pairs) => pairs.len(),
        }
    }

    fn operand(&self, index: usize) -> ProcId {
        match self {
            Sharing::Set(_, operands) => operands[index],
            Sharing::Alphabets(pairs) => pairs[index].1,
        }
    }

    /// Whether the operand equals the one before it. Operands are sorted, so equal ones are
    /// adjacent.
    fn repeats(&self, index: usize) -> bool {
        index > 0
            && match self {
                Sharing::Set(_, operands) => operands[index] == operands[index - 1],
                Sharing::Alphabets(pairs) => pairs[index] == pairs[index - 1],
            }
    }
}

impl Stepper<'_> {
    /// The steps of the composition. Each operand's own termination is an internal step; the
    /// composition terminates after the last one.
    pub(super) fn parallel(&mut self, sharing: &Sharing<'_>) -> Result<Vec<Transition>, CheckError> {
        let mut ended = true;
        for index in 0..sharing.count() {
            self.ensure(sharing.operand(index))?;
            ended &= sharing.operand(index) == OMEGA;
        }
        if ended {
            return Ok(vec![Transition { label: Label::TICK, target: OMEGA }]);
        }
        let mut steps = Vec::new();
        for index in 0..sharing.count() {
            // A step of the second of two equal operands alone has the same effect as that of the
            // first. Their common steps are found from the first.
            if sharing.repeats(index) {
                continue;
            }
            for step in self.copied(sharing.operand(index))? {
                let partners = match step.label.event() {
                    Some(event) => self.partners(sharing, index, event),
                    None => Some(Vec::new()),
                };
                let label = if step.label == Label::TICK { Label::TAU } else { step.label };
                if let Some(partners) = partners {
                    self.combine(sharing, (index, step.target), &partners, label, &mut steps)?;
                }
            }
        }
        Ok(steps)
    }

    /// The operands that must join operand `index` in `event`. `None` if that is impossible, or if
    /// an operand before `index` already covers it, so that each combination is made once.
    fn partners(&self, sharing: &Sharing<'_>, index: usize, event: EventId) -> Option<Vec<usize>> {
        match sharing {
            Sharing::Set(set, _) if !self.model.set_contains(*set, event) => Some(Vec::new()),
            Sharing::Set(_, operands) => (index == 0).then(|| (1..operands.len()).collect()),
            Sharing::Alphabets(pairs) => {
                let takes_part = |at: &usize| self.model.set_contains(pairs[*at].0, event);
                let all: Vec<usize> = (0..pairs.len()).filter(takes_part).collect();
                (all.first() == Some(&index)).then(|| all[1..].to_vec())
            }
        }
    }

    /// Adds one transition for every way in which the partners can join with `label`.
    fn combine(
        &mut self,
        sharing: &Sharing<'_>,
        (mover, target): (usize, ProcId),
        partners: &[usize],
        label: Label,
        steps: &mut Vec<Transition>,
    ) -> Result<(), CheckError> {
        let choices: Vec<Vec<ProcId>> = partners
            .iter()
            .map(|&at| self.known_steps(sharing.operand(at), label).iter().map(|step| step.target).collect())
            .collect();
        let mut moved: Vec<ProcId> = (0..sharing.count()).map(|at| sharing.operand(at)).collect();
        moved[mover] = target;
        for_each_choice(&choices, |choice| {
            self.go_on()?;
            for (&at, &target) in partners.iter().zip(choice) {
                moved[at] = target;
            }
            let target = match sharing {
                Sharing::Set(set, _) => self.model.parallel(*set, moved.iter().copied()),
                Sharing::Alphabets(pairs) => {
                    let sets = pairs.iter().map(|pair| pair.0);
                    self.model.alphabetised(sets.zip(moved.iter().copied()))
                }
            };
            steps.push(Transition { label, target });
            Ok(())
        })
    }
}

/// Calls `visit` with every combination of one element of each list, in lexicographic order; with
/// the empty combination if there are no lists, and never if one of them is empty. An error of
/// `visit` ends it.
pub(crate) fn for_each_choice<T: Copy, E>(
    lists: &[Vec<T>],
    mut visit: impl FnMut(&[T]) -> Result<(), E>,
) -> Result<(), E> {
    if lists.iter().any(Vec::is_empty) {
        return Ok(());
    }
    let mut digits = vec![0; lists.len()];
    let mut current: Vec<T> = lists.iter().map(|list| list[0]).collect();
    loop {
        visit(&current)?;
        // Counts like an odometer whose last wheel turns fastest.
        let Some(wheel) = (0..lists.len()).rev().find(|&at| digits[at] + 1 < lists[at].len()) else {
            return Ok(());
        };
        digits[wheel] += 1;
        current[wheel] = lists[wheel][digits[wheel]];
        for at in wheel + 1..lists.len() {
            digits[at] = 0;
            current[at] = lists[at][0];
        }
    }
}
