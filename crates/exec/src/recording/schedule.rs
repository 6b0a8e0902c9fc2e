//! Converts an execution to a named schedule, and a named schedule to the choices that a target
//! follows.

use std::collections::BTreeMap;

use raddle_model::SyncState;
use raddle_model::{Choice, Event, Execution, Op, Operation as _, PendingState, Request, ThreadPath};
use raddle_vocab::handler;
use raddle_vocab::party::Party;
use raddle_vocab::policy::{MAX_THREADS, Policy};
use raddle_vocab::{OpKind, Outcome, RunStatus};

use super::json::parse_thread;
use super::{Recording, RecordingNames, ScheduleEntry};
use crate::native::{RunPlan, Stop};

/// Why a schedule cannot be followed by any program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// An entry of a thread that no entry before it creates.
    #[error("entry {entry} is a step of thread {thread}, which no entry before it creates")]
    NoSuchThread {
        /// Number of the entry, from 1.
        entry: usize,
        /// Its thread.
        thread: ThreadPath,
    },
    /// An entry is out of order.
    #[error("entry {entry} is step {found} of thread {thread}, but the one before it was {before}")]
    Order {
        /// Number of the entry, from 1.
        entry: usize,
        /// Its thread.
        thread: ThreadPath,
        /// Which of the thread's steps it claims to be.
        found: u32,
        /// How many the thread has made.
        before: u32,
    },
    /// More threads than one run can have.
    #[error("the schedule creates more than {MAX_THREADS} threads")]
    TooManyThreads,
}

/// The choices that lead through the schedule. Run-local numbers of threads come from the order in
/// which the schedule itself creates them.
///
/// # Errors
/// If the entries do not make sense together.
pub fn choices_of(entries: &[ScheduleEntry]) -> Result<Vec<Choice>, ScheduleError> {
    struct Thread {
        number: u16,
        steps: u32,
        children: u32,
        couriers: u32,
    }
    let main = Thread { number: 0, steps: 0, children: 0, couriers: 0 };
    let mut threads = BTreeMap::from([(&[][..], main)]);
    let mut choices = Vec::with_capacity(entries.len());
    // Threads that no entry has mentioned yet.
    let mut created: BTreeMap<Vec<u32>, u16> = BTreeMap::new();
    for (index, entry) in entries.iter().enumerate() {
        let path = &entry.thread.0[..];
        if !threads.contains_key(path) {
            let number = created.remove(path);
            let number =
                number.ok_or_else(|| ScheduleError::NoSuchThread { entry: index + 1, thread: entry.thread.clone() })?;
            threads.insert(path, Thread { number, steps: 0, children: 0, couriers: 0 });
        }
        let total = threads.len() + created.len();
        let Some(thread) = threads.get_mut(path) else { continue };
        if entry.nth != thread.steps + 1 {
            let (found, before) = (entry.nth, thread.steps);
            return Err(ScheduleError::Order { entry: index + 1, thread: entry.thread.clone(), found, before });
        }
        thread.steps += 1;
        choices.push(Choice { thread: thread.number, choice: entry.choice });
        if entry.kind == OpKind::Create && entry.outcome == Outcome::Done {
            if total >= MAX_THREADS {
                return Err(ScheduleError::TooManyThreads);
            }
            // Parties and couriers are named by the entries that create them, and do not count.
            let party = entry.object.as_deref().and_then(Party::named).filter(|_| path.is_empty());
            let is_courier = entry.object.as_deref().and_then(parse_thread).is_some_and(|path| path.is_courier());
            thread.children += u32::from(party.is_none() && !is_courier);
            thread.couriers += u32::from(is_courier);
            let last = match party {
                Some(party) => party.component(),
                None if is_courier => handler::component(thread.couriers),
                None => thread.children,
            };
            created.insert([path, &[last]].concat(), total as u16);
        }
    }
    Ok(choices)
}

/// The plan that follows a recording.
///
/// # Errors
/// As [`choices_of`].
pub fn plan_of(recording: &Recording) -> Result<RunPlan, ScheduleError> {
    let schedule = choices_of(&recording.schedule)?;
    let stops = recording.schedule.iter().enumerate();
    let stops = stops.filter_map(|(after, entry)| entry.stop.map(|access| Stop { after, access }));
    let request = Request { schedule, policy: Policy::LeastRank, max_events: recording.settings.max_events };
    Ok(RunPlan { stops: stops.collect(), ..RunPlan::from(request) })
}

