//! The operational semantics: the transitions of each process.
//!
//! Source: the structural operational semantics of CSP as in Roscoe, *Understanding Concurrent
//! Systems*, chapter 9, with termination as in chapter 6 (a parallel composition terminates when
//! all operands have; each operand's own tick is an internal step). Calls are unfolded without a
//! step of their own. Deviations: operators are n-ary where they are associative; an internal
//! choice of equal operands makes no tau (the constructors in `model` drop it), which no trace,
//! deadlock or divergence check can see. Each term's transitions are computed once, so a component
//! that many states share costs nothing the second time.

use std::ops::Range;

use super::event::{Label, RelationId, SetId};
use super::model::{Model, OMEGA};
use super::parallel::Sharing;
use super::term::{DefId, ProcId, Term};
use crate::error::{CheckError, LimitReached, StopTest, stop_if};

/// A transition: its label and the resulting process.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Transition {
    pub(crate) label: Label,
    pub(crate) target: ProcId,
}

/// Provides the bodies of definitions when they are first needed. A script can describe infinitely
/// many definitions (`P(n)`), so its evaluator cannot provide them in advance.
pub(crate) trait Resolver {
    /// The body of `definition`, which has none in the model yet.
    fn resolve(&mut self, model: &mut Model, definition: DefId) -> Result<ProcId, CheckError>;
}

/// For models that were built without a script: every definition must already have its body.
pub(crate) struct NoResolver;

impl Resolver for NoResolver {
    fn resolve(&mut self, model: &mut Model, definition: DefId) -> Result<ProcId, CheckError> {
        Err(CheckError::Undefined(model.definition(definition).name.clone()))
    }
}

/// How deep operators may nest before a step is given up; prefixes and calls of finished terms do
/// not count.
const DEPTH_LIMIT: usize = 300;

#[derive(Clone)]
enum Memo {
    Unknown,
    /// On the stack. If it is reached again, the process has no first step.
    Open,
    Known(Range<usize>),
}

/// The transition relation over the terms of a model.
pub(crate) struct Stepper<'a> {
    pub(crate) model: &'a mut Model,
    resolver: &'a mut dyn Resolver,
    stop: Option<StopTest<'a>>,
    memo: Vec<Memo>,
    transitions: Vec<Transition>,
    depth: usize,
}

impl<'a> Stepper<'a> {
    /// `stop` is asked at each term and at each combination of steps.
    pub(crate) fn new(model: &'a mut Model, resolver: &'a mut dyn Resolver, stop: Option<StopTest<'a>>) -> Stepper<'a> {
        Stepper { model, resolver, stop, memo: Vec::new(), transitions: Vec::new(), depth: 0 }
    }

    /// The steps of `process`, sorted by label and then by target.
    pub(crate) fn steps(&mut self, process: ProcId) -> Result<&[Transition], CheckError> {
        let range = self.ensure(process)?;
        Ok(&self.transitions[range])
    }

    /// The steps of `process` with exactly this label.
    pub(crate) fn steps_with(&mut self, process: ProcId, label: Label) -> Result<&[Transition], CheckError> {
        self.ensure(process)?;
        Ok(self.known_steps(process, label))
    }

    /// The steps of `process` with exactly this label; empty unless [`steps`](Self::steps) was
    /// called for it before.
    pub(crate) fn known_steps(&self, process: ProcId, label: Label) -> &[Transition] {
        let Some(Memo::Known(range)) = self.memo.get(process.index()) else {
            return &[];
        };
        let all = &self.transitions[range.clone()];
        let start = all.partition_point(|step| step.label < label);
        let length = all[start..].partition_point(|step| step.label == label);
        &all[start..start + length]
    }

    /// What tells whether to go on, for parts that work without the stepper.
    pub(crate) fn stop(&self) -> Option<StopTest<'a>> {
        self.stop
    }

    /// The error if the caller of the check wants to stop.
    pub(crate) fn go_on(&self) -> Result<(), CheckError> {
        Ok(stop_if(self.stop, 0)?)
    }

