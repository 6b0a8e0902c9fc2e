//! The store of a model: events, event sets, renamings, process terms, definitions.
//!
//! Every term is kept once (hash-consing), so a process state is one word and comparing two states
//! is comparing words. The constructors apply only laws that hold up to strong bisimilarity (a
//! choice is a set, parallel operands commute and nest away, `STOP [] P` is `P`, hidings merge, `;`
//! associates to the right) or that drop internal steps without changing traces, deadlocks or
//! divergence; they make more states equal and never change a verdict.

use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;

use super::event::{EventId, RelationId, SetId};
use super::term::{DefId, ProcId, Term};
use crate::value::Value;

type Interned<T> = IndexSet<T, FxBuildHasher>;

/// A definition: a name and, once it is known, a body.
#[derive(Clone, Debug)]
pub(crate) struct ProcessDefinition {
    pub(crate) name: String,
    pub(crate) body: Option<ProcId>,
}

/// Events, sets and processes that belong together; see the crate's page for an example.
///
/// Handles ([`EventId`], [`SetId`], [`ProcId`], ...) are meaningful only in the model that gave
/// them.
#[derive(Clone, Debug)]
pub struct Model {
    events: Interned<Value>,
    sets: Interned<Box<[EventId]>>,
    relations: Interned<Box<[(EventId, EventId)]>>,
    terms: Interned<Term>,
    definitions: Vec<ProcessDefinition>,
    cells: usize,
}

impl Default for Model {
    fn default() -> Model {
        Model::new()
    }
}

const STOP: ProcId = ProcId(0);
const SKIP: ProcId = ProcId(1);
pub(crate) const OMEGA: ProcId = ProcId(2);
const EMPTY_SET: SetId = SetId(0);

/// The next handle of a table. Memory is exhausted before a table has 2^31 entries.
fn handle(index: usize) -> u32 {
    u32::try_from(index).expect("fewer than 2^32 entries fit the memory")
}

impl Model {
    /// An empty model.
    pub fn new() -> Model {
        let mut model = Model {
            events: Interned::default(),
            sets: Interned::default(),
            relations: Interned::default(),
            terms: Interned::default(),
            definitions: Vec::new(),
            cells: 0,
        };
        model.set([]);
        for term in [Term::Stop, Term::Skip, Term::Omega] {
            model.intern(term);
        }
        model
    }

    /// The event with this name: an atom for a bare channel, a dotted value for a channel with
    /// data.
    pub fn event(&mut self, name: Value) -> EventId {
        EventId(handle(self.events.insert_full(name).0))
    }

    /// The event `channel.field.field...`.
    pub fn event_on(&mut self, channel: &str, fields: &[Value]) -> EventId {
        let name = Value::dot(std::iter::once(Value::atom(channel)).chain(fields.iter().cloned()));
        self.event(name)
    }

    /// The event with this name, if the model has it. It maps names of a counterexample back to
    /// events.
    pub fn find_event(&self, name: &Value) -> Option<EventId> {
        self.events.get_index_of(name).map(|index| EventId(handle(index)))
    }

    /// The name of the event.
    pub fn event_name(&self, event: EventId) -> &Value {
        &self.events[event.0 as usize]
    }

    /// Every event that the model has, in the order in which they were first named.
    pub fn events(&self) -> impl Iterator<Item = EventId> + use<> {
        (0..handle(self.events.len())).map(EventId)
    }

    /// The set of these events.
    pub fn set(&mut self, events: impl IntoIterator<Item = EventId>) -> SetId {
        let mut events: Vec<EventId> = events.into_iter().collect();
        events.sort_unstable();
        events.dedup();
        SetId(handle(self.sets.insert_full(events.into()).0))
    }

    /// The set's events, sorted.
    pub fn set_events(&self, set: SetId) -> &[EventId] {
        &self.sets[set.0 as usize]
    }

    pub(crate) fn set_contains(&self, set: SetId, event: EventId) -> bool {
        self.set_events(set).binary_search(&event).is_ok()
    }

