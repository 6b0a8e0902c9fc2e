//! Writes facts as labelled transition systems in the language of Graphviz: one per function that a
//! thread can start in.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::{Act, Facts, FunctionId, Hold, NodeId, Spans};

/// What a set of locations is called.
#[must_use]
pub fn names(facts: &Facts, spans: &Spans) -> String {
    let name = |span: &super::Span| {
        let object = &facts.objects[span.object as usize];
        if span.from == 0 { object.name.clone() } else { format!("{}+{}", object.name, span.from) }
    };
    let mut all: Vec<String> = spans.list.iter().map(name).collect();
    all.dedup();
    if spans.any {
        all.push("anything".into());
    }
    if all.is_empty() { "nothing shared".into() } else { all.join(", ") }
}

/// An operation in words.
#[must_use]
pub fn label(facts: &Facts, act: &Act) -> String {
    let functions = |list: &[FunctionId]| {
        let all: Vec<&str> = list.iter().map(|&function| facts.functions[function as usize].name.as_str()).collect();
        all.join(", ")
    };
    match act {
        Act::Nothing => String::new(),
        Act::Access { at, write, atomic } => {
            let verb = if *write { "write" } else { "read" };
            format!("{}{verb} {}", if *atomic { "atomic " } else { "" }, names(facts, at))
        }
        Act::Acquire { lock, hold, may_fail } => {
            let verb = if *may_fail { "try" } else { "lock" };
            let how = if *hold == Hold::Shared { " for reading" } else { "" };
            format!("{verb} {}{how}", names(facts, lock))
        }
        Act::Holds { lock, .. } => format!("got {}", names(facts, lock)),
        Act::Release { lock } => format!("unlock {}", names(facts, lock)),
        Act::Wait { cond, mutex } => format!("wait {} with {}", names(facts, cond), names(facts, mutex)),
        Act::Sync { at } => format!("synchronise {}", names(facts, at)),
        Act::Create { bodies, .. } => format!("create {}", functions(bodies)),
        Act::Join { .. } => "join".into(),
        Act::Call { targets } => format!("call {}", functions(targets)),
        Act::End => "end".into(),
        Act::Anything { why } => format!("anything ({why})"),
    }
}

/// A graph per function that a thread can begin in.
#[must_use]
pub fn threads(facts: &Facts) -> String {
    let mut entries = BTreeSet::from([facts.main]);
    for node in &facts.nodes {
        if let Act::Create { bodies, .. } = &node.act {
            entries.extend(bodies);
        }
    }
    entries.into_iter().map(|entry| thread(facts, entry)).collect()
}

fn thread(facts: &Facts, entry: FunctionId) -> String {
    let function = &facts.functions[entry as usize];
    let mut out =
        format!("digraph \"{}\" {{\n  rankdir=LR;\n  node [shape=circle, label=\"\"];\n", escape(&function.name));
    let mut seen = BTreeSet::new();
    let mut work = vec![function.entry];
    let _ = writeln!(out, "  n{} [shape=doublecircle];", function.entry);
    while let Some(at) = work.pop() {
        if !seen.insert(at) {
            continue;
        }
        let node = &facts.nodes[at as usize];
        let style = if node.tainted { ", style=bold" } else { "" };
        let edge = |out: &mut String, to: NodeId| {
            let _ = writeln!(out, "  n{at} -> n{to} [label=\"{}\"{style}];", escape(&label(facts, &node.act)));
        };
        node.next.iter().for_each(|&to| edge(&mut out, to));
        work.extend(&node.next);
        if let Act::Call { targets } = &node.act {
            for &target in targets {
                let inner = facts.functions[target as usize].entry;
                edge(&mut out, inner);
                work.push(inner);
            }
        }
    }
    out.push_str("}\n");
    out
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}
