//! Exports a model that a program built as a script that FDR reads.
//!
//! Definitions keep their names as far as CSPm allows them; processes that are used more than once,
//! and processes that would nest too deeply, get definitions of their own, so that the text is as
//! long as the model and not longer. The types of channels and the datatypes behind them follow
//! from the events that the model has.

mod names;
mod sets;
mod types;

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use thiserror::Error;

use super::ast::{
    Assertion, BinaryOp, Bracket, ChainOp, Claim, Communication, Declaration, DeclarationKind, Definition, Expression,
    ExpressionKind, Pattern, PatternKind, ReplicatedOp, Script, Statement,
};
use crate::check::ProcessProperty;
use crate::core::term::Term;
use crate::core::{DefId, EventId, Model, ProcId, SetId};
use crate::error::SourcePosition;
use crate::value::{Name, Value};
use names::NameTable;

/// Why a model cannot be written as a script.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum ExportError {
    /// A process calls a definition that was declared but never defined.
    #[error("{0} is called but not defined")]
    Undefined(String),
    /// An event is not a channel followed by data.
    #[error("`{0}` is not the name of an event")]
    NotAnEvent(Value),
    /// Events of one channel differ in their number of fields.
    #[error("the events of channel `{0}` differ in their number of fields")]
    FieldCount(Name),
    /// A field of a channel has values of different kinds, which a typed language has no set for.
    #[error("field {field} of channel `{channel}` has values of different kinds")]
    MixedField {
        /// The channel.
        channel: Name,
        /// The field, counted from 1.
        field: usize,
    },
}