    /// The body of a definition, resolving it if this is the first time.
    pub(crate) fn body(&mut self, definition: DefId) -> Result<ProcId, CheckError> {
        if let Some(body) = self.model.definition(definition).body {
            return Ok(body);
        }
        let body = self.resolver.resolve(self.model, definition)?;
        self.model.define(definition, body);
        Ok(body)
    }

    pub(super) fn ensure(&mut self, process: ProcId) -> Result<Range<usize>, CheckError> {
        let index = process.index();
        if index >= self.memo.len() {
            self.memo.resize(self.model.terms().max(index + 1), Memo::Unknown);
        }
        match &self.memo[index] {
            Memo::Known(range) => return Ok(range.clone()),
            Memo::Open => return Err(CheckError::Unguarded(self.name_of(process))),
            Memo::Unknown => {}
        }
        self.go_on()?;
        if self.depth >= DEPTH_LIMIT {
            return Err(LimitReached::Depth { limit: DEPTH_LIMIT }.into());
        }
        self.memo[index] = Memo::Open;
        self.depth += 1;
        let computed = self.compute(process);
        self.depth -= 1;
        // An error must not leave the mark: another check may reach this process in a legal way.
        self.memo[index] = Memo::Unknown;
        let mut steps = computed?;
        steps.sort_unstable();
        steps.dedup();
        let range = self.transitions.len()..self.transitions.len() + steps.len();
        self.model.charge(steps.len());
        self.transitions.append(&mut steps);
        self.memo[index] = Memo::Known(range.clone());
        Ok(range)
    }

    /// Whether the process has terminated.
    pub(crate) fn has_terminated(&self, process: ProcId) -> bool {
        process == OMEGA
    }

    fn name_of(&self, process: ProcId) -> String {
        self.call_in(process).unwrap_or_else(|| "a process".to_owned())
    }

    /// The name of the first call that is found below `process`, outside of prefixes.
    pub(crate) fn call_in(&self, process: ProcId) -> Option<String> {
        let mut found = None;
        let mut pending = vec![process];
        while let (Some(next), None) = (pending.pop(), &found) {
            match self.model.term(next) {
                Term::Call(definition) => found = Some(self.model.definition(*definition).name.clone()),
                Term::Prefix(..) | Term::Menu(_) => {}
                other => other.for_each_operand(|operand| pending.push(operand)),
            }
        }
        found
    }

    /// How a process without a name begins.
    pub(crate) fn beginning(&self, process: ProcId) -> Option<String> {
        match self.model.term(process) {
            Term::Prefix(event, _) => Some(format!("{} -> ..", self.model.event_name(*event))),
            Term::Menu(branches) => Some(format!("{} -> .. [] ..", self.model.event_name(branches.first()?.0))),
            _ => None,
        }
    }

    pub(super) fn copied(&mut self, process: ProcId) -> Result<Vec<Transition>, CheckError> {
        Ok(self.steps(process)?.to_vec())
    }

    fn compute(&mut self, process: ProcId) -> Result<Vec<Transition>, CheckError> {
        let term = self.model.term(process).clone();
        Ok(match term {
            Term::Stop | Term::Omega => Vec::new(),
            Term::Skip => vec![Transition { label: Label::TICK, target: OMEGA }],
            Term::Prefix(event, target) => vec![Transition { label: Label::visible(event), target }],
            Term::Menu(branches) => {
                branches.iter().map(|&(event, target)| Transition { label: Label::visible(event), target }).collect()
            }
            Term::Internal(operands) => {
                operands.iter().map(|&target| Transition { label: Label::TAU, target }).collect()
            }
            Term::External(operands) => self.external(&operands)?,
            Term::Sliding(first, second) => self.sliding(first, second)?,
            Term::Seq(first, second) => self.sequence(first, second)?,
            Term::Interrupt(first, second) => self.interrupt(first, second)?,
            Term::Exception(first, set, second) => self.exception(first, set, second)?,
            Term::Shared(set, operands) => self.parallel(&Sharing::Set(set, &operands))?,
            Term::Alphabetised(pairs) => self.parallel(&Sharing::Alphabets(&pairs))?,
            Term::Hide(operand, set) => self.hide(operand, set)?,
            Term::Rename(operand, relation) => self.rename(operand, relation)?,
            Term::Call(definition) => {
                let body = self.body(definition)?;
                self.copied(body)?
            }
        })
    }

