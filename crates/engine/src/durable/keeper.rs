//! Writes the journal of a check.

use std::time::{Duration, Instant};

use raddle_exec::Options;
use raddle_journal::{Journal, Record};
use raddle_model::Execution;

use super::{CheckRow, Durability, Identity, JOURNAL, RoundRow, SavedCheck, kind};
use crate::error::Error;
use crate::options::CheckOptions;

/// Between two records, at least.
const PERIOD: Duration = Duration::from_secs(1);
/// A record is followed by so many times the time that it took.
const SHARE: u32 = 80;

/// Keeps a check in its journal.
pub(crate) struct Keeper {
    durability: Durability,
    options: CheckOptions,
    /// How targets are started.
    target: Options,
    identity: Option<Identity>,
    journal: Option<Journal>,
    /// Nothing is written before.
    from: Instant,
    /// When the next record is due.
    next: Instant,
    /// When the record under way was asked for.
    asked: Instant,
    period: Duration,
    begun: Instant,
    /// What earlier commands spent on the check.
    elapsed: Duration,
    is_off: bool,
    round: RoundRow,
    example: Option<Vec<u8>>,
    meetings: Vec<Vec<u8>>,
    /// How many of them are in the file, and whether the example is.
    written: usize,
    is_example_written: bool,
    /// Whether the file has to be written anew: its records belong to another search.
    is_stale: bool,
}

impl Keeper {
    pub fn new(durability: Durability, options: &CheckOptions, target: &Options) -> Self {
        let now = Instant::now();
        let from = now + durability.after;
        let period = period();
        Keeper {
            durability,
            options: options.clone(),
            target: target.clone(),
            identity: None,
            journal: None,
            from,
            next: from,
            asked: now,
            period,
            begun: now,
            elapsed: Duration::ZERO,
            is_off: false,
            round: RoundRow::default(),
            example: None,
            meetings: Vec::new(),
            written: 0,
            is_example_written: false,
            is_stale: true,
        }
    }

    /// Takes over the journal of the check that goes on. No other process may write it meanwhile.
    pub fn take_over(&mut self, identity: Identity, elapsed: Duration) -> Result<(), Error> {
        (self.identity, self.elapsed) = (Some(identity), elapsed);
        (self.from, self.next) = (self.begun, self.begun + self.period);
        self.open()
    }

    /// What the check has lasted, in all commands.
    pub fn elapsed(&self) -> Duration {
        self.elapsed + self.begun.elapsed()
    }

    /// A search begins from its start. If it is durable from there on, that is written. What the
    /// user should know is returned as a sentence.
    pub fn begin(&mut self, round: RoundRow) -> Option<String> {
        self.target.benign.clone_from(&round.benign);
        self.round = round;
        (self.example, self.is_stale) = (None, true);
        self.meetings.clear();
        if self.journal.is_some() || self.is_off || !self.durability.after.is_zero() {
            return None;
        }
        if let Err(error) = self.open() {
            self.is_off = true;
            return Some(format!("the search is not durable: {error}"));
        }
        let records = self.first_records()?;
        self.journal.as_mut()?.rewrite(records);
        None
    }

    /// What every journal begins with.
    fn first_records(&self) -> Option<Vec<Record>> {
        let round = postcard::to_stdvec(&self.round).unwrap_or_default();
        let identity = Record { kind: kind::IDENTITY, contents: self.identity.as_ref()?.to_bytes() };
        Some(vec![identity, Record { kind: kind::ROUND, contents: round }])
    }

    /// An execution that objects are named by.
    pub fn example(&mut self, execution: &Execution) {
        if !self.is_off {
            self.example = postcard::to_stdvec(execution).ok();
        }
    }

    /// An execution that told something.
    pub fn met(&mut self, execution: &Execution, before: u64) {
        if !self.is_off
            && let Ok(bytes) = postcard::to_stdvec(&(before, execution))
        {
            self.meetings.push(bytes);
        }
    }

    /// Whether records are written from now on.
    pub fn is_durable(&self) -> bool {
        !self.is_off && Instant::now() >= self.from
    }

