//! Flattens a parallel composition into components and synchronisation rules.
//!
//! Source: the supercombinators of FDR (Gibson-Robinson et al., *FDR3 - A Modern Refinement Checker
//! for CSP*, TACAS 2014): the operators above the components never change, so their effect is
//! computed once as a list of rules. A rule names the events that some components do together and
//! the label of the composition. Deviations: only parallel operators, hiding and renaming are
//! flattened; everything else is a component. A component's alphabet is over-approximated from its
//! terms, which can only add rules that never fire. If the alphabet is not known after a bounded
//! number of unfoldings (a recursion over ever new parameters), the composition stays one component
//! and is stepped term by term. Both forms are complete.

use rustc_hash::FxHashMap;

use super::event::{EventId, Label, RelationId, SetId};
use super::parallel::for_each_choice;
use super::step::Stepper;
use super::term::{ProcId, Term};
use crate::error::{CheckError, StopTest, stop_if};

/// Components that do one event each, together, and what the environment sees of it.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    pub(crate) label: Label,
    /// Which component does which event. Invariant: sorted by component.
    pub(crate) moves: Box<[(u32, EventId)]>,
}

/// A component: its first state, how large its alphabet is and whether it can step without an
/// event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leaf {
    pub(crate) start: ProcId,
    pub(crate) alphabet: usize,
    pub(crate) silent: bool,
}

/// The whole composition.
#[derive(Debug)]
pub(crate) struct Flat {
    pub(crate) leaves: Vec<Leaf>,
    pub(crate) rules: Vec<Rule>,
}

/// How many calls are unfolded to find one component's alphabet.
const UNFOLD_LIMIT: usize = 10_000;
/// Maximal number of rules; renaming many events to one multiplies them.
const RULE_LIMIT: usize = 8_000_000;
/// Maximal depth of parallel operators that are flattened.
const NESTING_LIMIT: usize = 200;

/// Flattens `root`. `None` if it has no parallel operator outside of other operators, or if
/// flattening does not pay or is stopped.
pub(crate) fn flatten(stepper: &mut Stepper<'_>, root: ProcId) -> Option<Flat> {
    let mut builder = Builder { stepper, leaves: Vec::new() };
    let rules = builder.part(root, 0)?;
    (builder.leaves.len() > 1).then_some(Flat { leaves: builder.leaves, rules })
}

struct Builder<'s, 'a> {
    stepper: &'s mut Stepper<'a>,
    leaves: Vec<Leaf>,
}

impl Builder<'_, '_> {
    /// The rules of the composition below `process`, whose components are added to the list.
    fn part(&mut self, process: ProcId, nesting: usize) -> Option<Vec<Rule>> {
        self.stepper.go_on().ok()?;
        if nesting > NESTING_LIMIT || !self.is_composition(process) {
            return self.leaf(process);
        }
        match self.stepper.model.term(process).clone() {
            Term::Shared(set, operands) => self.shared(set, &operands, nesting),
            Term::Alphabetised(pairs) => self.alphabetised(&pairs, nesting),
            Term::Hide(operand, set) => self.hidden(operand, set, nesting),
            Term::Rename(operand, relation) => self.renamed(operand, relation, nesting),
            Term::Call(definition) => {
                let body = self.stepper.body(definition).ok()?;
                self.part(body, nesting + 1)
            }
            _ => self.leaf(process),
        }
    }

    fn shared(&mut self, set: SetId, operands: &[ProcId], nesting: usize) -> Option<Vec<Rule>> {
        let parts = self.merge_equal(set, operands);
        let all = parts.len();
        let parts = self.parts(parts, nesting)?;
        let set: Vec<EventId> = self.stepper.model.set_events(set).to_vec();
        let shared = |event: EventId| set.binary_search(&event).is_ok();
        let stop = self.stepper.stop();
        join(parts, |label| label.event().filter(|&event| shared(event)).map(|_| all), |_, _| true, stop)
    }

