//! Traces in the line format of RAPID (STD): `T0|w(V1)|345`, thread, operation and location.
//!
//! The format has only accesses, locks, fork and join. A lock held for reading is a lock; an
//! operation on an atomic or any other synchronising object is an access inside a lock of its own,
//! which orders it as the operation did. Characters that have a meaning in the format are written
//! as `%XX`. With several findings each trace follows a line `# ID: MESSAGE`; a single trace has no
//! such line, because other tools do not expect it.

use std::fmt::Write as _;

use raddle_model::finding::Place;

use crate::annotated::{AnnotatedEvent, AnnotatedTrace, EventKind};
use crate::bundle::ReportBundle;
use crate::escape::clean;

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Thread.
    pub thread: String,
    /// `r`, `w`, `acq`, `rel`, `fork`, `join`, `begin` or `end`.
    pub operation: String,
    /// Variable, lock or thread; empty for `begin` and `end`.
    pub operand: String,
    /// Where.
    pub location: String,
}

/// Why a line cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct StdError {
    /// Number of the line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub what: String,
}

/// The traces of a report.
#[must_use]
pub fn render(run: &ReportBundle) -> String {
    let several = run.report.findings.len() > 1;
    let mut text = String::new();
    for (finding, trace) in run.findings() {
        if several {
            let _ = writeln!(text, "# {}: {}", clean(&finding.id), clean(&finding.message));
        }
        for line in trace.map(lines).unwrap_or_default() {
            let _ = writeln!(text, "{}", written(&line));
        }
    }
    text
}

/// The lines of one trace.
#[must_use]
pub fn lines(trace: &AnnotatedTrace) -> Vec<Line> {
    trace.events.iter().flat_map(|event| lines_of(trace, event)).collect()
}

fn lines_of(trace: &AnnotatedTrace, event: &AnnotatedEvent) -> Vec<Line> {
    let thread = trace.threads.get(event.thread).map_or("", |lane| &lane.thread);
    let location = place(trace.place(event));
    let line = |operation: &str, operand: &str| Line {
        thread: thread.into(),
        operation: operation.into(),
        operand: operand.into(),
        location: location.clone(),
    };
    let object = trace.object(event).unwrap_or("");
    let other = event.other.and_then(|other| trace.objects.get(other)).map_or("", String::as_str);
    let peer = event.peer.and_then(|peer| trace.threads.get(peer)).map_or("", |lane| &lane.thread);
    let happened = event.outcome.as_deref().is_none_or(|outcome| outcome == "nested");
    match (event.op.as_str(), event.kind) {
        ("read" | "atomic-load", EventKind::End) => vec![line("r", subject(&event.text))],
        ("write" | "atomic-store" | "atomic-rmw" | "free", EventKind::End) => vec![line("w", subject(&event.text))],
        (_, EventKind::End) => Vec::new(),
        ("read", _) => vec![line("r", object)],
        ("write" | "free", _) => vec![line("w", object)],
        ("start", _) => vec![line("begin", "")],
        ("end", _) => vec![line("end", "")],
        ("create", _) => vec![line("fork", peer)],
        ("join", _) => vec![line("join", peer)],
        ("cond-wait" | "cond-timed-wait", _) if event.text.contains("release ") => vec![line("rel", other)],
        ("cond-wait" | "cond-timed-wait", _) => vec![line("acq", other)],
        ("lock" | "try-lock" | "timed-lock" | "read-lock" | "try-read-lock" | "timed-read-lock", _)
        | ("write-lock" | "try-write-lock" | "timed-write-lock", _)
            if happened =>
        {
            vec![line("acq", object)]
        }
        ("unlock" | "rw-unlock", _) if happened => vec![line("rel", object)],
        _ if event.object.is_none() => Vec::new(),
        (op, _) => {
            let own = format!("sync:{object}");
            let access = if op == "atomic-load" { "r" } else { "w" };
            vec![line("acq", &own), line(access, object), line("rel", &own)]
        }
    }
}

