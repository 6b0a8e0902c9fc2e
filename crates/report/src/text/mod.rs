//! The report as text for a terminal.
//!
//! It always has colours; the printer strips them where they are not wanted (`NO_COLOR`, not a
//! terminal). Every piece of text that comes from the program passes through
//! [`crate::escape::clean`].

mod columns;
mod estimate;
mod source;
mod step;
mod style;
mod summary;
pub(crate) mod words;

#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use raddle_model::finding::{AccessReport, Finding, Kind, Place, WitnessKind};

use crate::escape::clean;
use crate::groups::{self, FindingGroup};
use crate::suppress;
use crate::symbols::is_own_code;
use crate::symbols::readable::fitted;
use crate::timeline::Timeline;

pub use estimate::estimated;
pub use source::SourceCache;
pub use step::step;
pub use summary::summary;

use columns::Layout;
use source::{Pointer, excerpt};
use style::{COMMAND, FAINT, HEADING, paint};

/// Characters of a function's name, if leaving arguments of templates out is enough for that.
const LONGEST_NAME: usize = 90;
/// Said of a file that is not as it was.
pub(crate) const CHANGED: &str = "is not as it was when the program ran: this is the code that ran";
/// Lines of what a test framework says that are shown.
const MAX_WORDS: usize = 10;
/// The most frames that are shown, of all stacks of a finding.
const MAX_FRAMES: usize = 8;
/// The least of one stack.
const MIN_FRAMES: usize = 3;

/// One finding with its source, stacks, object and schedule, for a terminal of `width` characters.
#[must_use]
pub fn finding(finding: &Finding, timeline: Option<&Timeline>, sources: &SourceCache, width: usize) -> String {
    let mut text = body(finding, timeline, sources, width);
    cause(&mut text, finding);
    if let Some(headline) = &finding.group {
        let _ = writeln!(text, "  {}   from {}", paint(HEADING, "follows"), clean(headline));
    }
    commands(&mut text, finding);
    text
}

/// A headline as [`finding`] shows it, with its cause and what follows from it. It is kept short,
/// so that one cause is one screen.
#[must_use]
pub fn group(group: &FindingGroup<'_>, timeline: Option<&Timeline>, sources: &SourceCache, width: usize) -> String {
    let headline = group.headline;
    if group.followers.is_empty() {
        return finding(headline, timeline, sources, width);
    }
    let mut text = body(headline, timeline, sources, width);
    cause(&mut text, headline);
    let count = groups::follow(group.followers.len(), 1);
    let list = clean(&groups::by_kind(&group.followers)).into_owned();
    let _ = writeln!(text, "  {}  {count}: {list}", paint(HEADING, "follow"));
    if let Some(name) = name_for_commands(headline) {
        let command = |words: &str| paint(COMMAND, &format!("raddle {words}"));
        let mut replays = words::replays(headline, &name);
        replays.extend([format!("show {name}"), "report --finding ID".into()]);
        let commands: Vec<String> = replays.iter().map(|words| command(words)).collect();
        let _ = writeln!(text, "  {}  {}", paint(HEADING, "replay"), commands.join(", "));
    }
    suppression(&mut text, headline);
    text
}

fn cause(text: &mut String, finding: &Finding) {
    if let Some(cause) = &finding.cause {
        let _ = writeln!(text, "  {}   {}", paint(HEADING, "cause"), clean(cause));
    }
}

/// Lines of a finding that one screen shows.
const SCREEN: usize = 40;
/// Lines behind the schedule, and its own heading.
const BEHIND_SCHEDULE: usize = 7;
/// The least lines of a schedule.
const LEAST_ROWS: usize = 10;

