//! SARIF 2.1.0: one result per finding, its schedule as one code flow with a thread flow per
//! thread. A result that follows from another one has the place of that one among its related
//! locations; all results of one cause share the fingerprint `raddle/group/v1`.
//!
//! Written as plain JSON rather than through generated types: the test checks it against the
//! official schema.

use raddle_model::finding::{AccessReport, Finding, Kind, Place, Report, Severity, Verdict};
use serde_json::{Map, Value, json};

use crate::annotated::{AnnotatedEvent, AnnotatedTrace, EventKind};
use crate::bundle::ReportBundle;
use crate::groups::headline_of;
use crate::text::words;

/// Address of the format's schema, by which readers recognise the version.
const SCHEMA: &str = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";
/// The most steps of one code flow; viewers refuse longer ones. The last ones are kept.
const MOST_STEPS: usize = 2000;

/// The kinds in the order of the rules.
const KINDS: [(Kind, &str, &str); 7] = [
    (Kind::DataRace, "Data race", "Two accesses to the same memory, at least one a write, that nothing orders."),
    (Kind::Deadlock, "Deadlock", "Threads wait for each other, or for what no thread will do."),
    (Kind::Assertion, "Failed assertion", "An assertion fails, or abort is called, under some schedule."),
    (Kind::Crash, "Crash", "A fatal signal or uncaught exception under some schedule."),
    (Kind::Misuse, "Misuse of the thread library", "The thread library is used against its rules."),
    (Kind::Livelock, "Livelock", "A thread goes round in a loop that no thread can end."),
    (Kind::Memory, "Memory error", "The heap is used against its rules."),
];

/// The report as SARIF.
#[must_use]
pub fn render(run: &ReportBundle) -> Value {
    let report = &run.report;
    let all = &report.findings;
    let results: Vec<Value> = run.findings().map(|(finding, trace)| result(finding, trace, all)).collect();
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "raddle",
                "version": report.raddle,
                "semanticVersion": report.raddle,
                "rules": rules(),
            }},
            "invocations": [invocation(report)],
            "columnKind": "utf16CodeUnits",
            "results": results,
            "properties": {
                "program": report.program,
                "arguments": report.args,
                "verdict": report.verdict,
                "reason": report.reason,
                "stats": report.stats,
            },
        }],
    })
}

