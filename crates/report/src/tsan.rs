//! The report in the format of ThreadSanitizer, for tools that read it (`--report tsan`).
//!
//! For defects that ThreadSanitizer does not report (lost wake-ups, failed assertions, …) our own
//! message takes the place of its. There is no offset after a frame's module, and a lock has its
//! name where ThreadSanitizer would give an address. Where a lock was created is not known; in its
//! place stands where it was acquired.

use std::fmt::Write as _;

use raddle_model::finding::{AccessReport, Finding, Kind, ObjectKind, Place, Report};

use crate::escape::clean;
use crate::text::words;

const RULE: &str = "==================";

/// All findings; `process` is the number that takes the place of the process id.
#[must_use]
pub fn render(report: &Report, process: u32) -> String {
    let mut text = String::new();
    for finding in &report.findings {
        text += &one(finding, &report.program, process);
    }
    if !report.findings.is_empty() {
        let _ = writeln!(text, "ThreadSanitizer: reported {} warnings", report.findings.len());
    }
    text
}

/// One finding.
#[must_use]
pub fn one(finding: &Finding, program: &str, process: u32) -> String {
    let what = title(finding);
    let place = finding.accesses.first().map(|access| &access.place);
    format!(
        "{RULE}\nWARNING: ThreadSanitizer: {what} (pid={process})\n{}SUMMARY: ThreadSanitizer: {what} {}\n{RULE}\n",
        body(finding, program),
        summary_place(place)
    )
}

/// Accesses, object, locks and threads of a finding.
pub(crate) fn body(finding: &Finding, program: &str) -> String {
    let mut text = String::new();
    let mut locks = Vec::new();
    if lock_order(&mut text, finding, program) {
        location(&mut text, finding);
        for access in &finding.accesses {
            created(&mut text, access, program);
        }
        return text;
    }
    // The later access comes first, the earlier one is "previous".
    let is_race = finding.kind == Kind::DataRace;
    let order: Vec<&AccessReport> =
        if is_race { finding.accesses.iter().rev().collect() } else { finding.accesses.iter().collect() };
    for (index, access) in order.iter().enumerate() {
        let operation = if is_race { race_operation(access, index > 0) } else { other_operation(access) };
        let _ = writeln!(text, "  {operation} by {}{}:", thread(&access.thread), mutexes(access, &mut locks));
        frames(&mut text, access, program);
    }
    location(&mut text, finding);
    for (number, lock) in locks.iter().enumerate() {
        let held = finding.accesses.iter().flat_map(|access| access.held.iter().map(move |held| (access, held)));
        match held.into_iter().find(|(_, held)| held.lock == *lock) {
            Some((access, held)) => {
                let by = thread(&access.thread);
                let _ = writeln!(text, "  Mutex M{number} ({}) acquired by {by} at:", clean(lock));
                frame_line(&mut text, 0, &held.place, program);
                text.push('\n');
            }
            None => {
                let name = clean(lock);
                let _ = writeln!(text, "  Mutex M{number} ({name}) created at:\n    [failed to restore the stack]\n");
            }
        }
    }
    for access in &finding.accesses {
        created(&mut text, access, program);
    }
    text
}

/// A cycle of locks, as ThreadSanitizer tells it; `false` if the finding is none.
fn lock_order(text: &mut String, finding: &Finding, program: &str) -> bool {
    let waits = finding.accesses.iter().map(|access| access.waits.as_ref().map(|wait| wait.object.as_str()));
    let Some(awaited) = waits.collect::<Option<Vec<&str>>>() else { return false };
    // Each thread holds what the one before it waits for.
    let held = |index: usize| awaited[(index + awaited.len() - 1) % awaited.len()];
    let holds = |(index, access): (usize, &AccessReport)| access.held.iter().any(|one| one.lock == held(index));
    let is_cycle = finding.kind == Kind::Deadlock && finding.detail.as_deref() == Some("cycle");
    if !is_cycle || awaited.is_empty() || !finding.accesses.iter().enumerate().all(holds) {
        return false;
    }
    let number = |lock: &str| awaited.iter().position(|other| *other == lock).unwrap_or(0);
    let order: Vec<usize> = std::iter::once(held(0)).chain(awaited.iter().copied()).map(number).collect();
    let named: Vec<String> = order.iter().map(|&lock| format!("M{lock} ({})", clean(awaited[lock]))).collect();
    let _ = writeln!(text, "  Cycle in lock order graph: {}\n", named.join(" => "));
    for (index, access) in finding.accesses.iter().enumerate() {
        let (new, old, by) = (number(awaited[index]), number(held(index)), thread(&access.thread));
        let _ = writeln!(text, "  Mutex M{new} acquired here while holding mutex M{old} in {by}:");
        frames(text, access, program);
        let _ = writeln!(text, "  Mutex M{old} previously acquired by the same thread here:");
        for one in access.held.iter().filter(|one| one.lock == held(index)).take(1) {
            frame_line(text, 0, &one.place, program);
        }
        text.push('\n');
    }
    true
}

