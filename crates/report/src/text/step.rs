//! One step of a story: what happens, where, and how everybody stands.

use std::fmt::Write as _;

use super::source::Sources;
use super::style::{ERROR, FAINT, HEADING, STRONG, paint};
use super::words;
use crate::escape::clean;
use crate::story::{Event, Story, Stretch};

/// Lines of source before and after the one that an event is in.
const AROUND: usize = 3;
/// Values shown, at most.
const MOST_VALUES: usize = 12;

/// The step with this number, from 0.
#[must_use]
pub fn step(story: &Story, at: usize, sources: &Sources) -> String {
    let Some(event) = story.events.get(at) else { return String::new() };
    let mut text = String::new();
    let (number, all) = (at + 1 + story.left_out, story.events.len() + story.left_out);
    let mark = event.mark.map(|mark| format!("({mark}) ")).unwrap_or_default();
    let thread = thread_name(story, event.thread);
    let what = paint(STRONG, &format!("{mark}{}", clean(&event.text)));
    let _ = writeln!(text, "{} {thread}  {what}", paint(HEADING, &format!("{number}/{all}")));
    excerpt(&mut text, story, event, sources);
    threads(&mut text, story, at);
    values(&mut text, story, at);
    text
}

fn thread_name(story: &Story, thread: usize) -> String {
    let Some(actor) = story.threads.get(thread) else { return "?".into() };
    match &actor.name {
        Some(name) => format!("{} `{}`", clean(&actor.thread), clean(name)),
        None => clean(&actor.thread).into_owned(),
    }
}

fn excerpt(text: &mut String, story: &Story, event: &Event, sources: &Sources) {
    let place = story.place(event);
    if let Some(at) = words::place(place) {
        let function = place.function.as_deref().map(|name| format!(" in {}", clean(name))).unwrap_or_default();
        let _ = writeln!(text, "  {}", paint(FAINT, &format!("{at}{function}")));
    }
    let (Some(file), Some(line)) = (&place.file, place.line) else { return };
    let Some(source) = sources.get(file) else { return };
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

fn threads(text: &mut String, story: &Story, at: usize) {
    let now = story.events[at].thread;
    for thread in 0..story.threads.len() {
        let mine = |event: &&Event| event.thread == thread;
        let last = story.events[..=at].iter().rev().find(mine);
        let next = story.events[at + 1..].iter().find(mine);
        // Threads that are not born yet, or over, have nothing to say.
        if last.is_none() || (next.is_none() && thread != now && last.is_some_and(|event| event.op == "end")) {
            continue;
        }
        let arrow = if thread == now { ">" } else { " " };
        let _ = write!(text, "{arrow} {:<8}", thread_name(story, thread));
        let parts = [
            next.map(|event| format!("next: {}{}", clean(&event.text), at_place(story, event))),
            listed("holds", story, &story.holds, thread, at),
            listed("waits for", story, &story.waits, thread, at),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        let _ = writeln!(text, "  {}", parts.join("; "));
    }
}

fn at_place(story: &Story, event: &Event) -> String {
    words::place_short(story.place(event)).map(|place| format!("  {place}")).unwrap_or_default()
}

fn listed(verb: &str, story: &Story, stretches: &[Stretch], thread: usize, at: usize) -> Option<String> {
    let covers =
        |stretch: &&Stretch| stretch.thread == thread && stretch.from <= at && stretch.to.is_none_or(|to| to > at);
    let name = |stretch: &Stretch| {
        let object = stretch.object.and_then(|object| story.objects.get(object));
        object.map_or_else(|| "the end of a thread".into(), |name| clean(name).into_owned())
    };
    let names: Vec<String> = stretches.iter().filter(covers).map(name).collect();
    (!names.is_empty()).then(|| format!("{verb} {}", names.join(", ")))
}

fn values(text: &mut String, story: &Story, at: usize) {
    let mut seen = Vec::new();
    for event in story.events[..=at].iter().rev() {
        let (Some(object), Some(value)) = (event.object, &event.value) else { continue };
        if !seen.contains(&object) && seen.len() < MOST_VALUES {
            let name = story.object(event).unwrap_or("?");
            let line = format!("{} = {}", clean(name), clean(value));
            let _ = writeln!(text, "  {} {line}", paint(FAINT, "value"));
            seen.push(object);
        }
    }
}