/// Everything but the commands.
fn body(finding: &Finding, timeline: Option<&Timeline>, sources: &SourceCache, width: usize) -> String {
    let pointers: Vec<Pointer<'_>> = finding
        .accesses
        .iter()
        .enumerate()
        .map(|(index, access)| Pointer { place: &access.place, label: label(finding, index + 1, access) })
        .collect();
    let mut text = excerpt(finding.severity, &finding.id, &finding.message, &pointers, sources);
    text.push('\n');
    let mut changed: Vec<&str> = pointers.iter().filter_map(|pointer| pointer.place.file.as_deref()).collect();
    changed.retain(|file| sources.has_changed(file));
    changed.dedup();
    for file in changed {
        let _ = writeln!(text, "  {}  {} {}", paint(HEADING, "changed"), clean(file), CHANGED);
    }
    for (index, access) in finding.accesses.iter().enumerate() {
        stack(&mut text, mark(finding, index + 1), access, MAX_FRAMES / finding.accesses.len());
    }
    if let Some(object) = &finding.object {
        let _ = writeln!(text, "  {}  {}", paint(HEADING, "object"), words::object(object));
    }
    if let Some(words) = &finding.expectation {
        let _ = writeln!(text, "  {}", paint(HEADING, "the test says"));
        for line in words.lines().filter(|line| !line.trim().is_empty()).take(MAX_WORDS) {
            let _ = writeln!(text, "      {}", clean(line));
        }
    }
    if let Some(stderr) = finding.stderr.as_deref().filter(|written| !written.trim().is_empty()) {
        let _ = writeln!(text, "  {}", paint(HEADING, "standard error of the program"));
        for line in stderr.lines() {
            let _ = writeln!(text, "      {}", clean(line));
        }
    }
    if let Some(timeline) = timeline.filter(|timeline| !timeline.rows.is_empty()) {
        let _ = writeln!(text, "  {}  {}", paint(HEADING, "schedule"), schedule_note(finding));
        let rows = SCREEN.saturating_sub(text.lines().count() + BEHIND_SCHEDULE).max(LEAST_ROWS);
        text += &columns::table(timeline, &Layout { indent: 4, width, rows, objects: &objects(finding, timeline) });
    }
    text
}

/// The label at the place that a finding points at.
fn label(finding: &Finding, number: usize, access: &AccessReport) -> String {
    let thread = words::thread(access);
    let what = match (&access.waits, finding.kind) {
        (Some(wait), _) => {
            let holders =
                if wait.held_by.is_empty() { String::new() } else { format!(", held by {}", wait.held_by.join(", ")) };
            format!("{thread} waits for {}{holders}", wait.object)
        }
        (None, Kind::DataRace) => format!("{} by {thread}", words::operation(access)),
        (None, _) if finding.expectation.is_some() => format!("the expectation fails in {thread}"),
        (None, _) => format!("{} by {thread}", access.op),
    };
    let locks = match (access.locks.is_empty(), finding.kind) {
        (false, _) => format!("; holds {}", words::held(access)),
        (true, Kind::DataRace) => "; no lock held".to_string(),
        (true, _) => String::new(),
    };
    format!("{}{what}{locks}", mark(finding, number))
}

/// Names of the objects that a finding is about: a schedule shows them first. A failure is about
/// none; it comes from what other threads have done to what its thread has used.
fn objects<'a>(finding: &'a Finding, timeline: &'a Timeline) -> Vec<&'a str> {
    let sides = finding.accesses.iter();
    let waits = sides.clone().filter_map(|access| access.waits.as_ref()).map(|wait| wait.object.as_str());
    let about: Vec<&str> = finding.variable.as_deref().into_iter().chain(waits).collect();
    if let ([], [failed]) = (&about[..], &finding.accesses[..])
        && let Some(column) = timeline.columns.iter().position(|column| column.thread == failed.thread)
        && let contested @ [_, ..] = &timeline.contested(column)[..]
    {
        return contested.to_vec();
    }
    let locks = sides.flat_map(|access| access.locks.iter().map(String::as_str));
    about.into_iter().chain(locks).collect()
}

/// The number of an access, where there are several.
fn mark(finding: &Finding, number: usize) -> String {
    if finding.accesses.len() > 1 { format!("({number}) ") } else { String::new() }
}