/// The named schedule of an execution. The semantics gives the successors of each step; the one
/// that equals the event is the one that was taken.
#[must_use]
pub fn entries_of(execution: &Execution, spurious: u32, names: &dyn RecordingNames) -> Vec<ScheduleEntry> {
    let mut world = SyncState::new(spurious);
    world.prepare(execution);
    let mut made = vec![0; execution.threads.len()];
    let entries = execution.events.iter().enumerate().map(|(number, step)| {
        let choice = execution.detail(number).map_or_else(|| world.choice_of(step), |detail| detail.behind);
        world.apply(step);
        let thread = usize::from(step.thread);
        made[thread] += 1;
        ScheduleEntry {
            thread: execution.threads[thread].path.clone(),
            nth: made[thread],
            kind: step.op.kind(),
            outcome: step.op.outcome(),
            choice,
            object: object_of(step, execution, names),
            place: (step.pc != 0).then(|| names.place(step.pc)).flatten(),
            stop: None,
        }
    });
    entries.collect()
}

/// The name of what a step is about: another thread, or what lies at its address.
fn object_of(step: &Event, execution: &Execution, names: &dyn RecordingNames) -> Option<String> {
    match step.op {
        Op::Thread(op) if op.peer().is_some() => {
            let thread = execution.threads.get(usize::from(op.peer()?))?;
            Some(thread.path.to_string())
        }
        op if op.object() == 0 => None,
        op => names.object(op.object()),
    }
}

/// Where a run left its schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleDivergence {
    /// Number of the entry, from 0.
    pub entry: usize,
    /// What the schedule says.
    pub expected: ScheduleEntry,
    /// What happened instead, as the end of a sentence.
    pub found: String,
}

impl std::fmt::Display for ScheduleDivergence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ScheduleDivergence { entry, expected, found } = self;
        write!(f, "at event {}, where the schedule has {}: {found}", entry + 1, describe_entry(expected))
    }
}

fn describe_entry(entry: &ScheduleEntry) -> String {
    let mut text = format!("{} {}", entry.thread, entry.kind.word());
    if let Some(object) = &entry.object {
        text += &format!(" {object}");
    }
    if let Some(place) = &entry.place {
        text += &format!(" at {place}");
    }
    text
}

/// A step in words.
#[must_use]
pub fn describe_step(step: &Event, execution: &Execution, names: &dyn RecordingNames) -> String {
    let thread = execution.threads.get(usize::from(step.thread)).map(|thread| thread.path.clone()).unwrap_or_default();
    let entry = ScheduleEntry {
        thread,
        nth: 0,
        kind: step.op.kind(),
        outcome: step.op.outcome(),
        choice: 0,
        object: object_of(step, execution, names),
        place: (step.pc != 0).then(|| names.place(step.pc)).flatten(),
        stop: None,
    };
    describe_entry(&entry)
}

/// Compares a run with the schedule it was to follow. Kinds, threads and outcomes must agree;
/// objects and places may have other names after a rebuild.
#[must_use]
pub fn compare(
    entries: &[ScheduleEntry],
    execution: &Execution,
    names: &dyn RecordingNames,
) -> Option<ScheduleDivergence> {
    for (index, entry) in entries.iter().enumerate() {
        let found = match execution.events.get(index) {
            Some(step) => {
                let thread = execution.threads.get(usize::from(step.thread)).map(|thread| &thread.path);
                // Arrivals at a barrier commute, so which of them is the last says nothing about
                // the thread.
                let outcome = step.op.outcome();
                let agrees = outcome == entry.outcome || step.op.is_arrival();
                if thread == Some(&entry.thread) && step.op.kind() == entry.kind && agrees {
                    continue;
                }
                let outcome = if outcome == Outcome::Done { String::new() } else { format!(" ({})", outcome.word()) };
                format!("the program has {}{outcome}", describe_step(step, execution, names))
            }
            None => instead(entry, execution, names),
        };
        return Some(ScheduleDivergence { entry: index, expected: entry.clone(), found });
    }
    None
}

/// Why the run ended before an entry.
fn instead(entry: &ScheduleEntry, execution: &Execution, names: &dyn RecordingNames) -> String {
    let number = execution.threads.iter().position(|thread| thread.path == entry.thread);
    let Some(pending) = number.and_then(|number| execution.pending.get(number)) else {
        return format!("the program has no thread {}", entry.thread);
    };
    let stands = describe_step(&pending.event, execution, names);
    match execution.status {
        RunStatus::Cut => "the bound on events stopped the run".into(),
        RunStatus::Idle => "a thread went round without an effect, and the run was stopped".into(),
        RunStatus::Assumed => "a false assumption ended the run".into(),
        _ => match pending.state {
            PendingState::Enabled => format!("the program stands before {stands}"),
            PendingState::Blocked => format!("the program is blocked before {stands}"),
            PendingState::Awaiting | PendingState::Stale => format!("the program waits in a loop at {stands}"),
            PendingState::Failed => "the thread has failed before".into(),
            PendingState::Ended => "the thread has ended before".into(),
            PendingState::Exited => "the process has exited before".into(),
        },
    }
}