/// ThreadSanitizer's name for a finding, or our own message.
fn title(finding: &Finding) -> String {
    let detail = finding.detail.as_deref().unwrap_or("");
    let known = match (finding.kind, detail) {
        (Kind::DataRace, _) if finding.accesses.iter().any(|access| access.op == "free") => "heap-use-after-free",
        (Kind::DataRace, _) => "data race",
        (Kind::Memory, "use-after-free") => "heap-use-after-free",
        (Kind::Memory, "use-after-return") => "stack-use-after-return",
        (Kind::Memory, "out-of-bounds") => "heap-buffer-overflow",
        (Kind::Memory, "leak") => "memory leak",
        (Kind::Memory, "double-free") => "attempting double-free",
        (Kind::Memory, "bad-free") => "attempting free on address which was not malloc()-ed",
        (Kind::Deadlock, "cycle") => "lock-order-inversion (potential deadlock)",
        (Kind::Deadlock, "relock") => "double lock of a mutex",
        (Kind::Misuse, "unlock-not-owner" | "unlock-not-locked") => {
            "unlock of an unlocked mutex (or by a wrong thread)"
        }
        (Kind::Misuse, "destroy-locked") => "destroy of a locked mutex",
        (Kind::Misuse, "mutex-uninitialised" | "mutex-destroyed") => {
            "use of an invalid mutex (e.g. uninitialized or destroyed)"
        }
        (Kind::Misuse, "never-joined") => "thread leak",
        _ => return clean(&finding.message).into_owned(),
    };
    known.to_string()
}

fn race_operation(access: &AccessReport, previous: bool) -> String {
    let (atomic, write) = match access.op.as_str() {
        "atomic-load" => (true, false),
        op if op.starts_with("atomic") => (true, true),
        "read" => (false, false),
        _ => (false, true),
    };
    let verb = if write { "write" } else { "read" };
    let words = format!("{}{}{verb}", if previous { "previous " } else { "" }, if atomic { "atomic " } else { "" });
    let address = access.address.as_deref().unwrap_or("0x0");
    format!("{} of size {} at {address}", capitalised(&words), access.size)
}

