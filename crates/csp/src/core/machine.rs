//! The states and steps of a composition that was flattened into rules.
//!
//! A state is the vector of the components' states. A step fires one rule, or it is a silent step
//! of one component. Only components that drive a rule or can step silently are examined. Deviation
//! from the term semantics in `step`: the composition terminates when all components have, without
//! the internal steps by which nested parallel operators would propagate their termination.

use rustc_hash::FxHashMap;

use super::event::{EventId, Label};
use super::model::OMEGA;
use super::parallel::for_each_choice;
use super::rules::{Flat, Rule, drivers};
use super::step::{Stepper, Transition};
use super::system::{StateId, System};
use super::term::ProcId;
use super::vector::Vectors;
use crate::error::CheckError;

/// The state after successful termination; no vector has this number.
const TERMINATED: StateId = StateId(u32::MAX);

pub(crate) struct Machine {
    /// Sorted by driving component and event.
    rules: Vec<Rule>,
    /// Which rules a component's event may fire.
    driven: FxHashMap<(u32, EventId), (u32, u32)>,
    /// The components that can start a step.
    active: Vec<u32>,
    vectors: Vectors,
    initial: StateId,
    /// What a rule changes; kept to avoid an allocation per step.
    changes: Vec<(usize, u32)>,
}

impl Machine {
    pub(crate) fn new(stepper: &mut Stepper<'_>, flat: Flat) -> Result<Machine, CheckError> {
        let drivers = drivers(stepper, &flat)?;
        let mut keyed: Vec<((u32, EventId), Rule)> =
            flat.rules.into_iter().zip(drivers).map(|(rule, at)| (rule.moves[at], rule)).collect();
        keyed.sort_by_key(|(key, rule)| (*key, rule.label));
        let mut driven: FxHashMap<(u32, EventId), (u32, u32)> = FxHashMap::default();
        for (index, (key, _)) in (0u32..).zip(&keyed) {
            driven.entry(*key).or_insert((index, index)).1 = index + 1;
        }
        let mut active: Vec<u32> = keyed.iter().map(|(key, _)| key.0).collect();
        active.extend((0u32..).zip(&flat.leaves).filter(|(_, leaf)| leaf.silent).map(|(index, _)| index));
        active.sort_unstable();
        active.dedup();
        let mut vectors = Vectors::new(flat.leaves.len());
        let start: Vec<u32> = flat.leaves.iter().map(|leaf| leaf.start.0).collect();
        let initial = StateId(vectors.insert(&start));
        let rules = keyed.into_iter().map(|(_, rule)| rule).collect();
        Ok(Machine { rules, driven, active, vectors, initial, changes: Vec::new() })
    }

    fn component(&self, state: StateId, leaf: u32) -> ProcId {
        ProcId(self.vectors.get(state.0, leaf as usize))
    }

    /// Adds every way in which the components can fire `rule` together in the current state.
    fn fire(
        &mut self,
        stepper: &mut Stepper<'_>,
        state: StateId,
        rule: usize,
        out: &mut Vec<(Label, StateId)>,
    ) -> Result<(), CheckError> {
        let rule = &self.rules[rule];
        self.changes.clear();
        let mut single = true;
        for &(leaf, event) in &rule.moves {
            let process = ProcId(self.vectors.get(state.0, leaf as usize));
            match stepper.steps_with(process, Label::visible(event))? {
                [] => return Ok(()),
                [first, others @ ..] => {
                    single &= others.is_empty();
                    self.changes.push((leaf as usize, first.target.0));
                }
            }
        }
        if single {
            out.push((rule.label, StateId(self.vectors.replace(state.0, &self.changes))));
            return Ok(());
        }
        let choices: Vec<Vec<(usize, u32)>> = rule
            .moves
            .iter()
            .map(|&(leaf, event)| {
                let process = ProcId(self.vectors.get(state.0, leaf as usize));
                let steps = stepper.known_steps(process, Label::visible(event));
                steps.iter().map(|step| (leaf as usize, step.target.0)).collect()
            })
            .collect();
        for_each_choice(&choices, |changes| {
            out.push((rule.label, StateId(self.vectors.replace(state.0, changes))));
            stepper.go_on()
        })
    }

