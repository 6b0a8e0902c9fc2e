//! The result of a search: findings, verdict and figures, in the shape of the JSON report (schema
//! 1).
//!
//! The field names and their order are a contract with the readers of the report. A field that only
//! some findings have is left out where it is empty. All others are always there.

use raddle_vocab::OpKind;
use serde::{Deserialize, Serialize};

use crate::estimate::Estimate;
use crate::weak::MemoryModel;

/// Version of the shape.
pub const SCHEMA: u32 = 1;

/// Everything that one search found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Version of raddle.
    pub raddle: String,
    /// The program that was run.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Name of the strategy.
    pub strategy: String,
    /// `sync` or `access`.
    pub granularity: String,
    /// `all` or `race`.
    pub property: String,
    /// What reads may see.
    #[serde(default)]
    pub memory_model: MemoryModel,
    /// The outcome in a word.
    pub verdict: Verdict,
    /// Why the search is not complete, if it is not.
    pub reason: Option<Reason>,
    /// Figures.
    pub stats: Stats,
    /// What was not modelled.
    pub limits: Vec<String>,
    /// What was met and suppressed; races in it were searched as if they were atomic.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suppressed: Vec<String>,
    /// Code that raddle cannot see: files and libraries without its hooks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unseen: Vec<String>,
    /// What else a reader of the verdict should know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Of a program with test cases: what came of each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<TestVerdict>,
    /// What was found, in the order in which it was found.
    pub findings: Vec<Finding>,
}

/// What came of one test case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TestVerdict {
    /// Its name.
    pub name: String,
    /// The group of the framework that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suite: Option<String>,
    /// Its name within that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case: Option<String>,
    /// Where its report and witnesses are, below those of all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// The outcome.
    pub verdict: Verdict,
    /// Executions.
    pub executions: u64,
    /// Time.
    pub seconds: f64,
}

/// The outcome of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Nothing is wrong under any schedule.
    Verified,
    /// Something is wrong.
    Bug,
    /// Nothing was found, but not everything was looked at.
    Incomplete,
}

impl Verdict {
    /// Its word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Verified => "verified",
            Verdict::Bug => "bug",
            Verdict::Incomplete => "incomplete",
        }
    }
}

/// Why a search is not complete.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    /// A fixed word for machines.
    pub code: String,
    /// A sentence for people.
    pub text: String,
}

/// Figures of a search. Runs that confirm, minimise or check findings count in none of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stats {
    /// Runs that came to rest.
    pub executions: u64,
    /// Runs given up as redundant.
    pub blocked: u64,
    /// Runs ended by a false assume.
    pub assumed: u64,
    /// Runs stopped by a bound.
    pub cut: u64,
    /// Runs that reached a state below which everything was explored before; only in searches that
    /// recognise states.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub matched: u64,
    /// States that were remembered; only in searches that recognise states.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub states: u64,
    /// Searches that were made one after the other, if there were several; the other figures are
    /// those of the last one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<Phase>,
    /// Every schedule with at most so many preemptions was covered, in searches that did not end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preemptions_covered: Option<u32>,
    /// Runs of the whole search, as far as that can be told, in searches that did not end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<Estimate>,
    /// Transitions in all.
    pub transitions: u64,
    /// Everything recorded, in all.
    pub events: u64,
    /// Threads in one run, at most.
    pub threads: u64,
    /// Statuses that the program exited with, in increasing order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exits: Vec<i32>,
    /// Wall-clock time.
    pub seconds: f64,
    /// What pruning did.
    pub prune: Prune,
    /// What prediction did; only in reports of `predict`.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub prediction: Option<PredictionStats>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks by reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Stats {
    /// All runs.
    #[must_use]
    pub fn runs(&self) -> u64 {
        self.executions + self.matched + self.blocked + self.assumed + self.cut
    }

    /// The runs of all searches of the check.
    #[must_use]
    pub fn runs_in_all(&self) -> u64 {
        if self.phases.is_empty() { self.runs() } else { self.phases.iter().map(|phase| phase.runs).sum() }
    }

    /// Takes over the figures of another search, without new memory.
    pub fn copy_from(&mut self, other: &Stats) {
        let (mut phases, mut exits) = (std::mem::take(&mut self.phases), std::mem::take(&mut self.exits));
        phases.clone_from(&other.phases);
        exits.clone_from(&other.exits);
        *self = Stats { phases, exits, ..*other };
    }

    /// Adds the figures of the same search's next portion.
    pub fn extend(&mut self, next: &Stats) {
        self.executions += next.executions;
        self.blocked += next.blocked;
        self.assumed += next.assumed;
        self.cut += next.cut;
        self.matched += next.matched;
        self.states = self.states.max(next.states);
        self.transitions += next.transitions;
        self.events += next.events;
        self.include(next);
        self.prune = next.prune;
        self.estimate = next.estimate;
    }

    /// Adds what another search of the same program shows about the program.
    pub fn include(&mut self, other: &Stats) {
        self.threads = self.threads.max(other.threads);
        self.exits.extend(&other.exits);
        self.exits.sort_unstable();
        self.exits.dedup();
    }
}

