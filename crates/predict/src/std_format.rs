//! The STD format of RAPID: one event per line, `thread|operation(object)|location`.
//!
//! Operations: `r` and `w` of a variable, `acq` and `rel` of a lock, `fork` and `join` of a thread.
//! Every access is an event of its own here, because another thread may run between any two of
//! them. A trace that no program can produce is rejected with the first wrong line.
//!
//! Writing: an order that the format cannot express is written as an empty thread (`fork` on one
//! side, `join` on the other). A rwlock is written as one lock for each reading thread; a writer
//! acquires all of them. Atomic accesses and the orders that they make are left out. So another
//! tool may predict a race that the program excludes, but it misses none.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use raddle_model::race::Touching;

use crate::label::EventLabel;
use crate::trace::{ObservedTrace, SharedAccess, Slot, SyncOp, ThreadTrace, Tid, Var, VarInfo};

/// Threads of one trace, at most: there is a table of all pairs of them.
const MOST_THREADS: usize = 4_000;
/// Events times threads, at most: there is a clock for each event.
const MOST_WORDS: usize = 100_000_000;
/// Locks that a thread holds at the same time, at most: each lock set is kept.
const MOST_HELD: u32 = 1_000;

/// An error in a trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}: {message}")]
pub struct TraceError {
    /// Line, from 1.
    pub line: usize,
    /// What is wrong there.
    pub message: String,
}

/// A lock and its holder.
struct Lock {
    slot: Slot,
    holder: Option<(Tid, u32)>,
}

/// The lines at which a thread was forked, did its first event, and was joined.
#[derive(Default)]
struct Life {
    forked: Option<usize>,
    first: Option<usize>,
    joined: Option<usize>,
    /// Locks that it holds.
    held: u32,
}

#[derive(Default)]
struct Reader {
    trace: ObservedTrace,
    threads: BTreeMap<String, Tid>,
    lives: Vec<Life>,
    locks: BTreeMap<String, Lock>,
    vars: BTreeMap<String, Var>,
    places: BTreeMap<String, u64>,
    line: usize,
}

/// A trace and the names of its locations.
#[derive(Clone, Debug)]
pub struct ParsedTrace {
    /// The trace.
    pub trace: ObservedTrace,
    /// Locations, by the number that [`crate::trace::SyncEvent::place`] holds.
    pub places: Vec<String>,
}

/// Reads a trace.
///
/// # Errors
/// If a line cannot be parsed, or no program can produce the trace.
pub fn read(text: &str) -> Result<ParsedTrace, TraceError> {
    let mut reader = Reader::default();
    for (number, line) in text.lines().enumerate() {
        reader.line = number + 1;
        let line = line.trim();
        if !line.is_empty() && !line.starts_with('#') {
            reader.event(line)?;
        }
    }
    if reader.trace.events.is_empty() {
        return Err(TraceError { line: 1, message: "there is no event in this trace".into() });
    }
    let mut places: Vec<(String, u64)> = reader.places.into_iter().collect();
    places.sort_by_key(|(_, number)| *number);
    let mut trace = reader.trace;
    for thread in &mut trace.threads {
        thread.ended = true;
    }
    trace.recorded = trace.events.len() as u64;
    trace.finish();
    Ok(ParsedTrace { trace, places: places.into_iter().map(|(name, _)| name).collect() })
}

impl Reader {
    fn wrong<T>(&self, message: impl Into<String>) -> Result<T, TraceError> {
        Err(TraceError { line: self.line, message: message.into() })
    }

