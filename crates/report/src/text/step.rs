//! One step of a trace: what happens, where, and the state of each thread.

use std::fmt::Write as _;

use super::source::SourceCache;
use super::style::{ERROR, FAINT, HEADING, STRONG, paint};
use super::words;
use crate::annotated::{AnnotatedEvent, AnnotatedTrace, Interval};
use crate::escape::clean;

/// Lines of source before and after the one that an event is in.
const AROUND: usize = 3;
/// The most values that are shown.
const MOST_VALUES: usize = 12;

/// The step with this number, from 0.
#[must_use]
pub fn step(trace: &AnnotatedTrace, at: usize, sources: &SourceCache) -> String {
    let Some(event) = trace.events.get(at) else { return String::new() };
    let mut text = String::new();
    let (number, all) = (at + 1 + trace.left_out, trace.events.len() + trace.left_out);
    let mark = event.mark.map(|mark| format!("({mark}) ")).unwrap_or_default();
    let thread = thread_name(trace, event.thread);
    let what = paint(STRONG, &format!("{mark}{}", clean(&event.text)));
    // The same number as in the page: only events of the schedule have one.
    let stop = event.step.map(|step| paint(FAINT, &format!("  (--break-at {step})"))).unwrap_or_default();
    let _ = writeln!(text, "{} {thread}  {what}{stop}", paint(HEADING, &format!("{number}/{all}")));
    excerpt(&mut text, trace, event, sources);
    threads(&mut text, trace, at);
    values(&mut text, trace, at);
    text
}

fn thread_name(trace: &AnnotatedTrace, thread: usize) -> String {
    let Some(lane) = trace.threads.get(thread) else { return "?".into() };
    match &lane.name {
        Some(name) => format!("{} `{}`", clean(&lane.thread), clean(name)),
        None => clean(&lane.thread).into_owned(),
    }
}

fn excerpt(text: &mut String, trace: &AnnotatedTrace, event: &AnnotatedEvent, sources: &SourceCache) {
    let place = trace.place(event);
    if let Some(at) = words::place(place) {
        let function = place.function.as_deref().map(|name| format!(" in {}", clean(name))).unwrap_or_default();
        let _ = writeln!(text, "  {}", paint(FAINT, &format!("{at}{function}")));
    }
    let (Some(file), Some(line)) = (&place.file, place.line) else { return };
    let Some(source) = sources.get(file) else { return };
    if sources.has_changed(file) {
        let _ = writeln!(text, "  {}", paint(FAINT, &format!("{} {}", clean(file), super::CHANGED)));
    }
    let line = line as usize;
    for number in line.saturating_sub(AROUND).max(1)..=line + AROUND {
        let Some(code) = source.text_of(number) else { continue };
        if number == line {
            let _ = writeln!(text, "{} {}", paint(ERROR, &format!("{number:>6} >")), paint(STRONG, code));
        } else {
            let _ = writeln!(text, "{number:>6} | {code}");
        }
    }
}

fn threads(text: &mut String, trace: &AnnotatedTrace, at: usize) {
    let now = trace.events[at].thread;
    for thread in 0..trace.threads.len() {
        let mine = |event: &&AnnotatedEvent| event.thread == thread;
        let last = trace.events[..=at].iter().rev().find(mine);
        let next = trace.events[at + 1..].iter().find(mine);
        // Threads that have not started, or have ended, are left out.
        if last.is_none() || (next.is_none() && thread != now && last.is_some_and(|event| event.op == "end")) {
            continue;
        }
        let arrow = if thread == now { ">" } else { " " };
        let _ = write!(text, "{arrow} {:<8}", thread_name(trace, thread));
        let parts = [
            next.map(|event| format!("next: {}{}", clean(&event.text), at_place(trace, event))),
            listed("holds", trace, &trace.holds, thread, at),
            listed("waits for", trace, &trace.waits, thread, at),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        let _ = writeln!(text, "  {}", parts.join("; "));
    }
}

fn at_place(trace: &AnnotatedTrace, event: &AnnotatedEvent) -> String {
    words::place_short(trace.place(event)).map(|place| format!("  {place}")).unwrap_or_default()
}

fn listed(verb: &str, trace: &AnnotatedTrace, intervals: &[Interval], thread: usize, at: usize) -> Option<String> {
    let covers =
        |interval: &&Interval| interval.thread == thread && interval.from <= at && interval.to.is_none_or(|to| to > at);
    let name = |interval: &Interval| {
        let object = interval.object.and_then(|object| trace.objects.get(object));
        object.map_or_else(|| "the end of a thread".into(), |name| clean(name).into_owned())
    };
    let names: Vec<String> = intervals.iter().filter(covers).map(name).collect();
    (!names.is_empty()).then(|| format!("{verb} {}", names.join(", ")))
}

fn values(text: &mut String, trace: &AnnotatedTrace, at: usize) {
    let mut seen = Vec::new();
    for event in trace.events[..=at].iter().rev() {
        let (Some(object), Some(value)) = (event.object, &event.value) else { continue };
        if !seen.contains(&object) && seen.len() < MOST_VALUES {
            let name = trace.object(event).unwrap_or("?");
            let line = format!("{} = {}", clean(name), clean(value));
            let _ = writeln!(text, "  {} {line}", paint(FAINT, "value"));
            seen.push(object);
        }
    }
}
