//! Brute force for the tests: random processes and their traces by the denotational semantics.
//!
//! Independent of the operational semantics on purpose: each operator is a function on sets of
//! traces (Roscoe, *Understanding Concurrent Systems*, chapters 2 to 6). A process without
//! recursion has finitely many traces, which are all computed; a recursive one is computed up to a
//! length, and then hides nothing, because a hidden event would need longer traces below than
//! above.

use std::collections::BTreeSet;

use proptest::prelude::*;

use crate::core::{EventId, Model, ProcId, SetId};

/// Events are small numbers; this one is termination.
pub(crate) const TICK: u8 = 255;
/// How many different events processes use.
pub(crate) const EVENTS: u8 = 3;

pub(crate) type Traces = BTreeSet<Vec<u8>>;
/// A set of events, one bit each.
pub(crate) type Bits = u8;

/// A process of a test.
#[derive(Clone, Debug)]
pub(crate) enum Proc {
    Stop,
    Skip,
    Prefix(u8, Box<Proc>),
    External(Box<Proc>, Box<Proc>),
    Internal(Box<Proc>, Box<Proc>),
    Sliding(Box<Proc>, Box<Proc>),
    Seq(Box<Proc>, Box<Proc>),
    Interrupt(Box<Proc>, Box<Proc>),
    Exception(Box<Proc>, Bits, Box<Proc>),
    Shared(Box<Proc>, Bits, Box<Proc>),
    Alpha(Box<Proc>, Bits, Bits, Box<Proc>),
    Hide(Box<Proc>, Bits),
    Rename(Box<Proc>, Vec<(u8, u8)>),
    /// `let X = body within X`; the body says [`Proc::Again`] for X.
    Loop(Box<Proc>),
    Again,
}

fn has(set: Bits, event: u8) -> bool {
    event != TICK && set & (1 << event) != 0
}

fn ended(trace: &[u8]) -> bool {
    trace.last() == Some(&TICK)
}

/// The traces of `process` up to `bound` events; `again` are those of the loop around it.
pub(crate) fn traces(process: &Proc, bound: usize, again: &Traces) -> Traces {
    let of = |process: &Proc| traces(process, bound, again);
    let empty = || Traces::from([vec![]]);
    let mut result: Traces = match process {
        Proc::Stop => empty(),
        Proc::Skip => Traces::from([vec![], vec![TICK]]),
        Proc::Again => again.clone(),
        Proc::Prefix(event, next) => {
            let longer = of(next).into_iter().map(|rest| [vec![*event], rest].concat());
            longer.chain([vec![]]).collect()
        }
        Proc::External(first, second) | Proc::Internal(first, second) | Proc::Sliding(first, second) => {
            &of(first) | &of(second)
        }
        Proc::Seq(first, second) => {
            let (first, second) = (of(first), of(second));
            let mut all: Traces = first.iter().filter(|trace| !ended(trace)).cloned().collect();
            for trace in first.iter().filter(|trace| ended(trace)) {
                let before = &trace[..trace.len() - 1];
                all.extend(second.iter().map(|rest| [before, rest].concat()));
            }
            all
        }
        Proc::Interrupt(first, second) => {
            let (first, second) = (of(first), of(second));
            let mut all = first.clone();
            for trace in first.iter().filter(|trace| !ended(trace)) {
                all.extend(second.iter().map(|rest| [&trace[..], rest].concat()));
            }
            all
        }
        Proc::Exception(first, set, second) => {
            let (first, second) = (of(first), of(second));
            let mut all = empty();
            for trace in first {
                match trace.iter().position(|&event| has(*set, event)) {
                    None => {
                        all.insert(trace);
                    }
                    Some(at) => all.extend(second.iter().map(|rest| [&trace[..=at], rest].concat())),
                }
            }
            all
        }
        Proc::Shared(first, set, second) => merge(&of(first), &of(second), *set, bound),
        Proc::Alpha(first, left, right, second) => {
            let within = |traces: Traces, set: Bits| -> Traces {
                let inside = |trace: &Vec<u8>| trace.iter().all(|&event| event == TICK || has(set, event));
                traces.into_iter().filter(inside).collect()
            };
            merge(&within(of(first), *left), &within(of(second), *right), left & right, bound)
        }
        Proc::Hide(operand, set) => {
            let seen = |trace: Vec<u8>| trace.into_iter().filter(|&event| !has(*set, event)).collect();
            of(operand).into_iter().map(seen).collect()
        }
        Proc::Rename(operand, pairs) => of(operand).iter().flat_map(|trace| renamed(trace, pairs)).collect(),
        Proc::Loop(body) => {
            let mut known = empty();
            loop {
                let next = traces(body, bound, &known);
                if next == known {
                    break known;
                }
                known = next;
            }
        }
    };
    result.retain(|trace| trace.len() <= bound);
    result
}