    fn event(&mut self, line: &str) -> Result<(), TraceError> {
        let mut fields = line.split('|').map(str::trim);
        let (thread, operation) = (fields.next().unwrap_or_default(), fields.next().unwrap_or_default());
        let place = fields.next().filter(|place| !place.is_empty());
        if thread.is_empty() || operation.is_empty() || fields.next().is_some() {
            return self.wrong("expected `thread|operation(object)|location`");
        }
        let inner = operation.strip_suffix(')').and_then(|operation| operation.split_once('('));
        let Some((word, object)) = inner.filter(|(_, object)| !object.trim().is_empty()) else {
            return self.wrong(format!("expected an operation with its object, as `acq(m)`, found `{operation}`"));
        };
        let object = object.trim();
        if self.trace.events.len() * self.threads.len() > MOST_WORDS {
            let (events, threads) = (self.trace.events.len(), self.threads.len());
            return self
                .wrong(format!("{events} events of {threads} threads are too many; cut the trace before this line"));
        }
        let place = place.map_or_else(|| format!("line {}", self.line), str::to_owned);
        let next = self.places.len() as u64;
        let place = *self.places.entry(place).or_insert(next);
        let thread = self.thread(thread)?;
        self.lives(thread, line)?;
        match word.trim() {
            "r" => self.access(thread, object, Touching::Read, place),
            "w" => self.access(thread, object, Touching::Write, place),
            "acq" => self.acquire(thread, object, place),
            "rel" => self.release(thread, object, place),
            "fork" => self.fork(thread, object, place),
            "join" => self.join(thread, object, place),
            other => self.wrong(format!("unknown operation `{other}`: there are r, w, acq, rel, fork, join")),
        }
    }

    fn thread(&mut self, name: &str) -> Result<Tid, TraceError> {
        if let Some(&thread) = self.threads.get(name) {
            return Ok(thread);
        }
        let number = Tid::try_from(self.threads.len()).ok().filter(|_| self.threads.len() < MOST_THREADS);
        let Some(number) = number else {
            return self.wrong(format!("there are more than {MOST_THREADS} threads, too many to compare them all"));
        };
        self.threads.insert(name.to_owned(), number);
        self.lives.push(Life::default());
        let name = self.display_name(name);
        self.trace.threads.push(ThreadTrace { name, ..ThreadTrace::default() });
        Ok(number)
    }