    fn step_component(
        &mut self,
        stepper: &mut Stepper<'_>,
        state: StateId,
        leaf: u32,
        steps: &[Transition],
        out: &mut Vec<(Label, StateId)>,
    ) -> Result<(), CheckError> {
        // Steps with the same label are adjacent, and a rule tries all of its component's targets
        // itself.
        for same in steps.chunk_by(|left, right| left.label == right.label) {
            let label = same[0].label;
            if let Some(event) = label.event() {
                let (start, end) = self.driven.get(&(leaf, event)).copied().unwrap_or((0, 0));
                for rule in start..end {
                    self.fire(stepper, state, rule as usize, out)?;
                }
                continue;
            }
            // A component's own termination is an internal step of the composition.
            let label = if label == Label::TICK { Label::TAU } else { label };
            for step in same {
                let changed = self.vectors.replace(state.0, &[(leaf as usize, step.target.0)]);
                out.push((label, StateId(changed)));
            }
        }
        Ok(())
    }
}

impl System for Machine {
    fn initial(&self) -> StateId {
        self.initial
    }

    fn successors(
        &mut self,
        stepper: &mut Stepper<'_>,
        state: StateId,
        out: &mut Vec<(Label, StateId)>,
    ) -> Result<(), CheckError> {
        out.clear();
        if state == TERMINATED {
            return Ok(());
        }
        let mut steps = Vec::new();
        for position in 0..self.active.len() {
            let leaf = self.active[position];
            steps.clear();
            steps.extend_from_slice(stepper.steps(self.component(state, leaf))?);
            self.step_component(stepper, state, leaf, &steps, out)?;
        }
        if out.is_empty() {
            let mut components = Vec::new();
            self.vectors.unpack(state.0, &mut components);
            if components.iter().all(|&component| component == OMEGA.0) {
                out.push((Label::TICK, TERMINATED));
            }
        }
        Ok(())
    }

    fn is_terminated(&self, state: StateId) -> bool {
        state == TERMINATED
    }

    fn components(&self, state: StateId) -> Vec<ProcId> {
        let mut components = Vec::new();
        if state != TERMINATED {
            self.vectors.unpack(state.0, &mut components);
        }
        components.into_iter().map(ProcId).collect()
    }

    fn movers(
        &mut self,
        stepper: &mut Stepper<'_>,
        state: StateId,
        (label, target): (Label, StateId),
    ) -> Result<Vec<usize>, CheckError> {
        if target == TERMINATED {
            return Ok((0..self.components(state).len()).collect());
        }
        let mut found = Vec::new();
        for position in 0..self.active.len() {
            let leaf = self.active[position];
            let steps = stepper.steps(self.component(state, leaf))?.to_vec();
            for step in &steps {
                let Some(event) = step.label.event() else {
                    found.clear();
                    self.step_component(stepper, state, leaf, std::slice::from_ref(step), &mut found)?;
                    if found.contains(&(label, target)) {
                        return Ok(vec![leaf as usize]);
                    }
                    continue;
                };
                let (start, end) = self.driven.get(&(leaf, event)).copied().unwrap_or((0, 0));
                for rule in start..end {
                    found.clear();
                    self.fire(stepper, state, rule as usize, &mut found)?;
                    if found.contains(&(label, target)) {
                        let moves = self.rules[rule as usize].moves.iter();
                        return Ok(moves.map(|&(leaf, _)| leaf as usize).collect());
                    }
                }
            }
        }
        Ok(Vec::new())
    }

    fn cells(&self) -> usize {
        self.vectors.nodes() * 12
    }
}