fn renamed(trace: &[u8], pairs: &[(u8, u8)]) -> Vec<Vec<u8>> {
    trace.iter().fold(vec![vec![]], |prefixes, &event| {
        let mut images: Vec<u8> = pairs.iter().filter(|pair| pair.0 == event).map(|pair| pair.1).collect();
        if images.is_empty() {
            images.push(event);
        }
        let extend =
            |prefix: &Vec<u8>| images.iter().map(|&image| [&prefix[..], &[image]].concat()).collect::<Vec<_>>();
        prefixes.iter().flat_map(extend).collect()
    })
}

/// Every parallel composition of two traces that synchronise on the events of `set` and on
/// termination.
fn merge(left: &Traces, right: &Traces, set: Bits, bound: usize) -> Traces {
    let mut all = Traces::new();
    for first in left {
        for second in right {
            interleavings(first, second, set, bound, &mut Vec::new(), &mut all);
        }
    }
    all
}

fn interleavings(left: &[u8], right: &[u8], set: Bits, bound: usize, done: &mut Vec<u8>, all: &mut Traces) {
    let meets = |event: u8| event == TICK || has(set, event);
    all.insert(done.clone());
    if done.len() == bound {
        return;
    }
    let mut go = |event: u8, left: &[u8], right: &[u8]| {
        done.push(event);
        interleavings(left, right, set, bound, done, all);
        done.pop();
    };
    if let (Some(&first), Some(&second)) = (left.first(), right.first())
        && first == second
        && meets(first)
    {
        go(first, &left[1..], &right[1..]);
    }
    if let Some(&first) = left.first().filter(|&&event| !meets(event)) {
        go(first, &left[1..], right);
    }
    if let Some(&second) = right.first().filter(|&&event| !meets(event)) {
        go(second, left, &right[1..]);
    }
}

/// The same process in a model.
pub(crate) fn build(model: &mut Model, process: &Proc, again: Option<ProcId>) -> ProcId {
    let event = |model: &mut Model, event: u8| model.event_on("e", &[i64::from(event).into()]);
    let set = |model: &mut Model, bits: Bits| -> SetId {
        let events: Vec<EventId> = (0..EVENTS).filter(|&at| has(bits, at)).map(|at| event(model, at)).collect();
        model.set(events)
    };
    let two =
        |model: &mut Model, first: &Proc, second: &Proc| [build(model, first, again), build(model, second, again)];
    match process {
        Proc::Stop => model.stop(),
        Proc::Skip => model.skip(),
        Proc::Again => again.expect("stands inside a loop"),
        Proc::Prefix(first, next) => {
            let next = build(model, next, again);
            let first = event(model, *first);
            model.prefix(first, next)
        }
        Proc::External(first, second) => {
            let both = two(model, first, second);
            model.external(both)
        }
        Proc::Internal(first, second) => {
            let both = two(model, first, second);
            model.internal(both)
        }
        Proc::Sliding(first, second) => {
            let [first, second] = two(model, first, second);
            model.sliding(first, second)
        }
        Proc::Seq(first, second) => {
            let [first, second] = two(model, first, second);
            model.sequence(first, second)
        }
        Proc::Interrupt(first, second) => {
            let [first, second] = two(model, first, second);
            model.interrupt(first, second)
        }
        Proc::Exception(first, bits, second) => {
            let [first, second] = two(model, first, second);
            let set = set(model, *bits);
            model.exception(first, set, second)
        }
        Proc::Shared(first, bits, second) => {
            let both = two(model, first, second);
            let set = set(model, *bits);
            model.parallel(set, both)
        }
        Proc::Alpha(first, left, right, second) => {
            let [first, second] = two(model, first, second);
            let (left, right) = (set(model, *left), set(model, *right));
            model.alphabetised([(left, first), (right, second)])
        }
        Proc::Hide(operand, bits) => {
            let operand = build(model, operand, again);
            let set = set(model, *bits);
            model.hide(operand, set)
        }
        Proc::Rename(operand, pairs) => {
            let operand = build(model, operand, again);
            let pairs: Vec<_> = pairs.iter().map(|&(from, to)| (event(model, from), event(model, to))).collect();
            let relation = model.relation(pairs);
            model.rename(operand, relation)
        }
        Proc::Loop(body) => {
            let definition = model.declare("Loop");
            let call = model.call(definition);
            let body = build(model, body, Some(call));
            model.define(definition, body);
            call
        }
    }
}

