//! Facts as text, JSON or DOT.

use std::fmt::Write as _;
use std::io::{self, Write as _};

use raddle_engine::analysis::objects_per_edge;
use raddle_model::facts::suffix::is_event;
use raddle_model::facts::{Act, Facts, Function, Node, Spans, dot};

/// Prints the facts: as text, as JSON, or each thread's labelled transition system as DOT.
pub fn print(facts: &Facts, json: bool, lts: bool) -> io::Result<()> {
    let text = match (lts, json) {
        (true, _) => dot::threads(facts),
        (false, true) => serde_json::to_string_pretty(facts).map_err(io::Error::other)? + "\n",
        (false, false) => text(facts),
    };
    io::stdout().write_all(text.as_bytes())
}

fn text(facts: &Facts) -> String {
    let mut out = String::new();
    for (number, function) in facts.functions.iter().enumerate() {
        describe(facts, number as u32, function, &mut out);
    }
    let average = objects_per_edge(facts);
    let _ =
        writeln!(out, "{} functions, {} objects that threads may share", facts.functions.len(), facts.objects.len());
    if let Some(average) = average {
        let _ = writeln!(out, "{average:.1} objects per edge of a branch that depends on other threads");
    }
    for fallback in &facts.fallbacks {
        let _ = writeln!(out, "anything may happen: {fallback}");
    }
    out
}

fn describe(facts: &Facts, number: u32, function: &Function, out: &mut String) {
    let of_interest = |node: &&Node| node.function == number && (node.tainted || !matches!(node.act, Act::Nothing));
    let nodes: Vec<&Node> = facts.nodes.iter().filter(of_interest).collect();
    if nodes.is_empty() {
        return;
    }
    let _ = writeln!(out, "{}", function.name);
    for node in nodes {
        let site = usize::try_from(node.site).ok().and_then(|site| facts.sites.get(site.wrapping_sub(1)));
        let place = site.map_or(String::new(), |site| format!("{}:{}", site.line, site.column));
        let mark = if node.tainted { " (depends on other threads)" } else { "" };
        let _ = writeln!(out, "    {place:>8}  {}{mark}", words(facts, node));
    }
}

fn words(facts: &Facts, node: &Node) -> String {
    let list = |spans: &Spans| dot::names(facts, spans);
    match &node.act {
        Act::Nothing => "branch".into(),
        Act::Access { at, .. } if at.list.is_empty() && !at.any => "access to what no other thread knows".into(),
        act if is_event(act) || matches!(act, Act::Access { .. }) => dot::label(facts, act),
        Act::Holds { lock, .. } => format!("holds {} from here on", list(lock)),
        act => dot::label(facts, act),
    }
}