    /// A unique name for a thread, in the spelling of the CSP model if possible: `t1` for `T1`.
    fn display_name(&self, name: &str) -> String {
        let digits =
            name.strip_prefix('T').filter(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()));
        let first = digits.map_or_else(|| name.to_owned(), |digits| format!("t{digits}"));
        let numbered = (2..).map(|number: u32| format!("{first}_{number}"));
        let is_free = |name: &String| self.trace.threads.iter().all(|thread| thread.name != *name);
        std::iter::once(first.clone()).chain(numbered).find(is_free).unwrap_or(first)
    }

    /// Notes that the thread has an event, which is an error after it was joined.
    fn lives(&mut self, thread: Tid, event: &str) -> Result<(), TraceError> {
        let line = self.line;
        let life = &mut self.lives[usize::from(thread)];
        life.first.get_or_insert(line);
        match life.joined {
            Some(joined) => self.wrong(format!("`{event}` comes after the thread was joined in line {joined}")),
            None => Ok(()),
        }
    }

    fn access(&mut self, thread: Tid, name: &str, what: Touching, place: u64) -> Result<(), TraceError> {
        let next = self.vars.len() as Var;
        let var = *self.vars.entry(name.to_owned()).or_insert(next);
        if var == next {
            self.trace.vars.push(VarInfo { name: name.to_owned(), address: None });
        }
        let position = self.trace.threads[usize::from(thread)].last();
        let after = self.trace.events.len() as u32;
        let access =
            SharedAccess { thread, position, var, bytes: 1, what, place, reads_too: false, after, own_event: true };
        self.trace.accesses.push(access);
        self.trace.push(
            thread,
            SyncOp::Free,
            place,
            if what == Touching::Read { EventLabel::Read } else { EventLabel::Write },
        );
        Ok(())
    }

    fn acquire(&mut self, thread: Tid, name: &str, place: u64) -> Result<(), TraceError> {
        let line = self.line;
        if !self.locks.contains_key(name) {
            let slot = self.trace.slot(name.to_owned(), None);
            self.locks.insert(name.to_owned(), Lock { slot, holder: None });
        }
        let Some(lock) = self.locks.get_mut(name) else { return Ok(()) };
        let op = match &mut lock.holder {
            // A recursive lock.
            Some((holder, depth)) if *holder == thread => {
                *depth += 1;
                SyncOp::Free
            }
            Some((holder, _)) => {
                let holder = &self.trace.threads[usize::from(*holder)].name;
                let message = format!("{name} is acquired while {holder} holds it");
                return Err(TraceError { line, message });
            }
            none => {
                *none = Some((thread, 1));
                let held = &mut self.lives[usize::from(thread)].held;
                *held += 1;
                if *held > MOST_HELD {
                    let thread = &self.trace.threads[usize::from(thread)].name;
                    let message = format!("{thread} holds more than {MOST_HELD} locks at the same time");
                    return Err(TraceError { line, message });
                }
                SyncOp::Lock(lock.slot)
            }
        };
        self.trace.push(thread, op, place, EventLabel::Other);
        Ok(())
    }

    fn release(&mut self, thread: Tid, name: &str, place: u64) -> Result<(), TraceError> {
        let line = self.line;
        let holder = self.locks.get_mut(name);
        let op = match holder {
            Some(Lock { slot, holder }) if holder.is_some_and(|(holder, _)| holder == thread) => match holder {
                Some((_, depth)) if *depth > 1 => {
                    *depth -= 1;
                    SyncOp::Free
                }
                _ => {
                    *holder = None;
                    self.lives[usize::from(thread)].held -= 1;
                    SyncOp::Unlock(*slot)
                }
            },
            _ => {
                let thread = &self.trace.threads[usize::from(thread)].name;
                return Err(TraceError {
                    line,
                    message: format!("{thread} releases {name} before it has acquired it"),
                });
            }
        };
        self.trace.push(thread, op, place, EventLabel::Other);
        Ok(())
    }

    fn fork(&mut self, thread: Tid, name: &str, place: u64) -> Result<(), TraceError> {
        let child = self.thread(name)?;
        let line = self.line;
        let life = &mut self.lives[usize::from(child)];
        if let Some(before) = life.forked {
            return self.wrong(format!("{name} is forked a second time; the first time was in line {before}"));
        }
        if let Some(first) = life.first {
            return self.wrong(format!("{name} is forked after its first event in line {first}"));
        }
        life.forked = Some(line);
        self.trace.push(thread, SyncOp::Fork(child), place, EventLabel::Other);
        Ok(())
    }

    fn join(&mut self, thread: Tid, name: &str, place: u64) -> Result<(), TraceError> {
        let Some(&child) = self.threads.get(name).filter(|&&child| child != thread) else {
            return self.wrong(format!("{name} is joined, but there is no such other thread before"));
        };
        let line = self.line;
        let life = &mut self.lives[usize::from(child)];
        if let Some(before) = life.joined {
            return self.wrong(format!("{name} is joined a second time; the first time was in line {before}"));
        }
        life.joined = Some(line);
        self.trace.push(thread, SyncOp::Join(child), place, EventLabel::Other);
        Ok(())
    }
}

/// Writes a trace.
#[must_use]
pub fn write(trace: &ObservedTrace) -> String {
    let mut text = String::new();
    let mut signals = Signals::default();
    let places = Places::of(trace);
    let mut accesses = trace.accesses.iter().peekable();
    for (number, event) in trace.events.iter().enumerate() {
        while let Some(access) = accesses.next_if(|access| access.after <= number as u32) {
            line_of_access(&mut text, trace, access, &places);
        }
        let thread = &trace.threads[usize::from(event.thread)].name;
        for line in signals.events(trace, number as u32) {
            let _ = writeln!(text, "{}|{line}|{}", tidy(thread), places.number(event.place));
        }
    }
    for access in accesses {
        line_of_access(&mut text, trace, access, &places);
    }
    text
}

/// Numbers of locations. Other tools read locations as 32-bit integers, so addresses are too large.
struct Places(BTreeMap<u64, usize>);