/// Random processes without recursion.
pub(crate) fn finite(depth: u32) -> impl Strategy<Value = Proc> {
    let leaf = prop_oneof![Just(Proc::Stop), Just(Proc::Skip)];
    leaf.prop_recursive(depth, 12, 2, |inner| operators(inner, true))
}

/// Random processes with loops below other operators, none of which hides.
pub(crate) fn recursive() -> impl Strategy<Value = Proc> {
    let again = (0..EVENTS).prop_map(|event| Proc::Prefix(event, Box::new(Proc::Again)));
    let leaf = prop_oneof![2 => again, 1 => Just(Proc::Stop), 1 => Just(Proc::Skip)];
    let body = leaf.prop_recursive(3, 6, 2, |inner| {
        let two = || (inner.clone().prop_map(Box::new), inner.clone().prop_map(Box::new));
        prop_oneof![
            3 => (0..EVENTS, inner.clone()).prop_map(|(event, next)| Proc::Prefix(event, Box::new(next))),
            1 => two().prop_map(|(first, second)| Proc::External(first, second)),
            1 => two().prop_map(|(first, second)| Proc::Internal(first, second)),
        ]
    });
    let looping = body.prop_map(|body| Proc::Loop(Box::new(body)));
    looping.prop_recursive(2, 4, 2, |inner| operators(inner, false))
}

fn operators<S>(inner: S, hiding: bool) -> BoxedStrategy<Proc>
where
    S: Strategy<Value = Proc> + Clone + 'static,
{
    let two = || (inner.clone().prop_map(Box::new), inner.clone().prop_map(Box::new));
    let bits = || 0..(1u8 << EVENTS);
    let pairs = prop::collection::vec((0..EVENTS, 0..EVENTS), 1..3);
    let one = inner.clone().prop_map(Box::new);
    prop_oneof![
        6 => (0..EVENTS, one.clone()).prop_map(|(event, next)| Proc::Prefix(event, next)),
        2 => two().prop_map(|(first, second)| Proc::External(first, second)),
        2 => two().prop_map(|(first, second)| Proc::Internal(first, second)),
        1 => two().prop_map(|(first, second)| Proc::Sliding(first, second)),
        2 => two().prop_map(|(first, second)| Proc::Seq(first, second)),
        1 => two().prop_map(|(first, second)| Proc::Interrupt(first, second)),
        1 => (two(), bits()).prop_map(|((first, second), set)| Proc::Exception(first, set, second)),
        3 => (two(), bits()).prop_map(|((first, second), set)| Proc::Shared(first, set, second)),
        2 => (two(), bits(), bits())
            .prop_map(|((first, second), left, right)| Proc::Alpha(first, left, right, second)),
        if hiding { 2 } else { 1 } => (one.clone(), bits())
            .prop_map(move |(operand, set)| if hiding { Proc::Hide(operand, set) } else { *operand }),
        1 => (one, pairs).prop_map(|(operand, pairs)| Proc::Rename(operand, pairs)),
    ]
    .boxed()
}