/// The figures of one search as they are saved, before it has a report.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StatsRow {
    counts: [u64; 9],
    exits: Vec<i32>,
    prune: Prune,
    estimate: Option<Estimate>,
}

impl From<&Stats> for StatsRow {
    fn from(stats: &Stats) -> Self {
        let Stats { executions, blocked, assumed, cut, matched, states, transitions, events, threads, .. } = *stats;
        let counts = [executions, blocked, assumed, cut, matched, states, transitions, events, threads];
        StatsRow { counts, exits: stats.exits.clone(), prune: stats.prune, estimate: stats.estimate }
    }
}

impl From<StatsRow> for Stats {
    fn from(row: StatsRow) -> Self {
        let [executions, blocked, assumed, cut, matched, states, transitions, events, threads] = row.counts;
        let StatsRow { exits, prune, estimate, .. } = row;
        let stats = Stats {
            executions,
            blocked,
            assumed,
            cut,
            matched,
            states,
            transitions,
            events,
            threads,
            ..Stats::default()
        };
        Stats { exits, prune, estimate, ..stats }
    }
}

/// One of several searches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Phase {
    /// Its strategy.
    pub strategy: String,
    /// Its runs.
    pub runs: u64,
    /// What it found first.
    pub findings: u64,
}

/// Figures of the pruning strategies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prune {
    /// Tests whether a branch can be pruned.
    pub checks: u64,
    /// Tests that found the rest free of races.
    pub race_free: u64,
    /// Branches that were left out.
    pub skipped: u64,
    /// Accesses, made or possible, that conflict with one of another thread.
    pub conflicts: u64,
    /// Those of them that no lock keeps apart from it.
    pub races: u64,
}

/// Figures of `predict`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PredictionStats {
    /// Candidates.
    pub predicted: u64,
    /// Candidates whose witness was enforced on the program.
    pub confirmed: u64,
    /// Candidates that no schedule has.
    pub infeasible: u64,
    /// Candidates that neither was shown for.
    pub undecided: u64,
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// It makes the verdict a bug.
    Error,
    /// It is listed and changes no verdict.
    Warning,
}

/// What sort of defect was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Two accesses, at least one a write, that nothing orders.
    DataRace,
    /// Threads that wait for each other, or for what no thread will do.
    Deadlock,
    /// A failed assertion, an abort or an uncaught exception.
    Assertion,
    /// A fatal signal.
    Crash,
    /// The thread library was used against its rules.
    Misuse,
    /// A loop that no other thread can end.
    Livelock,
    /// The heap was used against its rules.
    Memory,
}

impl Kind {
    /// The word that the JSON report uses.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Kind::DataRace => "data-race",
            Kind::Deadlock => "deadlock",
            Kind::Assertion => "assertion",
            Kind::Crash => "crash",
            Kind::Misuse => "misuse",
            Kind::Livelock => "livelock",
            Kind::Memory => "memory",
        }
    }

    /// The letter that a finding's id starts with.
    #[must_use]
    pub fn letter(self) -> char {
        match self {
            Kind::DataRace => 'r',
            Kind::Deadlock => 'd',
            Kind::Assertion => 'a',
            Kind::Crash => 'c',
            Kind::Misuse => 'm',
            Kind::Livelock => 'l',
            Kind::Memory => 'h',
        }
    }
}

/// A place in the source.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Place {
    /// File, relative to the working directory where it lies inside it.
    pub file: Option<String>,
    /// Line, from 1.
    pub line: Option<u32>,
    /// Column, from 1.
    pub column: Option<u32>,
    /// Function, demangled.
    pub function: Option<String>,
}

/// One of the threads that a finding is about, and what it was doing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessReport {
    /// `T0` for main, `T1` for its first child, `T1.2` for the second child of that.
    pub thread: String,
    /// What the program calls the thread.
    pub name: Option<String>,
    /// `read`, `write`, `free`, `atomic-…`, or the operation that the thread waits in.
    pub op: String,
    /// Bytes accessed; 0 where that has no meaning.
    pub size: u64,
    /// The innermost frame in code of the program's own.
    pub place: Place,
    /// All frames, innermost first.
    pub stack: Vec<Place>,
    /// Locks held, by name, in the order of acquisition.
    pub locks: Vec<String>,
    /// The same locks with their modes, and where they were acquired.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held: Vec<HeldLock>,
    /// What a blocked thread waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<Wait>,
    /// First byte accessed, or that of the object that is waited for, as `0x…`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// The thread that created this one, and where.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created: Option<Created>,
}

/// A lock that a thread holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldLock {
    /// Its name.
    pub lock: String,
    /// Whether others may hold it at the same time: it was acquired for reading.
    pub shared: bool,
    /// Where it was acquired.
    pub place: Place,
}

