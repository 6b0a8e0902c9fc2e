//! Places, threads, objects and locks in words.

use raddle_model::finding::{AccessReport, Finding, HeldLock, ObjectInfo, ObjectKind, Place};

use crate::escape::clean;

/// `bank.c:14:13`, as much of it as is known.
pub(crate) fn place(place: &Place) -> Option<String> {
    let mut text = clean(place.file.as_deref()?).into_owned();
    if let Some(line) = place.line {
        text += &format!(":{line}");
        if let Some(column) = place.column {
            text += &format!(":{column}");
        }
    }
    Some(text)
}

/// `bank.c:14`, without directories.
pub(crate) fn place_short(place: &Place) -> Option<String> {
    let file = place.file.as_deref()?;
    let name = clean(file.rsplit('/').next().unwrap_or(file));
    Some(match place.line {
        Some(line) => format!("{name}:{line}"),
        None => name.into_owned(),
    })
}

/// The commands that run the schedule of a finding again, without and with the debugger, which
/// takes no program over that an agent runs.
pub(crate) fn replays(finding: &Finding, name: &str) -> Vec<String> {
    match &finding.target {
        Some(agent) => vec![format!("replay {name} --target {}", clean(agent))],
        None => vec![format!("replay {name}"), format!("replay {name} --gdb")],
    }
}

/// A place, or at least the function.
pub(crate) fn place_or_function(at: &Place) -> String {
    place(at)
        .or_else(|| at.function.as_deref().map(|name| clean(name).into_owned()))
        .unwrap_or_else(|| "an unknown place".into())
}

/// `` T1 `teller` ``.
pub(crate) fn thread(access: &AccessReport) -> String {
    match &access.name {
        Some(name) => format!("{} `{}`", clean(&access.thread), clean(name)),
        None => clean(&access.thread).into_owned(),
    }
}

/// `` `a`, `b` and `c` ``.
pub(crate) fn listed(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{}`", clean(name))).collect();
    match quoted.split_last() {
        None => "nothing".into(),
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
    }
}

/// `` `a` and `b` (shared) ``: the locks that a thread holds, with their modes.
pub(crate) fn held(access: &AccessReport) -> String {
    let all: Vec<String> = access.held.iter().map(held_lock).collect();
    match all.split_last() {
        None => listed(&access.locks),
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
    }
}

/// `` `m` (shared) ``.
pub(crate) fn held_lock(held: &HeldLock) -> String {
    format!("`{}`{}", clean(&held.lock), if held.shared { " (shared)" } else { "" })
}

/// `write of 4 bytes`.
pub(crate) fn operation(access: &AccessReport) -> String {
    let op = clean(&access.op);
    match access.size {
        0 => op.into_owned(),
        1 => format!("{op} of 1 byte"),
        size => format!("{op} of {size} bytes"),
    }
}

/// `` byte 8 of the heap block of 24 bytes allocated at bank.c:3:4 ``.
pub(crate) fn object(object: &ObjectInfo) -> String {
    let sort = match object.kind {
        ObjectKind::Global => "global variable",
        ObjectKind::Heap => "heap block",
        ObjectKind::Stack => "local variable",
        ObjectKind::Tls => "thread-local variable",
    };
    let mut text = sort.to_string();
    if let Some(name) = &object.name {
        text += &format!(" `{}`", clean(name));
    }
    if let Some(size) = object.size {
        text += &format!(" of {size} byte{}", if size == 1 { "" } else { "s" });
    }
    if let Some(allocated) = &object.allocated {
        text += &format!(" allocated at {}", place_or_function(allocated));
    }
    if object.offset > 0 {
        text = format!("{text}, from byte {}", object.offset);
    }
    text
}