/// The name after the verb of a final event: `balance` in `write balance`.
fn subject(text: &str) -> &str {
    text.split_once(' ').map_or(text, |(_, name)| name)
}

fn place(place: &Place) -> String {
    match (&place.file, place.line, &place.function) {
        (Some(file), Some(line), _) => format!("{file}:{line}"),
        (Some(file), None, _) => file.clone(),
        (None, _, Some(function)) => function.clone(),
        (None, _, None) => "?".into(),
    }
}

/// A line in the format.
#[must_use]
pub fn written(line: &Line) -> String {
    let operand = if line.operand.is_empty() { String::new() } else { format!("({})", escaped(&line.operand)) };
    format!("{}|{}{operand}|{}", escaped(&line.thread), line.operation, escaped(&line.location))
}

/// Parses a trace. Empty lines and lines that start with `#` are skipped.
///
/// # Errors
/// The first line that is not in the format.
pub fn parse(text: &str) -> Result<Vec<Line>, StdError> {
    let mut lines = Vec::new();
    for (number, line) in text.lines().enumerate() {
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        lines.push(parse_line(line).map_err(|what| StdError { line: number + 1, what })?);
    }
    Ok(lines)
}

fn parse_line(line: &str) -> Result<Line, String> {
    let mut parts = line.trim().splitn(3, '|');
    let (Some(thread), Some(middle)) = (parts.next(), parts.next()) else {
        return Err("it is not of the form THREAD|OPERATION(OPERAND)|LOCATION".into());
    };
    let location = parts.next().unwrap_or("");
    let (operation, operand) = match middle.split_once('(') {
        Some((operation, rest)) => {
            let operand = rest.strip_suffix(')').ok_or("the operand is not closed")?;
            (operation, operand)
        }
        None => (middle, ""),
    };
    let needs_operand = match operation {
        "r" | "w" | "acq" | "rel" | "fork" | "join" => true,
        "begin" | "end" => false,
        other => return Err(format!("there is no operation {other:?}")),
    };
    if thread.is_empty() || needs_operand == operand.is_empty() {
        return Err("thread or operand is missing, or there is one too many".into());
    }
    Ok(Line {
        thread: unescaped(thread)?,
        operation: operation.into(),
        operand: unescaped(operand)?,
        location: unescaped(location)?,
    })
}

fn escaped(text: &str) -> String {
    let mut safe = String::new();
    for c in text.chars() {
        if matches!(c, '|' | '(' | ')' | '%' | '#') || c.is_whitespace() || crate::escape::is_unsafe(c) {
            let mut bytes = [0; 4];
            for byte in c.encode_utf8(&mut bytes).bytes() {
                let _ = write!(safe, "%{byte:02X}");
            }
        } else {
            safe.push(c);
        }
    }
    safe
}

fn unescaped(text: &str) -> Result<String, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let code = rest.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let code = code.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(code.ok_or("a % is not followed by two digits")?);
        rest = &rest[2..];
    }
    String::from_utf8(bytes).map_err(|_| "it is not text".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_back() {
        let line = Line {
            thread: "T1.2".into(),
            operation: "w".into(),
            operand: "a|b (c)\n%#é\"<".into(),
            location: "dir with blank/x.c:3".into(),
        };
        let text = written(&line);
        assert_eq!(text, "T1.2|w(a%7Cb%20%28c%29%0A%25%23é\"<)|dir%20with%20blank/x.c:3");
        assert_eq!(parse(&text).unwrap(), [line]);
        assert_eq!(parse("# r1\n\nT0|begin|345\nT0|acq(L1)\n").unwrap().len(), 2);
    }

    #[test]
    fn nonsense_is_refused_with_its_line() {
        for text in ["x", "T0|w|1", "T0|frob(x)|1", "|w(x)|1", "T0|w(x|1", "T0|w(%4)|1", "T0|w(%FF)|1", "T0|begin(x)|1"]
        {
            let error = parse(&format!("T0|w(x)|1\n{text}")).unwrap_err();
            assert_eq!(error.line, 2, "{text}");
        }
    }
}