    /// The renaming that turns each first event into each second event it is paired with.
    pub fn relation(&mut self, pairs: impl IntoIterator<Item = (EventId, EventId)>) -> RelationId {
        let mut pairs: Vec<_> = pairs.into_iter().collect();
        pairs.sort_unstable();
        pairs.dedup();
        RelationId(handle(self.relations.insert_full(pairs.into()).0))
    }

    pub(crate) fn relation_pairs(&self, relation: RelationId) -> &[(EventId, EventId)] {
        &self.relations[relation.0 as usize]
    }

    /// The events that `event` is renamed to; empty if the renaming does not change it.
    pub(crate) fn images(&self, relation: RelationId, event: EventId) -> &[(EventId, EventId)] {
        let pairs = self.relation_pairs(relation);
        let start = pairs.partition_point(|pair| pair.0 < event);
        let length = pairs[start..].partition_point(|pair| pair.0 == event);
        &pairs[start..start + length]
    }

    /// `STOP`.
    pub fn stop(&self) -> ProcId {
        STOP
    }

    /// `SKIP`.
    pub fn skip(&self) -> ProcId {
        SKIP
    }

    /// `event -> next`.
    pub fn prefix(&mut self, event: EventId, next: ProcId) -> ProcId {
        self.intern(Term::Prefix(event, next))
    }

    /// `e1 -> e2 -> ... -> next`.
    pub fn prefixes(&mut self, events: &[EventId], next: ProcId) -> ProcId {
        events.iter().rev().fold(next, |next, &event| self.prefix(event, next))
    }

    /// The external choice of `event -> next` over all branches: what `c?x -> P(x)` is, too.
    pub fn menu(&mut self, mut branches: Vec<(EventId, ProcId)>) -> ProcId {
        branches.sort_unstable();
        branches.dedup();
        match branches[..] {
            [] => STOP,
            [(event, next)] => self.prefix(event, next),
            _ => self.intern(Term::Menu(branches.into())),
        }
    }

    /// `P [] Q [] ...`; of nothing, `STOP`.
    pub fn external(&mut self, operands: impl IntoIterator<Item = ProcId>) -> ProcId {
        let mut flat = Vec::new();
        for operand in operands {
            match self.term(operand) {
                Term::External(inner) => flat.extend_from_slice(inner),
                Term::Stop => {}
                _ => flat.push(operand),
            }
        }
        flat.sort_unstable();
        flat.dedup();
        match flat[..] {
            [] => STOP,
            [only] => only,
            _ => self.intern(Term::External(flat.into())),
        }
    }

    /// `P |~| Q |~| ...`; of nothing, `STOP`.
    pub fn internal(&mut self, operands: impl IntoIterator<Item = ProcId>) -> ProcId {
        let mut operands: Vec<ProcId> = operands.into_iter().collect();
        operands.sort_unstable();
        operands.dedup();
        match operands[..] {
            [] => STOP,
            [only] => only,
            _ => self.intern(Term::Internal(operands.into())),
        }
    }

    /// `P [> Q`: behaves as `P`, or silently becomes `Q` before the first visible event.
    pub fn sliding(&mut self, first: ProcId, second: ProcId) -> ProcId {
        self.intern(Term::Sliding(first, second))
    }

    /// `P ; Q`.
    pub fn sequence(&mut self, first: ProcId, second: ProcId) -> ProcId {
        // A left-nested chain would make each step as deep as the chain is long, so `(A ; B) ; C`
        // is kept as `A ; (B ; C)`.
        let mut heads = Vec::new();
        let mut last = first;
        while let &Term::Seq(head, rest) = self.term(last) {
            heads.push(head);
            last = rest;
        }
        if last == STOP && heads.is_empty() {
            return STOP;
        }
        heads.push(last);
        heads.into_iter().rev().fold(second, |tail, head| self.intern(Term::Seq(head, tail)))
    }

    /// `P /\ Q`: as `P`, until `Q` takes over.
    pub fn interrupt(&mut self, first: ProcId, second: ProcId) -> ProcId {
        self.intern(Term::Interrupt(first, second))
    }

    /// `P [| A |> Q`: as `P`, until an event of `A` hands over to `Q`.
    pub fn exception(&mut self, first: ProcId, set: SetId, second: ProcId) -> ProcId {
        self.intern(Term::Exception(first, set, second))
    }