    fn alphabetised(&mut self, pairs: &[(SetId, ProcId)], nesting: usize) -> Option<Vec<Rule>> {
        let parts = self.parts(pairs.iter().map(|pair| pair.1).collect(), nesting)?;
        let model = &*self.stepper.model;
        let mut members: FxHashMap<EventId, usize> = FxHashMap::default();
        for &event in pairs.iter().flat_map(|&(set, _)| model.set_events(set)) {
            *members.entry(event).or_default() += 1;
        }
        let needed = |label: Label| label.event().map(|event| members.get(&event).copied().unwrap_or(0));
        let allowed = |part: usize, label: Label| match label.event() {
            Some(event) => model.set_contains(pairs[part].0, event),
            None => true,
        };
        join(parts, needed, allowed, self.stepper.stop())
    }

    fn hidden(&mut self, operand: ProcId, set: SetId, nesting: usize) -> Option<Vec<Rule>> {
        let mut rules = self.part(operand, nesting + 1)?;
        for rule in &mut rules {
            let hidden = rule.label.event().filter(|&event| self.stepper.model.set_contains(set, event));
            rule.label = hidden.map_or(rule.label, Label::hidden);
        }
        Some(rules)
    }

    fn renamed(&mut self, operand: ProcId, relation: RelationId, nesting: usize) -> Option<Vec<Rule>> {
        let mut renamed = Vec::new();
        for rule in self.part(operand, nesting + 1)? {
            let event = rule.label.event();
            let images = event.map_or(&[][..], |event| self.stepper.model.images(relation, event));
            for &(_, to) in images {
                renamed.push(Rule { label: Label::visible(to), moves: rule.moves.clone() });
            }
            if images.is_empty() {
                renamed.push(rule);
            }
        }
        (renamed.len() <= RULE_LIMIT).then_some(renamed)
    }

    fn parts(&mut self, operands: Vec<ProcId>, nesting: usize) -> Option<Vec<Vec<Rule>>> {
        operands.into_iter().map(|operand| self.part(operand, nesting + 1)).collect()
    }

    /// Equal operands that only interleave are one component: as a term it does not distinguish
    /// them, so n of them with two states each have n + 1 states instead of 2^n.
    fn merge_equal(&mut self, set: SetId, operands: &[ProcId]) -> Vec<ProcId> {
        if !self.stepper.model.set_events(set).is_empty() {
            return operands.to_vec();
        }
        let groups = operands.chunk_by(|left, right| left == right);
        groups.map(|group| self.stepper.model.interleave(group.iter().copied())).collect()
    }

    /// Whether `process` is a parallel operator, except for calls, hiding and renaming around it.
    fn is_composition(&mut self, mut process: ProcId) -> bool {
        let mut calls = 0;
        loop {
            match *self.stepper.model.term(process) {
                // Operands are sorted, so equal ends mean that all are equal: see `merge_equal`.
                Term::Shared(_, ref operands) => return operands.first() != operands.last(),
                Term::Alphabetised(_) => return true,
                Term::Hide(operand, _) | Term::Rename(operand, _) => process = operand,
                Term::Call(definition) if calls < NESTING_LIMIT => match self.stepper.body(definition) {
                    Ok(body) => {
                        process = body;
                        calls += 1;
                    }
                    Err(_) => return false,
                },
                _ => return false,
            }
        }
    }

    fn leaf(&mut self, process: ProcId) -> Option<Vec<Rule>> {
        let (alphabet, silent) = self.alphabet(process)?;
        let index = u32::try_from(self.leaves.len()).ok()?;
        self.leaves.push(Leaf { start: process, alphabet: alphabet.len(), silent });
        let rule = |event| Rule { label: Label::visible(event), moves: [(index, event)].into() };
        Some(alphabet.into_iter().map(rule).collect())
    }