/// How a thread came to life.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Created {
    /// Its creator.
    pub by: String,
    /// Where.
    pub place: Place,
}

/// What a blocked thread waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wait {
    /// Lock, condition variable, thread … by name.
    pub object: String,
    /// Threads that hold it.
    pub held_by: Vec<String>,
}

/// Where an object lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ObjectKind {
    /// A variable with static storage.
    Global,
    /// A heap block.
    Heap,
    /// A local variable of some thread.
    Stack,
    /// A thread-local variable.
    Tls,
}

/// The object that a finding is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectInfo {
    /// Where it lives.
    pub kind: ObjectKind,
    /// Name of the whole object, if it has one.
    pub name: Option<String>,
    /// Its size, if known.
    pub size: Option<u64>,
    /// Where in it the finding lies.
    pub offset: u64,
    /// Where a heap block came to life.
    pub allocated: Option<Place>,
}

/// How strong a witness is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WitnessKind {
    /// Both threads stand right before their accesses at the same time.
    Adjacent,
    /// The observed run up to the second access, which nothing orders after the first.
    Unordered,
}

/// One defect, however often it was met.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// Names it within the run: `r1`, `d1`, …
    pub id: String,
    /// How bad.
    pub severity: Severity,
    /// What sort.
    pub kind: Kind,
    /// What exactly, as a fixed word.
    pub detail: Option<String>,
    /// A sentence.
    pub message: String,
    /// The variable with field and index.
    pub variable: Option<String>,
    /// The object that the variable is or belongs to.
    pub object: Option<ObjectInfo>,
    /// The threads concerned; for a race the two accesses, first and second.
    pub accesses: Vec<AccessReport>,
    /// Executions that the search had finished when it met the finding.
    pub executions_before: u64,
    /// Preemptions in the witness.
    pub preemptions: u32,
    /// How strong the witness of a race is.
    pub witness_kind: Option<WitnessKind>,
    /// The file to replay.
    pub witness: Option<String>,
    /// The agent that ran the program (`--target`), which a replay needs as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Id of the finding that this one follows from; `None` if it follows from none, or others
    /// follow from it.
    #[serde(default)]
    pub group: Option<String>,
    /// What is behind it and the findings that follow from it, as a sentence; only where some do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// Whether a predicted finding was enforced on the program; only in reports of `predict`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmed: Option<bool>,
    /// The end of what the program wrote to standard error in the witness; only for an exit status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr: Option<String>,
    /// What the test framework says of the expectation that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expectation: Option<String>,
}

impl Finding {
    /// A finding of which no more is known than this. It has no id and no witness.
    #[must_use]
    pub fn new(severity: Severity, kind: Kind, accesses: Vec<AccessReport>) -> Finding {
        Finding {
            id: String::new(),
            severity,
            kind,
            detail: None,
            message: String::new(),
            variable: None,
            object: None,
            accesses,
            executions_before: 0,
            preemptions: 0,
            witness_kind: None,
            witness: None,
            target: None,
            group: None,
            cause: None,
            confirmed: None,
            stderr: None,
            expectation: None,
        }
    }

    /// The parts that tell it from other findings of its kind. A deadlock stays the same wherever a
    /// signal handler has interrupted its thread, and whichever threads join those that are stuck,
    /// unless the join is part of a cycle.
    #[must_use]
    pub fn telling(&self) -> Vec<&AccessReport> {
        let is_cycle = self.detail.as_deref() == Some("cycle");
        let counts = |access: &&AccessReport| {
            access.op != OpKind::HandlerReturn.word() && (is_cycle || access.op != OpKind::Join.word())
        };
        let told: Vec<&AccessReport> = self.accesses.iter().filter(counts).collect();
        if self.kind == Kind::Deadlock && !told.is_empty() { told } else { self.accesses.iter().collect() }
    }
}

/// Names findings: a letter for the kind and a number within the kind.
#[derive(Clone, Debug, Default)]
pub struct Numbering {
    used: std::collections::BTreeMap<char, u32>,
}

impl Numbering {
    /// The next id for a finding of this kind; warnings are numbered apart, as `w1`, `w2`, …
    pub fn next(&mut self, kind: Kind, severity: Severity) -> String {
        let letter = if severity == Severity::Warning { 'w' } else { kind.letter() };
        let number = self.used.entry(letter).or_insert(0);
        *number += 1;
        format!("{letter}{number}")
    }
}

/// The verdict and the status that the command ends with.
///
/// An error outweighs everything; with `warnings_count` (`--werror`) a warning counts as one.
/// Without an error, the verdict depends on whether the search is `complete`.
#[must_use]
pub fn verdict(findings: &[Finding], complete: bool, warnings_count: bool) -> Verdict {
    if findings.iter().any(|finding| warnings_count || finding.severity == Severity::Error) {
        Verdict::Bug
    } else if complete {
        Verdict::Verified
    } else {
        Verdict::Incomplete
    }
}