    /// `P ||| Q ||| ...`; of nothing, `SKIP`.
    pub fn interleave(&mut self, operands: impl IntoIterator<Item = ProcId>) -> ProcId {
        self.parallel(EMPTY_SET, operands)
    }

    /// `P [| set |] Q [| set |] ...`: all operands together do each event of the set; of nothing,
    /// `SKIP`.
    pub fn parallel(&mut self, set: SetId, operands: impl IntoIterator<Item = ProcId>) -> ProcId {
        let mut flat = Vec::new();
        for operand in operands {
            match self.term(operand) {
                Term::Shared(same, inner) if *same == set => flat.extend_from_slice(inner),
                _ => flat.push(operand),
            }
        }
        flat.sort_unstable();
        match flat[..] {
            [] => SKIP,
            [only] => only,
            _ => self.intern(Term::Shared(set, flat.into())),
        }
    }

    /// `|| i @ [A(i)] P(i)`: each operand does only events of its alphabet, and each event is done
    /// by all operands whose alphabet has it. It is the fastest form for many components, because
    /// it says which operands take part in an event.
    pub fn alphabetised(&mut self, operands: impl IntoIterator<Item = (SetId, ProcId)>) -> ProcId {
        let mut operands: Vec<_> = operands.into_iter().collect();
        operands.sort_unstable();
        if operands.is_empty() {
            return SKIP;
        }
        if let [(set, only)] = operands[..] {
            // A single operand is still restricted to its alphabet, so it gets a partner that never
            // moves.
            let idle = (EMPTY_SET, SKIP);
            return self.alphabetised([(set, only), idle]);
        }
        self.intern(Term::Alphabetised(operands.into()))
    }

    /// `P \ set`.
    pub fn hide(&mut self, process: ProcId, set: SetId) -> ProcId {
        if self.set_events(set).is_empty() || process == STOP {
            return process;
        }
        if let &Term::Hide(inner, inner_set) = self.term(process) {
            let both: Vec<EventId> = [self.set_events(inner_set), self.set_events(set)].concat();
            let both = self.set(both);
            return self.intern(Term::Hide(inner, both));
        }
        self.intern(Term::Hide(process, set))
    }

    /// `P [[ relation ]]`.
    pub fn rename(&mut self, process: ProcId, relation: RelationId) -> ProcId {
        if self.relation_pairs(relation).is_empty() || process == STOP {
            return process;
        }
        self.intern(Term::Rename(process, relation))
    }

    /// A definition whose body comes later, so that bodies can call it.
    pub fn declare(&mut self, name: impl Into<String>) -> DefId {
        self.definitions.push(ProcessDefinition { name: name.into(), body: None });
        DefId(handle(self.definitions.len() - 1))
    }

    /// Gives the definition its body. A later body replaces it as long as no check used the earlier
    /// one.
    pub fn define(&mut self, definition: DefId, body: ProcId) {
        self.definitions[definition.0 as usize].body = Some(body);
    }

    /// The process that behaves as the definition's body.
    pub fn call(&mut self, definition: DefId) -> ProcId {
        self.intern(Term::Call(definition))
    }

    pub(crate) fn definition(&self, definition: DefId) -> &ProcessDefinition {
        &self.definitions[definition.0 as usize]
    }

    pub(crate) fn term(&self, process: ProcId) -> &Term {
        &self.terms[process.index()]
    }

    pub(crate) fn intern(&mut self, term: Term) -> ProcId {
        let weight = term.weight();
        let (index, new) = self.terms.insert_full(term);
        if new {
            self.cells += weight;
        }
        ProcId(handle(index))
    }

    /// How many terms the model has.
    pub fn terms(&self) -> usize {
        self.terms.len()
    }

    /// Memory in use, in words of a term: what [`Limits::cells`](crate::Limits) bounds.
    pub fn cells(&self) -> usize {
        self.cells
    }

    /// Counts memory that is kept on behalf of the model outside its tables.
    pub(crate) fn charge(&mut self, cells: usize) {
        self.cells += cells;
    }
}