impl Places {
    /// Numbers the locations of a trace from 1, by address.
    fn of(trace: &ObservedTrace) -> Self {
        let events = trace.events.iter().map(|event| event.place);
        let all: BTreeSet<u64> = events.chain(trace.accesses.iter().map(|access| access.place)).collect();
        Places(all.into_iter().zip(1..).collect())
    }

    fn number(&self, place: u64) -> usize {
        self.0.get(&place).copied().unwrap_or(0)
    }
}

fn line_of_access(text: &mut String, trace: &ObservedTrace, access: &SharedAccess, places: &Places) {
    let word = match access.what {
        Touching::Read => "r",
        Touching::Write | Touching::Free | Touching::Make | Touching::Mapping(_) => "w",
        Touching::AtomicRead | Touching::AtomicWrite | Touching::Use => return,
    };
    let (thread, var) = (&trace.threads[usize::from(access.thread)].name, &trace.vars[access.var as usize].name);
    let _ = writeln!(text, "{}|{word}({})|{}", tidy(thread), tidy(var), places.number(access.place));
}

/// A name without the characters that are syntax of the format.
#[must_use]
pub fn tidy(name: &str) -> String {
    name.replace(['|', '(', ')', ' '], "_")
}

/// Empty threads that express an order between two events.
#[derive(Default)]
struct Signals {
    made: u32,
    /// By object: threads that were forked and not yet joined.
    open: BTreeMap<(Slot, &'static str), Vec<String>>,
}

impl Signals {
    fn fresh(&mut self) -> String {
        self.made += 1;
        format!("order{}", self.made)
    }

    fn give(&mut self, slot: Slot, what: &'static str) -> Vec<String> {
        let name = self.fresh();
        self.open.entry((slot, what)).or_default().push(name.clone());
        vec![format!("fork({name})")]
    }

    fn take(&mut self, slot: Slot, what: &'static str) -> Vec<String> {
        let open = self.open.get_mut(&(slot, what));
        let name = open.filter(|open| !open.is_empty()).map(|open| open.remove(0));
        name.map(|name| format!("join({name})")).into_iter().collect()
    }