fn stack(text: &mut String, mark: String, access: &AccessReport, most: usize) {
    let mut title = mark + &words::thread(access);
    if let Some(created) = &access.created {
        let _ = write!(title, ", created by {} at {}", clean(&created.by), words::place_or_function(&created.place));
    }
    let _ = writeln!(text, "  {}", paint(HEADING, &title));
    // Without a stack, the place itself is the best answer to "where".
    let frames = if access.stack.is_empty() { std::slice::from_ref(&access.place) } else { &access.stack[..] };
    // The innermost frame shows what was called, even in a library. Other frames of libraries do
    // not matter to the user.
    let is_shown = |index: usize, frame: &Place| index == 0 || is_own_code(frame);
    let own = frames.iter().enumerate().filter(|(index, frame)| is_shown(*index, frame)).count();
    let (most, mut number, mut left_out) = (most.max(MIN_FRAMES), 0, Gap::default());
    for (index, frame) in frames.iter().enumerate() {
        if !is_shown(index, frame) {
            left_out.libraries += 1;
            continue;
        }
        number += 1;
        // The outermost frame says what the thread is there for.
        if own > most && number >= most && number < own {
            left_out.own += 1;
            continue;
        }
        gap(text, &mut left_out);
        let _ = writeln!(text, "      {}", frame_line(frame));
    }
    gap(text, &mut left_out);
    for held in &access.held {
        let at = words::place_or_function(&held.place);
        let line = format!("holds {}, locked at {at}", words::held_lock(held));
        let _ = writeln!(text, "      {}", line);
    }
}

/// Frames that are not shown.
#[derive(Default)]
struct Gap {
    libraries: usize,
    own: usize,
}

fn gap(text: &mut String, left_out: &mut Gap) {
    let Gap { libraries, own } = std::mem::take(left_out);
    let plural = |count: usize| if count == 1 { "frame" } else { "frames" };
    let note = match (libraries, own) {
        (0, 0) => return,
        (count, 0) => format!("… {count} {} of libraries", plural(count)),
        (libraries, own) => format!("… {} {}", libraries + own, plural(libraries + own)),
    };
    let _ = writeln!(text, "      {}", paint(FAINT, &note));
}

fn frame_line(frame: &Place) -> String {
    let function = frame.function.as_deref().map_or("?".into(), |name| fitted(&clean(name), LONGEST_NAME));
    match words::place(frame) {
        Some(place) => format!("{function}  {}", paint(FAINT, &place)),
        None => function,
    }
}

fn schedule_note(finding: &Finding) -> String {
    let preemptions = match finding.preemptions {
        0 => "without a preemption".to_string(),
        1 => "with 1 preemption".to_string(),
        count => format!("with {count} preemptions"),
    };
    match finding.witness_kind {
        Some(WitnessKind::Adjacent) => format!("{preemptions}; at its end both threads stand before their accesses"),
        Some(WitnessKind::Unordered) => {
            format!("{preemptions}; nothing orders (2) after (1), though this schedule cannot bring them side by side")
        }
        None => preemptions,
    }
}

/// The line that makes a file for `--suppressions` fit the finding.
fn suppression(text: &mut String, finding: &Finding) {
    if let Some(line) = suppress::line_for(finding) {
        let (line, note) = (paint(COMMAND, &clean(&line)), paint(FAINT, "in a file for --suppressions"));
        let _ = writeln!(text, "  {} {line}  {note}", paint(HEADING, "silence"));
    }
}

/// What commands call the finding.
fn name_for_commands(finding: &Finding) -> Option<String> {
    let witness = finding.witness.as_ref()?;
    // Findings in the default directory can be named by id, those of test cases by test and id.
    let name = match witness.strip_prefix(".raddle/") {
        Some(below) if below.matches('/').count() > 1 => below.strip_suffix(".json").unwrap_or(below),
        Some(_) => &finding.id,
        None => witness,
    };
    Some(clean(name).into_owned())
}

fn commands(text: &mut String, finding: &Finding) {
    let Some(name) = name_for_commands(finding) else { return };
    for (heading, words) in ["replay ", "debug  "].into_iter().zip(words::replays(finding, &name)) {
        let _ = writeln!(text, "  {} {}", paint(HEADING, heading), paint(COMMAND, &format!("raddle {words}")));
    }
    let view = paint(COMMAND, &format!("raddle show {name}"));
    let _ = writeln!(text, "  {}    {view}", paint(HEADING, "view"));
    suppression(text, finding);
}