    fn external(&mut self, operands: &[ProcId]) -> Result<Vec<Transition>, CheckError> {
        let mut steps = Vec::new();
        for (index, &operand) in operands.iter().enumerate() {
            for step in self.copied(operand)? {
                // Only a visible step or termination decides the choice.
                let target = if step.label.is_silent() {
                    let rest = operands.iter().enumerate();
                    let moved = rest.map(|(at, &old)| if at == index { step.target } else { old });
                    self.model.external(moved.collect::<Vec<_>>())
                } else {
                    step.target
                };
                steps.push(Transition { target, ..step });
            }
        }
        Ok(steps)
    }

    fn sliding(&mut self, first: ProcId, second: ProcId) -> Result<Vec<Transition>, CheckError> {
        let mut steps = vec![Transition { label: Label::TAU, target: second }];
        for step in self.copied(first)? {
            let stays = step.label.is_silent();
            let target = if stays { self.model.sliding(step.target, second) } else { step.target };
            steps.push(Transition { target, ..step });
        }
        Ok(steps)
    }

    fn sequence(&mut self, first: ProcId, second: ProcId) -> Result<Vec<Transition>, CheckError> {
        let mut steps = Vec::new();
        for step in self.copied(first)? {
            steps.push(if step.label == Label::TICK {
                Transition { label: Label::TAU, target: second }
            } else {
                Transition { target: self.model.sequence(step.target, second), ..step }
            });
        }
        Ok(steps)
    }

    fn interrupt(&mut self, first: ProcId, second: ProcId) -> Result<Vec<Transition>, CheckError> {
        let mut steps = Vec::new();
        for step in self.copied(first)? {
            let ends = step.label == Label::TICK;
            let target = if ends { OMEGA } else { self.model.interrupt(step.target, second) };
            steps.push(Transition { target, ..step });
        }
        for step in self.copied(second)? {
            let stays = step.label.is_silent();
            let target = if stays { self.model.interrupt(first, step.target) } else { step.target };
            steps.push(Transition { target, ..step });
        }
        Ok(steps)
    }

    fn exception(&mut self, first: ProcId, set: SetId, second: ProcId) -> Result<Vec<Transition>, CheckError> {
        let mut steps = Vec::new();
        for step in self.copied(first)? {
            let thrown = step.label.event().is_some_and(|event| self.model.set_contains(set, event));
            let target = match step.label {
                Label::TICK => OMEGA,
                _ if thrown => second,
                _ => self.model.exception(step.target, set, second),
            };
            steps.push(Transition { target, ..step });
        }
        Ok(steps)
    }

    fn hide(&mut self, operand: ProcId, set: SetId) -> Result<Vec<Transition>, CheckError> {
        let mut steps = Vec::new();
        for step in self.copied(operand)? {
            let label = match step.label.event() {
                Some(event) if self.model.set_contains(set, event) => Label::hidden(event),
                _ => step.label,
            };
            let ends = label == Label::TICK;
            let target = if ends { OMEGA } else { self.model.hide(step.target, set) };
            steps.push(Transition { label, target });
        }
        Ok(steps)
    }

    fn rename(&mut self, operand: ProcId, relation: RelationId) -> Result<Vec<Transition>, CheckError> {
        let mut steps = Vec::new();
        for step in self.copied(operand)? {
            let ends = step.label == Label::TICK;
            let target = if ends { OMEGA } else { self.model.rename(step.target, relation) };
            let images = match step.label.event() {
                Some(event) => self.model.images(relation, event),
                None => &[],
            };
            match images {
                [] => steps.push(Transition { target, ..step }),
                images => steps.extend(images.iter().map(|&(_, to)| Transition { label: Label::visible(to), target })),
            }
        }
        Ok(steps)
    }
}