    fn events(&mut self, trace: &ObservedTrace, number: u32) -> Vec<String> {
        let event = &trace.events[number as usize];
        let name = |slot: Slot| tidy(&trace.slots[slot as usize].name);
        let reader =
            |slot: Slot, thread: Tid| format!("{}.{}", name(slot), tidy(&trace.threads[usize::from(thread)].name));
        match event.op {
            SyncOp::Fork(child) => vec![format!("fork({})", tidy(&trace.threads[usize::from(child)].name))],
            SyncOp::Join(child) => vec![format!("join({})", tidy(&trace.threads[usize::from(child)].name))],
            SyncOp::Lock(slot) => vec![format!("acq({})", name(slot))],
            SyncOp::Unlock(slot) => vec![format!("rel({})", name(slot))],
            SyncOp::ReadLock(slot) => vec![format!("acq({})", reader(slot, event.thread))],
            SyncOp::ReadUnlock(slot) => vec![format!("rel({})", reader(slot, event.thread))],
            SyncOp::WriteLock(slot) => {
                let readers = readers(trace, slot).into_iter().map(|thread| format!("acq({})", reader(slot, thread)));
                std::iter::once(format!("acq({})", name(slot))).chain(readers).collect()
            }
            SyncOp::WriteUnlock(slot) => {
                let readers = readers(trace, slot).into_iter().map(|thread| format!("rel({})", reader(slot, thread)));
                readers.rev().chain([format!("rel({})", name(slot))]).collect()
            }
            SyncOp::OnceEnd(slot) => {
                let followers =
                    trace.events[number as usize..].iter().filter(|event| event.op == SyncOp::OnceSeen(slot)).count();
                let mut events: Vec<String> = (0..followers).flat_map(|_| self.give(slot, "once")).collect();
                events.push(format!("rel({})", name(slot)));
                events
            }
            SyncOp::OnceSeen(slot) => self.take(slot, "once"),
            SyncOp::Enqueue { mutex, .. } => mutex.map(|mutex| format!("rel({})", name(mutex))).into_iter().collect(),
            SyncOp::Resume { queue, mutex, woken } => {
                let mut events = if woken { self.take(queue, "wake") } else { Vec::new() };
                events.extend(mutex.map(|mutex| format!("acq({})", name(mutex))));
                events
            }
            SyncOp::Wake { queue, .. } => self.give(queue, "wake"),
            SyncOp::Post(slot) => self.give(slot, "post"),
            SyncOp::Take(slot) => self.take(slot, "post"),
            SyncOp::Arrive { round, .. } => {
                let leavers = trace
                    .events
                    .iter()
                    .filter(|event| matches!(event.op, SyncOp::Leave { round: other, .. } if other == round));
                let count = leavers.count();
                (0..count).flat_map(|_| self.give(round, "round")).collect()
            }
            // Joins one empty thread of each arrival.
            SyncOp::Leave { round, count } => {
                let open = self.open.entry((round, "round")).or_default();
                let stride = (open.len() / count.max(1) as usize).max(1);
                let mut names = Vec::new();
                for at in (0..count as usize).rev().map(|one| one * stride) {
                    if at < open.len() {
                        names.push(open.remove(at));
                    }
                }
                names.into_iter().map(|name| format!("join({name})")).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// Threads that acquire a rwlock for reading.
fn readers(trace: &ObservedTrace, slot: Slot) -> BTreeSet<Tid> {
    trace.events.iter().filter(|event| event.op == SyncOp::ReadLock(slot)).map(|event| event.thread).collect()
}

/// A trace as a table with one column per thread. Each row begins with the number that [`write()`]
/// gives to its location.
#[must_use]
pub fn table(trace: &ObservedTrace, place: &dyn Fn(u64) -> String) -> String {
    let mut text = String::new();
    let mut accesses = trace.accesses.iter().peekable();
    let places = Places::of(trace);
    let mut row = |thread: Tid, what: &str, at: u64| {
        let indent = usize::from(thread) * 4;
        let (number, name) = (places.number(at), &trace.threads[usize::from(thread)].name);
        let _ = writeln!(text, "{number:>4}  {name:<6} {:indent$}{what}  {}", "", place(at));
    };
    let of = |access: &SharedAccess| format!("{} {}", word_of(access.what), trace.vars[access.var as usize].name);
    for (number, event) in trace.events.iter().enumerate() {
        while let Some(access) = accesses.next_if(|access| access.after <= number as u32) {
            row(access.thread, &of(access), access.place);
        }
        let events = crate::words::parts(&event.op);
        let names = events.iter().map(|(channel, about)| format!("{channel} {}", crate::words::name_of(trace, *about)));
        let names: Vec<String> = names.collect();
        if !names.is_empty() || !event.label.is_access() {
            let what = if names.is_empty() { event.label.word().to_owned() } else { names.join(", ") };
            row(event.thread, &what, event.place);
        }
    }
    for access in accesses {
        row(access.thread, &of(access), access.place);
    }
    text
}

fn word_of(what: Touching) -> &'static str {
    match what {
        Touching::Read => "read",
        Touching::Write => "write",
        Touching::AtomicRead => "atomic read",
        Touching::AtomicWrite => "atomic write",
        Touching::Use => "use",
        Touching::Free => "free",
        Touching::Make => "initialise or destroy",
        Touching::Mapping(change) => change.word(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTING: &str =
        "T1|w(y)|1\nT1|acq(m)|2\nT1|w(x)|3\nT1|rel(m)|4\nT2|acq(m)|5\nT2|w(x)|6\nT2|rel(m)|7\nT2|w(y)|8\n";

    #[test]
    fn a_trace_is_read_and_written() {
        let read = read(LISTING).unwrap();
        assert_eq!(read.trace.events.len(), 8);
        assert_eq!(read.places, ["1", "2", "3", "4", "5", "6", "7", "8"]);
        let again = write(&read.trace);
        let shape =
            |text: &str| text.lines().map(|line| line.rsplit_once('|').unwrap().0.to_lowercase()).collect::<Vec<_>>();
        assert_eq!(shape(&again), shape(LISTING));
    }

    /// Readers do not exclude each other, and a writer excludes all.
    #[test]
    fn a_rwlock_is_a_lock_for_each_reader() {
        let mut trace = read("T1|w(x)|1\nT2|w(x)|2\nT3|w(x)|3\n").unwrap().trace;
        let slot = trace.slot("l".into(), None);
        trace.accesses.clear();
        let ops = [SyncOp::ReadLock(slot), SyncOp::ReadLock(slot), SyncOp::WriteLock(slot)];
        trace.events.iter_mut().zip(ops).for_each(|(event, op)| event.op = op);
        let text = write(&trace);
        let events: Vec<&str> = text.lines().map(|line| line.rsplit_once('|').unwrap().0).collect();
        assert_eq!(events, ["t1|acq(l.t1)", "t2|acq(l.t2)", "t3|acq(l)", "t3|acq(l.t1)", "t3|acq(l.t2)"]);
    }

    /// RAPID reads locations as 32-bit integers.
    #[test]
    fn locations_are_small_numbers() {
        let mut read = read(LISTING).unwrap();
        let events = read.trace.events.iter_mut().map(|event| &mut event.place);
        for place in events.chain(read.trace.accesses.iter_mut().map(|access| &mut access.place)) {
            *place += 0x5555_0000_0000;
        }
        let text = write(&read.trace);
        let numbers: Vec<i32> = text.lines().map(|line| line.rsplit_once('|').unwrap().1.parse().unwrap()).collect();
        assert_eq!(numbers.len(), 8, "{text}");
        assert!(numbers.iter().all(|&number| (1..=8).contains(&number)), "{text}");
    }

    #[test]
    fn what_no_program_can_do_is_rejected_with_its_line() {
        for (text, line, words) in [
            ("T1|acq(m)|1\nT2|rel(m)|2", 2, "before it has acquired"),
            ("T1|rel(m)|1", 1, "before it has acquired"),
            ("T1|acq(m)|1\nT2|acq(m)|2", 2, "holds it"),
            ("T0|fork(T1)|1\nT0|join(T1)|2\nT1|w(x)|3", 3, "joined in line 2"),
            ("T0|fork(T1)|1\nT0|fork(T1)|2", 2, "second time"),
            ("T1|w(x)|1\nT0|fork(T1)|2", 2, "after its first event"),
            ("T0|join(T9)|1", 1, "no such"),
            ("T0|w(x)|1\n\nhello", 3, "expected"),
            ("T0|lock(m)|1", 1, "unknown operation"),
            ("T0|w()|1", 1, "object"),
            ("", 1, "no event"),
        ] {
            let error = read(text).unwrap_err();
            assert_eq!(error.line, line, "{text}: {error}");
            assert!(error.message.contains(words), "{text}: {error}");
        }
    }

    #[test]
    fn threads_have_names_of_their_own() {
        let read = read("T1|w(x)|1\nt1|w(x)|2\nt1_2|w(x)|3\nT1|w(x)|4").unwrap();
        let names: Vec<&str> = read.trace.threads.iter().map(|thread| thread.name.as_str()).collect();
        assert_eq!(names, ["t1", "t1_2", "t1_2_2"]);
    }

    #[test]
    fn recursive_locks_nest() {
        let read = read("T1|acq(m)|1\nT1|acq(m)|2\nT1|rel(m)|3\nT1|rel(m)|4\nT2|acq(m)|5").unwrap();
        let ops: Vec<SyncOp> = read.trace.events.iter().map(|event| event.op).collect();
        assert_eq!(ops, [SyncOp::Lock(0), SyncOp::Free, SyncOp::Free, SyncOp::Unlock(0), SyncOp::Lock(0)]);
    }
}