    /// Every event that a term below `process` names, and whether one of them can step without an
    /// event.
    fn alphabet(&mut self, process: ProcId) -> Option<(Vec<EventId>, bool)> {
        let mut events = Vec::new();
        let mut silent = false;
        let mut unfolded = 0;
        let mut seen = rustc_hash::FxHashSet::default();
        let mut pending = vec![process];
        while let Some(next) = pending.pop() {
            if !seen.insert(next) {
                continue;
            }
            self.stepper.go_on().ok()?;
            match self.stepper.model.term(next) {
                Term::Prefix(event, _) => events.push(*event),
                Term::Menu(branches) => events.extend(branches.iter().map(|branch| branch.0)),
                Term::Rename(_, relation) => {
                    let pairs = self.stepper.model.relation_pairs(*relation);
                    events.extend(pairs.iter().map(|pair| pair.1));
                }
                Term::Internal(_) | Term::Sliding(..) | Term::Skip | Term::Hide(..) => silent = true,
                &Term::Call(definition) => {
                    unfolded += 1;
                    if unfolded > UNFOLD_LIMIT {
                        return None;
                    }
                    pending.push(self.stepper.body(definition).ok()?);
                }
                _ => {}
            }
            self.stepper.model.term(next).for_each_operand(|operand| pending.push(operand));
        }
        events.sort_unstable();
        events.dedup();
        Some((events, silent))
    }
}

/// The rules of a parallel operator. `needed` says how many operands must do a label together, or
/// `None` if each does it alone; `allowed` says which operand may do it at all. `None` if there are
/// too many, or `stop` says so.
fn join(
    parts: Vec<Vec<Rule>>,
    needed: impl Fn(Label) -> Option<usize>,
    allowed: impl Fn(usize, Label) -> bool,
    stop: Option<StopTest<'_>>,
) -> Option<Vec<Rule>> {
    let mut all: Vec<(usize, Rule)> = Vec::new();
    for (part, rules) in parts.into_iter().enumerate() {
        let rules = rules.into_iter().filter(|rule| allowed(part, rule.label));
        all.extend(rules.map(|rule| (part, rule)));
    }
    // Stable, so that the rules of one operand stay in their order.
    all.sort_by_key(|(part, rule)| (rule.label, *part));
    let mut joined: Vec<Rule> = Vec::new();
    for same in all.chunk_by(|left, right| left.1.label == right.1.label) {
        let label = same[0].1.label;
        let Some(count) = needed(label) else {
            joined.extend(same.iter().map(|(_, rule)| rule.clone()));
            continue;
        };
        let per_part: Vec<Vec<&Rule>> = same
            .chunk_by(|left, right| left.0 == right.0)
            .map(|chunk| chunk.iter().map(|(_, rule)| rule).collect())
            .collect();
        let combinations = per_part.iter().try_fold(1usize, |product, list| product.checked_mul(list.len()));
        if combinations.is_none_or(|count| count > RULE_LIMIT - joined.len()) {
            return None;
        }
        if per_part.len() == count {
            for_each_choice(&per_part, |choice| {
                let mut moves: Vec<_> = choice.iter().flat_map(|rule| rule.moves.iter().copied()).collect();
                moves.sort_unstable();
                joined.push(Rule { label, moves: moves.into() });
                stop_if(stop, 0)
            })
            .ok()?;
        }
    }
    (joined.len() <= RULE_LIMIT).then_some(joined)
}

/// For each rule, the component that is examined first. A component with few enabled events causes
/// few failed attempts: of a thread and a mutex, it is the thread.
pub(crate) fn drivers(stepper: &mut Stepper<'_>, flat: &Flat) -> Result<Vec<usize>, CheckError> {
    let mut cost = Vec::with_capacity(flat.leaves.len());
    for (index, leaf) in flat.leaves.iter().enumerate() {
        let offers = stepper.steps(leaf.start)?.len();
        cost.push((offers, usize::MAX - leaf.alphabet, index));
    }
    let cheapest = |rule: &Rule| {
        let costs = rule.moves.iter().enumerate();
        costs.min_by_key(|(_, entry)| cost[entry.0 as usize]).map_or(0, |(at, _)| at)
    };
    Ok(flat.rules.iter().map(cheapest).collect())
}