fn rules() -> Vec<Value> {
    let rule = |(kind, name, text): &(Kind, &str, &str)| {
        json!({
            "id": kind.word(),
            "name": name.split(' ').map(capitalised).collect::<String>(),
            "shortDescription": { "text": name },
            "fullDescription": { "text": text },
            "defaultConfiguration": { "level": "error" },
        })
    };
    KINDS.iter().map(rule).collect()
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// What was left out of the search is a notification, so that an empty list of results is not taken
/// for a proof.
fn invocation(report: &Report) -> Value {
    let mut notes: Vec<Value> = Vec::new();
    if let Some(reason) = &report.reason {
        let level = if report.verdict == Verdict::Incomplete { "error" } else { "note" };
        notes.push(json!({ "level": level, "descriptor": { "id": reason.code }, "message": { "text": reason.text } }));
    }
    for limit in &report.limits {
        notes.push(json!({ "level": "warning", "message": { "text": limit } }));
    }
    for note in &report.notes {
        notes.push(json!({ "level": "note", "message": { "text": note } }));
    }
    json!({ "executionSuccessful": true, "toolExecutionNotifications": notes })
}

fn result(finding: &Finding, trace: Option<&AnnotatedTrace>, all: &[Finding]) -> Value {
    let headline = headline_of(finding, all);
    let rule = KINDS.iter().position(|(kind, ..)| *kind == finding.kind).unwrap_or(0);
    let mut result = json!({
        "ruleId": finding.kind.word(),
        "ruleIndex": rule,
        "level": if finding.severity == Severity::Error { "error" } else { "warning" },
        "message": { "text": finding.message },
        "partialFingerprints": { "raddle/v1": fingerprint(finding) },
        "properties": properties(finding),
    });
    let mut places: Vec<Value> = Vec::new();
    for (number, access) in finding.accesses.iter().enumerate() {
        let mut place = location(&access.place, Some(&described(access)));
        place["id"] = json!(number);
        places.push(place);
    }
    if !places.is_empty() {
        result["relatedLocations"] = json!(places.split_off(1));
        result["locations"] = json!(places);
        result["stacks"] = finding.accesses.iter().map(stack).collect();
    }
    if headline.is_some() || all.iter().any(|other| other.group.as_ref() == Some(&finding.id)) {
        result["partialFingerprints"]["raddle/group/v1"] = json!(fingerprint(headline.unwrap_or(finding)));
    }
    if let Some(headline) = headline {
        relate(&mut result, finding, headline);
    }
    if let Some(trace) = trace.filter(|trace| !trace.events.is_empty()) {
        result["codeFlows"] = json!([code_flow(trace)]);
    }
    result
}

/// Points to the headline that a result follows from.
fn relate(result: &mut Value, finding: &Finding, headline: &Finding) {
    let text = format!("follows from {}: {}", headline.id, headline.message);
    let unknown = Place::default();
    let at = headline.accesses.first().map_or(&unknown, |access| &access.place);
    let mut place = location(at, Some(&text));
    place["id"] = json!(finding.accesses.len());
    match result["relatedLocations"].as_array_mut() {
        Some(places) => places.push(place),
        None => result["relatedLocations"] = json!([place]),
    }
}

/// `write by T1`, with the locks that it holds.
fn described(access: &AccessReport) -> String {
    let mut text = format!("{} by {}", access.op, access.thread);
    if let Some(name) = &access.name {
        text += &format!(" `{name}`");
    }
    if let Some(wait) = &access.waits {
        text = format!("{} waits for {}", access.thread, wait.object);
    }
    if !access.locks.is_empty() {
        text += &format!(", holding {}", words::held(access));
    }
    text
}

fn properties(finding: &Finding) -> Value {
    json!({
        "id": finding.id,
        "detail": finding.detail,
        "variable": finding.variable,
        "object": finding.object,
        "executions_before": finding.executions_before,
        "preemptions": finding.preemptions,
        "witness": finding.witness,
        "witness_kind": finding.witness_kind,
        "group": finding.group,
        "cause": finding.cause,
    })
}

fn stack(access: &AccessReport) -> Value {
    let frame = |place: &Place| json!({ "location": location(place, None) });
    let frames: Vec<Value> = access.stack.iter().map(frame).collect();
    json!({ "message": { "text": described(access) }, "frames": frames })
}

/// One thread flow per thread. The execution order is numbered across all of them.
fn code_flow(trace: &AnnotatedTrace) -> Value {
    let first = trace.events.len().saturating_sub(MOST_STEPS);
    let mut flows = Vec::new();
    for (number, lane) in trace.threads.iter().enumerate() {
        let of_thread = trace.events.iter().enumerate().skip(first).filter(|(_, event)| event.thread == number);
        let steps: Vec<Value> = of_thread.map(|(at, event)| flow_step(trace, at, event)).collect();
        // The format requires at least one step.
        if !steps.is_empty() {
            let name = lane.name.as_deref().unwrap_or(&lane.thread);
            flows.push(json!({ "id": lane.thread, "message": { "text": name }, "locations": steps }));
        }
    }
    json!({ "threadFlows": flows })
}

fn flow_step(trace: &AnnotatedTrace, at: usize, event: &AnnotatedEvent) -> Value {
    let important = event.mark.is_some() || event.kind == EventKind::End;
    json!({
        "location": location(trace.place(event), Some(&event.text)),
        "executionOrder": at + 1,
        "importance": if important { "essential" } else { "important" },
    })
}

/// A place with its message.
fn location(place: &Place, text: Option<&str>) -> Value {
    let mut location = Map::new();
    if let Some(file) = &place.file {
        let mut physical = json!({ "artifactLocation": { "uri": uri(file) } });
        if let Some(line) = place.line.filter(|&line| line > 0) {
            physical["region"] = json!({ "startLine": line });
            if let Some(column) = place.column.filter(|&column| column > 0) {
                physical["region"]["startColumn"] = json!(column);
            }
        }
        location.insert("physicalLocation".into(), physical);
    }
    if let Some(function) = &place.function {
        location.insert("logicalLocations".into(), json!([{ "fullyQualifiedName": function, "kind": "function" }]));
    }
    if let Some(text) = text {
        location.insert("message".into(), json!({ "text": text }));
    }
    Value::Object(location)
}

/// A path as a URI reference: relative paths stay relative, special characters become %XX.
fn uri(path: &str) -> String {
    let mut text = String::from(if path.starts_with('/') { "file://" } else { "" });
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => text.push(char::from(byte)),
            other => text += &format!("%{other:02X}"),
        }
    }
    text
}

/// Identifies the defect across changes of the program: lines move, functions and variables stay.
fn fingerprint(finding: &Finding) -> String {
    let place = |access: &AccessReport| format!("{:?} {:?}", access.place.file, access.place.function);
    let mut parts: Vec<String> = finding.telling().into_iter().map(place).collect();
    parts.sort();
    parts.push(format!("{} {:?} {:?}", finding.kind.word(), finding.detail, finding.variable));
    // FNV-1a: the same on every machine and in every version.
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in parts.join("\n").bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::uri;

    #[test]
    fn paths_become_references() {
        assert_eq!(uri("dir/bank.c"), "dir/bank.c");
        assert_eq!(uri("/usr/include/x.h"), "file:///usr/include/x.h");
        assert_eq!(uri("a b\"<\n>é%.c"), "a%20b%22%3C%0A%3E%C3%A9%25.c");
    }
}