    /// Whether a record is due. `is_last`: the search ends here.
    pub fn is_due(&mut self, is_last: bool) -> bool {
        if self.is_off {
            return false;
        }
        let now = Instant::now();
        let is_time = if is_last { now >= self.from } else { now >= self.next };
        let mut is_busy = || self.journal.as_mut().is_some_and(Journal::is_busy);
        let is_due = is_time && (is_last || !is_busy());
        if is_due {
            self.asked = now;
        }
        is_due
    }

    /// Writes a record. What the user should know is returned as a sentence.
    pub fn keep(&mut self, check: &SavedCheck) -> Option<String> {
        if let Err(error) = self.open() {
            self.is_off = true;
            return Some(format!("the search is not durable: {error}"));
        }
        let row = CheckRow {
            elapsed: self.elapsed(),
            runs_before: check.runs_before,
            has_overwritten_lock: check.has_overwritten_lock,
            target: check.target.clone(),
            meetings: self.meetings.len() as u64,
            has_example: self.example.is_some(),
            lengths: [&check.outer, &check.search, &check.knowledge].map(|bytes| bytes.len() as u64),
        };
        let mut contents = postcard::to_stdvec(&row).unwrap_or_default();
        for bytes in [&check.outer, &check.search, &check.knowledge] {
            contents.extend(bytes);
        }
        let failure = self.write(Record { kind: kind::CHECK, contents });
        let journal_cost = self.journal.as_ref().map_or(Duration::ZERO, Journal::cost);
        let now = Instant::now();
        self.next = now + self.period.max((now - self.asked + journal_cost) * SHARE);
        failure
    }

    /// Opens the journal, if it is not open yet.
    fn open(&mut self) -> Result<(), Error> {
        if self.journal.is_some() {
            return Ok(());
        }
        if self.identity.is_none() {
            self.identity = Some(Identity::of(&self.durability, &self.options, &self.target)?);
        }
        let directory = &self.durability.directory;
        let journal = Journal::open(directory, JOURNAL);
        self.journal = Some(journal.map_err(|error| Error::file(directory, std::io::Error::other(error.what)))?);
        Ok(())
    }

    fn write(&mut self, check: Record) -> Option<String> {
        let first = self.first_records()?;
        let journal = self.journal.as_mut()?;
        journal.is_busy();
        let failure = journal.failure().cloned();
        if let Some(failure) = failure {
            self.is_off = true;
            return Some(format!("the search is not durable any more: its journal cannot be written ({failure})"));
        }
        let example = |bytes: &Vec<u8>| Record { kind: kind::EXAMPLE, contents: bytes.clone() };
        let meeting = |bytes: &Vec<u8>| Record { kind: kind::MEETING, contents: bytes.clone() };
        let needed = check.contents.len() + self.meetings.iter().map(Vec::len).sum::<usize>();
        let mut records = Vec::new();
        if self.is_stale || journal.is_wasteful(needed as u64) {
            records = first;
            records.extend(self.example.iter().map(example));
            records.extend(self.meetings.iter().map(meeting));
            records.push(check);
            journal.rewrite(records);
        } else {
            records.extend(self.example.iter().filter(|_| !self.is_example_written).map(example));
            records.extend(self.meetings[self.written..].iter().map(meeting));
            records.push(check);
            journal.append(records);
        }
        (self.written, self.is_example_written) = (self.meetings.len(), self.example.is_some());
        self.is_stale = false;
        None
    }

    /// The check ends: waits until everything is written.
    pub fn finish(self) -> Option<String> {
        let mut journal = self.journal?;
        journal.wait();
        let failure = journal.failure().filter(|_| !self.is_off)?;
        Some(format!("the search is not durable any more: its journal cannot be written ({failure})"))
    }
}

/// Between two records, at least; tests want more of them.
fn period() -> Duration {
    let wanted = || std::env::var("RADDLE_TEST_JOURNAL_PERIOD").ok()?.parse().ok();
    let wanted = if cfg!(debug_assertions) { wanted() } else { None };
    wanted.map_or(PERIOD, Duration::from_millis)
}