fn other_operation(access: &AccessReport) -> String {
    match &access.waits {
        Some(wait) => capitalised(&format!("{} of {}", clean(&access.op), clean(&wait.object))),
        None => capitalised(&clean(&access.op)),
    }
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

fn thread(name: &str) -> String {
    if name == "T0" { "main thread".into() } else { format!("thread {}", clean(name)) }
}

/// The locks held, numbered in the order in which they appear.
fn mutexes(access: &AccessReport, known: &mut Vec<String>) -> String {
    let numbered: Vec<String> = access
        .locks
        .iter()
        .map(|lock| {
            let number = known.iter().position(|other| other == lock).unwrap_or_else(|| {
                known.push(lock.clone());
                known.len() - 1
            });
            format!("write M{number}")
        })
        .collect();
    if numbered.is_empty() { String::new() } else { format!(" (mutexes: {})", numbered.join(", ")) }
}

fn frames(text: &mut String, access: &AccessReport, program: &str) {
    let frames = if access.stack.is_empty() { std::slice::from_ref(&access.place) } else { &access.stack[..] };
    for (number, frame) in frames.iter().enumerate() {
        frame_line(text, number, frame, program);
    }
    text.push('\n');
}

fn frame_line(text: &mut String, number: usize, frame: &Place, program: &str) {
    let function = frame.function.as_deref().map_or("<null>".into(), clean);
    let place = words::place(frame).unwrap_or_else(|| "<null>".into());
    let _ = writeln!(text, "    #{number} {function} {place} ({})", clean(program));
}

fn location(text: &mut String, finding: &Finding) {
    let Some(object) = &finding.object else { return };
    let name = object.name.as_deref().map_or("??".into(), clean);
    let size = object.size.unwrap_or(0);
    let address = finding.accesses.first().and_then(|access| access.address.as_deref()).unwrap_or("0x0");
    let line = match object.kind {
        ObjectKind::Global => format!("Location is global '{name}' of size {size} at {address}"),
        ObjectKind::Heap => {
            let at = object.allocated.as_ref().map(words::place_or_function).unwrap_or_default();
            format!("Location is heap block of size {size} at {address} allocated at {at}")
        }
        ObjectKind::Stack => "Location is stack.".to_string(),
        ObjectKind::Tls => format!("Location is TLS ('{name}')."),
    };
    let _ = writeln!(text, "  {line}\n");
}

fn created(text: &mut String, access: &AccessReport, program: &str) {
    let Some(origin) = &access.created else { return };
    let name = access.name.as_deref().map(|name| format!(" '{}'", clean(name))).unwrap_or_default();
    let _ = writeln!(text, "  Thread {}{name} (running) created by {} at:", clean(&access.thread), thread(&origin.by));
    frame_line(text, 0, &origin.place, program);
    text.push('\n');
}

fn summary_place(place: Option<&Place>) -> String {
    let Some(place) = place else { return "<null>".into() };
    let at = words::place(place).unwrap_or_else(|| "<null>".into());
    match &place.function {
        Some(function) => format!("{at} in {}", clean(function)),
        None => at,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_model::finding::{Created, HeldLock, Wait};

    fn access(thread: &str, op: &str, line: u32) -> AccessReport {
        let place =
            Place { file: Some("bank.c".into()), line: Some(line), column: Some(13), function: Some("deposit".into()) };
        AccessReport {
            thread: thread.into(),
            op: op.into(),
            size: 4,
            stack: vec![place.clone()],
            place,
            address: Some("0x555555558040".into()),
            ..AccessReport::default()
        }
    }

    fn race() -> Finding {
        let mut second = access("T2", "read", 12);
        second.locks = vec!["m".into()];
        second.name = Some("teller".into());
        second.created = Some(Created { by: "T0".into(), place: access("T0", "create", 30).place });
        raddle_testkit::finding::race(vec![access("T0", "write", 14), second])
    }

    #[test]
    fn a_race_reads_as_in_threadsanitizer() {
        let expected = "\
==================
WARNING: ThreadSanitizer: data race (pid=42)
  Read of size 4 at 0x555555558040 by thread T2 (mutexes: write M0):
    #0 deposit bank.c:12:13 (bank)

  Previous write of size 4 at 0x555555558040 by main thread:
    #0 deposit bank.c:14:13 (bank)

  Location is global 'balance' of size 4 at 0x555555558040

  Mutex M0 (m) created at:
    [failed to restore the stack]

  Thread T2 'teller' (running) created by main thread at:
    #0 deposit bank.c:30:13 (bank)

SUMMARY: ThreadSanitizer: data race bank.c:14:13 in deposit
==================
";
        let text = one(&race(), "bank", 42);
        assert_eq!(text, expected, "\n{text}");
    }

    #[test]
    fn a_cycle_of_locks_reads_as_in_threadsanitizer() {
        let side = |name: &str, line, awaited: &str, held: &str| AccessReport {
            waits: Some(Wait { object: awaited.into(), held_by: Vec::new() }),
            locks: vec![held.into()],
            held: vec![HeldLock { lock: held.into(), shared: false, place: access(name, "lock", line - 1).place }],
            address: Some("0x555555558040".into()),
            ..access(name, "lock", line)
        };
        let mut found = race();
        (found.kind, found.detail, found.object) = (Kind::Deadlock, Some("cycle".into()), None);
        found.accesses = vec![side("T1", 12, "a", "b"), side("T2", 22, "b", "a")];
        let expected = "\
==================
WARNING: ThreadSanitizer: lock-order-inversion (potential deadlock) (pid=1)
  Cycle in lock order graph: M1 (b) => M0 (a) => M1 (b)

  Mutex M0 acquired here while holding mutex M1 in thread T1:
    #0 deposit bank.c:12:13 (bank)

  Mutex M1 previously acquired by the same thread here:
    #0 deposit bank.c:11:13 (bank)

  Mutex M1 acquired here while holding mutex M0 in thread T2:
    #0 deposit bank.c:22:13 (bank)

  Mutex M0 previously acquired by the same thread here:
    #0 deposit bank.c:21:13 (bank)

SUMMARY: ThreadSanitizer: lock-order-inversion (potential deadlock) bank.c:12:13 in deposit
==================
";
        let text = one(&found, "bank", 1);
        assert_eq!(text, expected, "\n{text}");
        // In a cycle through the end of a thread, locks have the places of their acquisitions.
        found.accesses[1].waits = Some(Wait { object: "the end of T1".into(), held_by: Vec::new() });
        let text = one(&found, "bank", 1);
        assert!(
            text.contains("  Mutex M0 (b) acquired by thread T1 at:\n    #0 deposit bank.c:11:13 (bank)"),
            "{text}"
        );
        assert!(!text.contains("failed to restore"), "{text}");
    }

    #[test]
    fn other_findings_have_its_names_where_it_has_them() {
        let mut found = race();
        found.kind = Kind::Misuse;
        found.detail = Some("unlock-not-owner".into());
        assert!(one(&found, "a", 1).contains("WARNING: ThreadSanitizer: unlock of an unlocked mutex"));
        found.kind = Kind::Assertion;
        found.message = "assertion `x > 0` failed".into();
        assert!(one(&found, "a", 1).contains("WARNING: ThreadSanitizer: assertion `x > 0` failed (pid=1)"));
        found.kind = Kind::DataRace;
        found.accesses[0].op = "free".into();
        assert!(one(&found, "a", 1).contains("WARNING: ThreadSanitizer: heap-use-after-free (pid=1)"));
        found.accesses[0].op = "atomic-rmw".into();
        assert!(one(&found, "a", 1).contains("Previous atomic write of size 4"));
    }
}