/// Names for the datatypes of atoms, each with its constructors. Other atoms are grouped by the
/// fields that they occur in.
pub type TypeNames<'a> = &'a [(&'a str, &'a [&'a str])];

/// The script in which each claim is an assertion, together with everything that the claimed
/// processes are made of.
pub fn export(
    model: &Model,
    claims: &[(ProcId, ProcessProperty)],
    types: TypeNames<'_>,
) -> Result<Script, ExportError> {
    let mut names = NameTable::new();
    let declared = types::declarations(model, types, &mut names)?;
    let mut exporter = Exporter::new(model, names, claims)?;
    let mut assertions = Vec::new();
    for &(process, property) in claims {
        let implementation = exporter.reference(process);
        let claim = match property {
            ProcessProperty::Refines { specification } => {
                Claim::TraceRefinement(exporter.reference(specification), implementation)
            }
            ProcessProperty::DeadlockFree => Claim::DeadlockFree(implementation),
            ProcessProperty::DivergenceFree => Claim::DivergenceFree(implementation),
        };
        assertions.push(DeclarationKind::Assert(Assertion { negated: false, claim }));
    }
    exporter.finish();
    let definitions = exporter.definitions.into_iter().map(DeclarationKind::Definition);
    let all = declared.into_iter().chain(definitions).chain(assertions);
    let place = SourcePosition::default();
    Ok(Script { declarations: all.map(|kind| Declaration { kind, place }).collect() })
}

/// How deep operators nest in one definition before a new one is begun.
const NESTING_LIMIT: usize = 30;
/// Parallel compositions of more operands than this are written over an index.
const INDEXED: usize = 6;
/// Branches of a choice that lead to one process are written over a set if there are more than
/// this.
const MERGED: usize = 3;

struct Exporter<'m> {
    model: &'m Model,
    names: NameTable,
    /// Processes that are written as a definition of their own.
    shared: FxHashMap<ProcId, Name>,
    called: FxHashMap<DefId, Name>,
    sets: FxHashMap<SetId, Name>,
    /// How many events each channel has.
    channel_events: FxHashMap<Name, usize>,
    /// Definitions are written in the order of their first use, so that the text can be read from
    /// top to bottom.
    pending: VecDeque<(Name, ProcId)>,
    definitions: Vec<Definition>,
    /// The variable of choices over sets.
    variable: Name,
}

fn define(name: Name, parameters: Option<Vec<Pattern>>, body: Expression) -> Definition {
    Definition { name, parameters, body, place: SourcePosition::default() }
}

fn boxed(kind: ExpressionKind) -> Box<Expression> {
    Box::new(Expression::new(kind))
}

fn variable(name: &Name) -> Pattern {
    Pattern { kind: PatternKind::Name(name.clone()), place: SourcePosition::default() }
}

impl<'m> Exporter<'m> {
    fn new(
        model: &'m Model,
        mut names: NameTable,
        claims: &[(ProcId, ProcessProperty)],
    ) -> Result<Exporter<'m>, ExportError> {
        let mut channel_events: FxHashMap<Name, usize> = FxHashMap::default();
        for event in model.events() {
            *channel_events.entry(channel_of(model, event)?).or_default() += 1;
        }
        let mut exporter = Exporter {
            model,
            variable: names.fresh("e"),
            names,
            shared: FxHashMap::default(),
            called: FxHashMap::default(),
            sets: FxHashMap::default(),
            channel_events,
            pending: VecDeque::new(),
            definitions: Vec::new(),
        };
        exporter.find_shared(claims)?;
        Ok(exporter)
    }

    /// Gives a name to every process that more than one other contains; finds calls of what is not
    /// defined.
    fn find_shared(&mut self, claims: &[(ProcId, ProcessProperty)]) -> Result<(), ExportError> {
        let mut uses: FxHashMap<ProcId, usize> = FxHashMap::default();
        let mut pending: Vec<ProcId> = Vec::new();
        for &(process, property) in claims {
            pending.push(process);
            if let ProcessProperty::Refines { specification } = property {
                pending.push(specification);
            }
        }
        let mut order = Vec::new();
        while let Some(process) = pending.pop() {
            let count = uses.entry(process).or_default();
            *count += 1;
            if *count > 1 {
                continue;
            }
            order.push(process);
            let term = self.model.term(process);
            term.for_each_operand(|operand| pending.push(operand));
            if let Term::Call(definition) = term {
                let definition = self.model.definition(*definition);
                let missing = || ExportError::Undefined(definition.name.clone());
                pending.push(definition.body.ok_or_else(missing)?);
            }
        }
        for process in order {
            let small = matches!(self.model.term(process), Term::Stop | Term::Skip | Term::Omega | Term::Call(_));
            if uses[&process] > 1 && !small {
                let name = self.names.fresh("P");
                self.shared.insert(process, name);
            }
        }
        Ok(())
    }

    /// Writes the definitions that what was written so far refers to.
    fn finish(&mut self) {
        while let Some((name, process)) = self.pending.pop_front() {
            // A definition whose body has a name of its own for other reasons only refers to it.
            let other_name = self.shared.get(&process).is_some_and(|other| *other != name);
            let body = if other_name { self.reference(process) } else { self.expression(process, 0) };
            self.definitions.push(define(name, None, body));
        }
    }

    /// A process by name, to be defined later.
    fn reference(&mut self, process: ProcId) -> Expression {
        match *self.model.term(process) {
            Term::Stop | Term::Omega => return Expression::name("STOP"),
            Term::Skip => return Expression::name("SKIP"),
            Term::Call(definition) => return self.call(definition),
            _ => {}
        }
        if let Some(name) = self.shared.get(&process) {
            let name = name.clone();
            return self.pend(name, process);
        }
        let name = self.names.fresh("P");
        self.shared.insert(process, name.clone());
        self.pend(name, process)
    }

    fn pend(&mut self, name: Name, process: ProcId) -> Expression {
        if self.names.mention(&name) {
            self.pending.push_back((name.clone(), process));
        }
        Expression::name(name)
    }

    fn call(&mut self, definition: DefId) -> Expression {
        let known = self.called.get(&definition).cloned();
        let name = known.unwrap_or_else(|| {
            let name = self.names.fresh(&self.model.definition(definition).name);
            self.called.insert(definition, name.clone());
            name
        });
        // `find_shared` has refused models in which a body is missing.
        let body = self.model.definition(definition).body.unwrap_or_else(|| self.model.stop());
        self.pend(name, body)
    }

    /// A process as an operand: by name if it has one or if this one is deep enough.
    fn operand(&mut self, process: ProcId, nesting: usize) -> Expression {
        let named = self.shared.contains_key(&process) || nesting >= NESTING_LIMIT;
        match named {
            true => self.reference(process),
            false => self.expression(process, nesting + 1),
        }
    }

    fn operands(&mut self, processes: &[ProcId], nesting: usize) -> Vec<Expression> {
        processes.iter().map(|&process| self.operand(process, nesting)).collect()
    }

    fn expression(&mut self, process: ProcId, nesting: usize) -> Expression {
        let model = self.model;
        let kind = match model.term(process) {
            Term::Stop | Term::Skip | Term::Omega => return self.reference(process),
            Term::Call(definition) => return self.call(*definition),
            &Term::Prefix(event, next) => self.prefix(event, next, nesting),
            Term::Menu(branches) => self.menu(branches, nesting),
            Term::External(operands) => ExpressionKind::Chain(ChainOp::External, self.operands(operands, nesting)),
            Term::Internal(operands) => ExpressionKind::Chain(ChainOp::Internal, self.operands(operands, nesting)),
            &Term::Seq(first, second) => {
                ExpressionKind::Chain(ChainOp::Sequential, self.operands(&[first, second], nesting))
            }
            &Term::Sliding(first, second) => self.binary(BinaryOp::Sliding, first, second, nesting),
            &Term::Interrupt(first, second) => self.binary(BinaryOp::Interrupt, first, second, nesting),
            &Term::Exception(first, set, second) => {
                let (first, second) = (self.operand(first, nesting), self.operand(second, nesting));
                ExpressionKind::Exception(Box::new(first), Box::new(self.set(set)), Box::new(second))
            }
            Term::Shared(set, operands) => self.shared(*set, operands, nesting),
            Term::Alphabetised(pairs) => self.alphabetised(pairs, nesting),
            &Term::Hide(operand, set) => {
                let operand = self.operand(operand, nesting);
                ExpressionKind::Binary(BinaryOp::Hide, Box::new(operand), Box::new(self.set(set)))
            }
            &Term::Rename(operand, relation) => {
                let operand = self.operand(operand, nesting);
                let pairs = model.relation_pairs(relation).iter();
                let pairs = pairs.map(|&(from, to)| (self.event(from), self.event(to))).collect();
                ExpressionKind::Rename(Box::new(operand), pairs, Vec::new())
            }
        };
        Expression::new(kind)
    }

    fn binary(&mut self, operator: BinaryOp, first: ProcId, second: ProcId, nesting: usize) -> ExpressionKind {
        let (first, second) = (self.operand(first, nesting), self.operand(second, nesting));
        ExpressionKind::Binary(operator, Box::new(first), Box::new(second))
    }

    fn step(&self, event: EventId) -> Communication {
        Communication { channel: self.event(event), fields: Vec::new() }
    }

    /// A chain of prefixes is one expression, however long.
    fn prefix(&mut self, event: EventId, next: ProcId, nesting: usize) -> ExpressionKind {
        let mut steps = vec![self.step(event)];
        let mut last = next;
        while let &Term::Prefix(event, next) = self.model.term(last) {
            if self.shared.contains_key(&last) {
                break;
            }
            steps.push(self.step(event));
            last = next;
        }
        let body = self.operand(last, nesting);
        ExpressionKind::Prefix(steps, Box::new(body))
    }

    fn menu(&mut self, branches: &[(EventId, ProcId)], nesting: usize) -> ExpressionKind {
        let mut by_target: Vec<(ProcId, EventId)> = branches.iter().map(|&(event, next)| (next, event)).collect();
        by_target.sort_unstable();
        let mut choices = Vec::new();
        for same in by_target.chunk_by(|left, right| left.0 == right.0) {
            if same.len() <= MERGED {
                for &(next, event) in same {
                    choices.push(Expression::new(self.prefix(event, next, nesting)));
                }
                continue;
            }
            let next = self.operand(same[0].0, nesting);
            let events: Vec<EventId> = same.iter().map(|branch| branch.1).collect();
            let from = Statement::Generator(variable(&self.variable), self.event_list(&events));
            let step = Communication { channel: Expression::name(self.variable.clone()), fields: Vec::new() };
            let body = boxed(ExpressionKind::Prefix(vec![step], Box::new(next)));
            let operator = ReplicatedOp::Chain(ChainOp::External);
            choices.push(Expression::new(ExpressionKind::Replicated(operator, vec![from], body)));
        }
        match choices.len() {
            1 => choices.swap_remove(0).kind,
            _ => ExpressionKind::Chain(ChainOp::External, choices),
        }
    }

    fn shared(&mut self, set: SetId, operands: &[ProcId], nesting: usize) -> ExpressionKind {
        if self.model.set_events(set).is_empty() {
            return ExpressionKind::Chain(ChainOp::Interleave, self.operands(operands, nesting));
        }
        let set = self.set(set);
        if operands.len() > INDEXED {
            let (index, from) = self.index(operands.len());
            let component =
                self.indexed("COMPONENT", &index, operands, |exporter, &operand| exporter.operand(operand, nesting));
            return ExpressionKind::Replicated(ReplicatedOp::Shared(Box::new(set)), vec![from], Box::new(component));
        }
        // The set is the same everywhere, so it does not matter how the operands are put together.
        let mut operands = self.operands(operands, nesting).into_iter();
        let first = operands.next().unwrap_or_else(|| Expression::name("SKIP"));
        let all = operands.fold(first, |left, right| {
            Expression::new(ExpressionKind::Shared(Box::new(left), Box::new(set.clone()), Box::new(right)))
        });
        all.kind
    }

    fn alphabetised(&mut self, pairs: &[(SetId, ProcId)], nesting: usize) -> ExpressionKind {
        if let &[(left, first), (right, second)] = pairs {
            let (first, second) = (self.operand(first, nesting), self.operand(second, nesting));
            let (left, right) = (self.set(left), self.set(right));
            return ExpressionKind::Alphabetised(Box::new(first), Box::new(left), Box::new(right), Box::new(second));
        }
        let (index, from) = self.index(pairs.len());
        let alphabet = self.indexed("ALPHABET", &index, pairs, |exporter, pair| exporter.set(pair.0));
        let component = self.indexed("COMPONENT", &index, pairs, |exporter, pair| exporter.operand(pair.1, nesting));
        ExpressionKind::Replicated(ReplicatedOp::Alphabetised(Box::new(alphabet)), vec![from], Box::new(component))
    }

    /// A variable that runs over `count` numbers.
    fn index(&mut self, count: usize) -> (Name, Statement) {
        let index = self.names.fresh("i");
        let last = i64::try_from(count).unwrap_or(i64::MAX) - 1;
        let range =
            ExpressionKind::Range(Bracket::Set, boxed(ExpressionKind::Int(0)), boxed(ExpressionKind::Int(last)));
        let from = Statement::Generator(variable(&index), Expression::new(range));
        (index, from)
    }

    /// A function with one clause per item, called with the index.
    fn indexed<T>(
        &mut self,
        name: &str,
        index: &Name,
        items: &[T],
        mut body: impl FnMut(&mut Self, &T) -> Expression,
    ) -> Expression {
        let name = self.names.fresh(name);
        let mut clauses = Vec::new();
        for (number, item) in (0i64..).zip(items) {
            let pattern = Pattern { kind: PatternKind::Int(number), place: SourcePosition::default() };
            clauses.push(define(name.clone(), Some(vec![pattern]), body(self, item)));
        }
        self.definitions.append(&mut clauses);
        Expression::new(ExpressionKind::Call(Box::new(Expression::name(name)), vec![Expression::name(index.clone())]))
    }
}

/// The channel that an event belongs to.
fn channel_of(model: &Model, event: EventId) -> Result<Name, ExportError> {
    match model.event_name(event).parts() {
        [Value::Atom(channel), ..] => Ok(channel.clone()),
        _ => Err(ExportError::NotAnEvent(model.event_name(event).clone())),
    }
}
