//! DOT: one graph per finding, with a column of events per thread and edges for what orders them.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use raddle_model::finding::Finding;

use crate::annotated::{AnnotatedTrace, EventKind};
use crate::bundle::ReportBundle;
use crate::escape::clean;
use crate::text::words;

/// The most events of one graph; Graphviz takes minutes for more. The last ones are kept.
const MOST_EVENTS: usize = 1000;

/// The report as one graph with a cluster per finding.
#[must_use]
pub fn render(run: &ReportBundle) -> String {
    let mut text = String::from("digraph raddle {\n  rankdir=TB;\n  node [shape=box, fontname=\"monospace\"];\n");
    for (number, (finding, trace)) in run.findings().enumerate() {
        let _ = writeln!(text, "  subgraph cluster_{number} {{");
        let _ = writeln!(text, "    label={};", quoted(&format!("{}: {}", finding.id, finding.message)));
        match trace {
            Some(trace) => events(&mut text, number, finding, trace),
            None => {
                let _ = writeln!(text, "    f{number} [label={}];", quoted(&finding.message));
            }
        }
        text.push_str("  }\n");
    }
    text + "}\n"
}

fn events(text: &mut String, number: usize, finding: &Finding, trace: &AnnotatedTrace) {
    let first = trace.events.len().saturating_sub(MOST_EVENTS);
    for (thread, lane) in trace.threads.iter().enumerate() {
        let name = lane.name.as_deref().map(|name| format!(" {name}")).unwrap_or_default();
        let label = quoted(&format!("{}{name}", lane.thread));
        let _ = writeln!(text, "    f{number}t{thread} [label={label}, shape=plaintext, group=t{thread}];");
    }
    let mut last: Vec<String> = (0..trace.threads.len()).map(|thread| format!("f{number}t{thread}")).collect();
    let mut order = Order::default();
    for (at, event) in trace.events.iter().enumerate().skip(first) {
        let node = format!("f{number}e{at}");
        let place = words::place_short(trace.place(event)).map(|place| format!("\\n{place}")).unwrap_or_default();
        let mark = event.mark.map(|mark| format!("({mark}) ")).unwrap_or_default();
        let label = quoted(&format!("{mark}{}", event.text));
        // The place is on a line of its own, after the quoted text.
        let label = format!("{}{}\"", &label[..label.len() - 1], quoted_inside(&place));
        let colour = match event.kind {
            EventKind::Sync => "black",
            EventKind::Access => "gray40",
            EventKind::End => "red",
        };
        let _ = writeln!(text, "    {node} [label={label}, color={colour}, group=t{}];", event.thread);
        let _ = writeln!(text, "    {} -> {node};", last[event.thread]);
        for (from, why) in order.before(event, &node) {
            let _ = writeln!(text, "    {from} -> {node} [style=dashed, constraint=false, label={}];", quoted(&why));
        }
        last[event.thread] = node;
    }
    conflict(text, number, finding, trace);
}

/// The two accesses of a race.
fn conflict(text: &mut String, number: usize, finding: &Finding, trace: &AnnotatedTrace) {
    let marked = |mark| trace.events.iter().rposition(|event| event.mark == Some(mark));
    if let (Some(one), Some(two)) = (marked(1), marked(2)) {
        let label = quoted(finding.kind.word());
        let _ = writeln!(
            text,
            "    f{number}e{one} -> f{number}e{two} [dir=both, color=red, constraint=false, label={label}];"
        );
    }
}

/// What orders the events: the last operation on each object, and the starts and ends of threads.
#[derive(Default)]
struct Order {
    last: BTreeMap<usize, (usize, String)>,
    created: BTreeMap<usize, String>,
    ended: BTreeMap<usize, String>,
}

impl Order {
    /// Nodes that come before this one, each with the reason in a word.
    fn before(&mut self, event: &crate::annotated::AnnotatedEvent, node: &str) -> Vec<(String, String)> {
        let mut edges = Vec::new();
        match (event.op.as_str(), event.peer) {
            ("start", _) => edges.extend(self.created.get(&event.thread).map(|from| (from.clone(), "create".into()))),
            ("create", Some(child)) => {
                self.created.insert(child, node.into());
            }
            ("join", Some(child)) => edges.extend(self.ended.get(&child).map(|from| (from.clone(), "join".into()))),
            _ => {}
        }
        if event.op == "end" {
            self.ended.insert(event.thread, node.into());
        }
        if let Some(object) = event.object.filter(|_| event.kind == EventKind::Sync) {
            if let Some((_, from)) = self.last.get(&object).filter(|(thread, _)| *thread != event.thread) {
                edges.push((from.clone(), event.op.clone()));
            }
            self.last.insert(object, (event.thread, node.into()));
        }
        edges
    }
}

/// A quoted string: names are shown as they are and cannot end the string.
fn quoted(text: &str) -> String {
    format!("\"{}\"", escaped(text))
}

fn escaped(text: &str) -> String {
    clean(text).replace('\\', "\\\\").replace('"', "\\\"")
}

/// A line break, and then text of the program.
fn quoted_inside(text: &str) -> String {
    text.strip_prefix("\\n").map_or_else(|| escaped(text), |rest| format!("\\n{}", escaped(rest)))
}
