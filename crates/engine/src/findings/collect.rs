//! Findings as they come: told apart, confirmed, written down and shown.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Instant;

use raddle_exec::recording::{RecordedProgram, Recording, Settings};
use raddle_model::defect::{Defect, DefectFinder, PartPosition, Signature};
use raddle_model::finding::{Finding, Kind, Numbering, Place, Severity, WitnessKind};
use raddle_model::{Execution, TargetError};
use raddle_report::annotated::AnnotatedTrace;
use raddle_report::suppress::Suppressions;
use raddle_report::symbols::Symbols;

use super::behind::{Behind, races_behind};
use super::builder::{FindingBuilder, at};
use super::closure::ThreadPosition;
use super::confirm::Confirmer;
use super::fewer::{FewerPreemptions, MANY};
use super::groups::{self, Circumstances, CircumstancesById, standings};
use super::orders::Orders;
use super::seen::Seen;
use super::witness::{Found, Witness, number_of};
use crate::directory::RunDirectory;
use crate::error::Error;
use crate::frameworks::{Expectation, Framework};
use crate::naming::SourceNames;
use crate::observer::Observer;
use crate::options::Property;

/// What tells two findings apart in the user's eyes: kind, variable, detail and lines, whatever the
/// instructions.
type Key = (Kind, Option<String>, Option<String>, Vec<(Option<String>, Option<u32>, Option<String>)>);

/// What the execution in which a finding was met first tells about its cause.
struct FirstMeeting {
    signature: Signature,
    sides: Vec<groups::Standing>,
    /// Races behind a race; `None` for a failure.
    behind: Option<BTreeSet<Signature>>,
}

/// Findings so far.
pub struct Collector<'a> {
    symbols: &'a Symbols,
    confirmer: Confirmer,
    directory: &'a RunDirectory,
    property: Property,
    seen: Seen,
    /// Of a program that is observed: whether the orders of its atomic operations matter.
    pub orders: Orders,
    /// Looks for witnesses with fewer preemptions.
    fewer: FewerPreemptions,
    /// Preemptions that a witness may have.
    preemptions: Option<u32>,
    finder: DefectFinder,
    /// Whose words findings show.
    framework: Option<Framework>,
    signatures: BTreeSet<Signature>,
    /// The finding that each key stands for, by index; `None` if it was not reported.
    keys: BTreeMap<Key, Option<usize>>,
    /// The same by signature.
    reported: BTreeMap<Signature, usize>,
    numbering: Numbering,
    behind: Behind,
    /// How the threads of races stood, and what lay behind them, by index of the finding.
    met: BTreeMap<usize, FirstMeeting>,
    /// What not to report.
    pub suppressions: Suppressions,
    /// What was not reported for that reason, in words.
    pub suppressed: Vec<String>,
    /// Return addresses of the accesses of suppressed races.
    pub benign: Vec<u64>,
    /// Whether the execution that was met last has told something new.
    pub is_told: bool,
    /// What was met when there was no time left to run its witness, in words.
    pub open: Vec<String>,
    /// In the order in which they were met.
    pub findings: Vec<Finding>,
    /// What was met, but did not show when its witness was run: sentences that say what to send.
    pub unreproduced: Vec<String>,
}

impl<'a> Collector<'a> {
    /// Nothing found yet.
    pub fn new(symbols: &'a Symbols, confirmer: Confirmer, directory: &'a RunDirectory, property: Property) -> Self {
        Collector {
            symbols,
            confirmer,
            directory,
            property,
            seen: Seen::default(),
            orders: Orders::default(),
            fewer: FewerPreemptions::default(),
            preemptions: None,
            finder: DefectFinder::allowing(&[]),
            framework: None,
            signatures: BTreeSet::new(),
            keys: BTreeMap::new(),
            reported: BTreeMap::new(),
            numbering: Numbering::default(),
            behind: Behind::default(),
            met: BTreeMap::new(),
            suppressions: Suppressions::default(),
            suppressed: Vec::new(),
            benign: Vec::new(),
            is_told: false,
            open: Vec::new(),
            findings: Vec::new(),
            unreproduced: Vec::new(),
        }
    }

    /// What an object of an execution is called, which `event` uses. A local variable is named by
    /// the stacks of the run, which is made again up to there.
    pub fn name_in(&mut self, execution: &Execution, address: u64, event: usize) -> String {
        let named = FindingBuilder::new(self.symbols, execution, None).named(address);
        if let Some(name) = named {
            return name;
        }
        let names = SourceNames::new(self.symbols, execution);
        let found = Found::new(execution, self.confirmer.options().spurious, &names);
        let run = found.stopped_before_event(event, &mut self.confirmer).ok().filter(|run| run.followed);
        let named =
            run.and_then(|run| FindingBuilder::new(self.symbols, &run.execution, Some(&run.detail)).named(address));
        named.unwrap_or_else(|| "an object without a name".into())
    }

    /// Where the finding says that a thread hangs whose last known place this is.
    pub fn place_of_hang(&self, pc: u64) -> Place {
        let is_it = |signature: &&Signature| signature.kind == Kind::Crash && signature.places == [pc];
        let told = self.reported.keys().find(is_it).and_then(|signature| self.findings.get(self.reported[signature]));
        told.and_then(|finding| finding.accesses.first()).map_or_else(
            || if pc == 0 { Place::default() } else { self.symbols.place(&[pc]) },
            |access| access.place.clone(),
        )
    }

    /// Runs no witness after this time.
    pub fn until(&mut self, deadline: Option<Instant>) {
        self.confirmer.until(deadline);
    }

    /// Allows no witness with more preemptions than that.
    #[must_use]
    pub fn bounded(self, preemptions: Option<u32>) -> Self {
        Collector { preemptions, ..self }
    }

    /// Takes no exit status for wrong but those that are neither 0 nor among these.
    #[must_use]
    pub fn allowing(self, exits: &[i32]) -> Self {
        Collector { finder: DefectFinder::allowing(exits), ..self }
    }

    /// Tells failed expectations in the words of this framework.
    #[must_use]
    pub fn with_framework(self, framework: Option<Framework>) -> Self {
        Collector { framework, ..self }
    }

    /// Takes a program that only waits for more clients for one that has ended, or not.
    #[must_use]
    pub fn until_idle(self, until_idle: bool) -> Self {
        Collector { finder: self.finder.until_idle(until_idle), ..self }
    }

    /// Reports only what is shown by what is seen of the program.
    #[must_use]
    pub fn seeing(self, seen: Seen) -> Self {
        Collector { seen, ..self }
    }

    /// Takes findings back that were made before runs showed that they may be none.
    pub fn retract(&mut self) {
        self.findings.retain(|finding| self.seen.shows(finding.kind));
    }

    /// Whether a held lock was overwritten in the execution that was met last, and threads could
    /// compete for it.
    pub fn has_overwritten_lock(&self) -> bool {
        self.finder.has_overwritten_lock()
    }

    /// Whether an error was found.
    pub fn has_error(&self) -> bool {
        self.findings.iter().any(|finding| finding.severity == Severity::Error)
    }

    /// Takes what is new in an execution, and tells the observer each finding with its schedule.
    /// Returns the indices of the new findings. What its witness does not show again is none.
    pub fn meet(
        &mut self,
        execution: &Execution,
        executions_before: u64,
        observer: &mut dyn Observer,
    ) -> Result<Vec<usize>, Error> {
        let mut all = self.finder.find(execution);
        let is_race = |defect: &Defect| defect.signature.kind == Kind::DataRace;
        let are_news = self.seen.is_observed() && !all.iter().any(is_race) && self.orders.learn(execution);
        all.retain(|defect| {
            let (kind, detail) = (defect.signature.kind, defect.signature.detail);
            is_wanted(self.property, kind, detail) && self.seen.shows(kind)
        });
        let news = self.behind.learn(execution, &all);
        let is_fresh = |defect: &&Defect| self.signatures.insert(defect.signature.clone());
        let fresh: Vec<Defect> = all.iter().filter(is_fresh).cloned().collect();
        self.is_told = news || are_news || !fresh.is_empty();
        let collected = if fresh.is_empty() {
            Vec::new()
        } else {
            self.collect(execution, &fresh, &all, executions_before, observer)?
        };
        if news || !collected.is_empty() {
            self.group();
            observer.grouped(&self.findings, true);
        }
        Ok(collected)
    }

    /// The finding that stands for a defect, if it was reported.
    pub fn finding_of(&mut self, signature: &Signature) -> Option<&mut Finding> {
        let index = *self.reported.get(signature)?;
        self.findings.get_mut(index)
    }

    /// Says of each finding which one it follows from.
    fn group(&mut self) {
        let id = |signature: &Signature| Some(self.findings[*self.reported.get(signature)?].id.clone());
        let mut facts = CircumstancesById::new();
        for (&index, met) in &self.met {
            let sets = met.behind.iter().chain(self.behind.of(&met.signature));
            let behind = sets.map(|set| set.iter().filter_map(id).collect()).collect();
            facts.insert(self.findings[index].id.clone(), Circumstances { sides: met.sides.clone(), behind });
        }
        groups::assign(&mut self.findings, &facts);
    }

    /// Makes findings of what is new in an execution with these defects.
    fn collect(
        &mut self,
        execution: &Execution,
        fresh: &[Defect],
        all: &[Defect],
        executions_before: u64,
        observer: &mut dyn Observer,
    ) -> Result<Vec<usize>, Error> {
        let mut collected = Vec::new();
        let spurious = self.confirmer.options().spurious;
        let found = Found::new(execution, spurious, &SourceNames::new(self.symbols, execution));
        let found = found.bounded(self.preemptions);
        for defect in fresh {
            let preview = FindingBuilder::new(self.symbols, execution, None).finding(defect);
            let key = key(&preview);
            if let Some(known) = self.keys.get(&key) {
                self.reported.extend(known.map(|index| (defect.signature.clone(), index)));
                continue;
            }
            self.keys.insert(key.clone(), None);
            let message = preview.message.clone();
            let confirmed = match all.len() {
                1 => self.confirm_briefly(&found, defect, preview),
                // What follows from what is told from this execution, in which they came together.
                _ => self.confirm(&found, defect, preview),
            };
            if let Err(Error::Target(TargetError::Late)) = confirmed {
                self.open.push(message);
            }
            let (mut finding, witness, mut trace) = confirmed?;
            if self.suppressions.suppresses(&finding).is_some() {
                self.suppress(&finding, defect);
                continue;
            }
            // Stale words may lead to a lost block in one run and not in another.
            if !witness.confirmed && finding.detail.as_deref() == Some("leak") {
                continue;
            }
            if !witness.confirmed {
                self.set_aside(&mut finding, &witness)?;
                continue;
            }
            finding.id = self.numbering.next(finding.kind, finding.severity);
            finding.executions_before = executions_before;
            self.add_words(&mut finding, &witness)?;
            self.note_dependence(&mut finding);
            self.save(&mut finding, &witness)?;
            // The witness is the same wherever the program runs.
            finding.target = self.confirmer.options().remote.as_ref().map(|program| program.agent());
            trace.keep_code(&finding);
            self.directory.save_trace(&finding.id, &trace)?;
            let index = self.findings.len();
            collected.push(index);
            self.keys.insert(key, Some(index));
            self.reported.insert(defect.signature.clone(), index);
            self.met.insert(index, FirstMeeting::of(execution, defect, all));
            self.findings.push(finding.clone());
            observer.finding(&finding, &trace);
            // The next one may take long, and the check may end meanwhile.
            self.group();
            observer.grouped(&self.findings, false);
        }
        Ok(collected)
    }

    /// What the program, or its test framework, says at the end of a run that fails.
    fn add_words(&self, finding: &mut Finding, witness: &Witness) -> Result<(), Error> {
        let is_status = finding.detail.as_deref() == Some("exit-status");
        let is_exception = finding.detail.as_deref() == Some("exception");
        if !(is_status || is_exception && self.framework.is_some()) {
            return Ok(());
        }
        let files = self.directory.path().join(&finding.id);
        let written = self.confirmer.written(&witness.entries, &files)?;
        let find = |framework: Framework| {
            framework.expectation(&written.output).or_else(|| framework.expectation(&written.error))
        };
        match self.framework.and_then(find) {
            Some(expectation) => tell_expectation(finding, &expectation),
            None if is_status => finding.stderr = Some(written.end_of_error()),
            None => {}
        }
        Ok(())
    }

    /// Keeps the schedule of something that did not show again.
    fn set_aside(&mut self, finding: &mut Finding, witness: &Witness) -> Result<(), Error> {
        finding.id = format!("u{}", self.unreproduced.len() + 1);
        self.save(finding, witness)?;
        self.unreproduced.push(format!(
            "this was met once and does not show again when its schedule is run: {} (the program does not do the same \
             twice, or raddle has a bug; please send the program and {})",
            finding.message,
            self.directory.witness(&finding.id).display()
        ));
        Ok(())
    }

    /// Notes what is not reported. The accesses of a race become scheduling points, so that the
    /// search stays complete.
    fn suppress(&mut self, finding: &Finding, defect: &Defect) {
        self.suppressed.push(finding.message.clone());
        let known = &self.confirmer.options().benign;
        if self.seen.is_observed() {
            return self.seen.name_suppression();
        }
        // No access to memory that has ended is one step with what it may meet there.
        const ENDS: [&str; 5] = ["use-after-free", "use-after-unmap", "use-after-return", "protection", "replaced"];
        if finding.kind == Kind::DataRace && finding.detail.as_deref().is_none_or(|detail| !ENDS.contains(&detail)) {
            let fresh = defect.parts.iter().map(|part| part.pc).filter(|pc| !known.contains(pc));
            self.benign.extend(fresh);
        }
    }

    /// Finds a witness and tells the finding. If that has many preemptions, another execution is
    /// looked for that shows the same defect with fewer.
    fn confirm_briefly(
        &mut self,
        found: &Found<'_>,
        defect: &Defect,
        preview: Finding,
    ) -> Result<(Finding, Witness, AnnotatedTrace), Error> {
        let first = self.confirm(found, defect, preview)?;
        let (_, witness, _) = &first;
        if !witness.confirmed || witness.preemptions < MANY {
            return Ok(first);
        }
        let finder = &mut self.finder;
        let mut shows = |run: &Execution| same_defect(finder, run, &defect.signature).is_some();
        let Some(execution) = self.fewer.search(&self.confirmer, witness.preemptions, &mut shows) else {
            return Ok(first);
        };
        let Some(same) = same_defect(&mut self.finder, &execution, &defect.signature) else { return Ok(first) };
        let names = SourceNames::new(self.symbols, &execution);
        let found = Found::new(&execution, self.confirmer.options().spurious, &names).bounded(self.preemptions);
        let preview = FindingBuilder::new(self.symbols, &execution, None).finding(&same);
        let second = match self.confirm(&found, &same, preview) {
            // The first one is there.
            Err(Error::Target(TargetError::Late)) => return Ok(first),
            second => second?,
        };
        // What other findings follow from it is told by its threads, which stay the same.
        let threads = |finding: &Finding| -> Vec<String> {
            finding.accesses.iter().map(|access| access.thread.clone()).collect()
        };
        let is_better = second.1.confirmed
            && threads(&second.0) == threads(&first.0)
            && second.1.preemptions < first.1.preemptions
            && (second.1.kind == first.1.kind || second.1.kind == Some(WitnessKind::Adjacent));
        Ok(if is_better { second } else { first })
    }

    /// Finds a witness and tells the finding from the run that confirmed it, which has stacks.
    fn confirm(
        &mut self,
        found: &Found<'_>,
        defect: &Defect,
        preview: Finding,
    ) -> Result<(Finding, Witness, AnnotatedTrace), Error> {
        if let Some(race) = &defect.race {
            let witness = match self.seen.is_observed() {
                false => found.race(race, &mut self.confirmer)?,
                // No thread can be stopped before an access: the run has to show the race again.
                true => {
                    let finder = &mut self.finder;
                    let mut shows = |run: &Execution| same_defect(finder, run, &defect.signature).is_some();
                    let points = points(found.execution, defect);
                    found.to_the_end(&points, &mut self.confirmer, &mut shows)?
                }
            };
            let (finding, trace) = self.tell_race(found, defect, &witness, preview);
            return Ok((finding, witness, trace));
        }
        let finder = &mut self.finder;
        let mut shows = |run: &Execution| same_defect(finder, run, &defect.signature).is_some();
        let witness = found.to_the_end(&points(found.execution, defect), &mut self.confirmer, &mut shows)?;
        let again = same_defect(&mut self.finder, &witness.run.execution, &defect.signature);
        let builder = FindingBuilder::new(self.symbols, &witness.run.execution, Some(&witness.run.detail));
        let mut finding = again.as_ref().map_or(preview, |again| builder.finding(again));
        if let Some(stack) = self.stack_of_access(&witness, again.as_ref())? {
            finding.accesses[0].stack = self.symbols.stack(&stack);
            finding.accesses[0].place = self.symbols.place(&stack);
        }
        finding.preemptions = witness.preemptions;
        let (steps, ends) = end_of_schedule(&witness, again.as_ref());
        let mut trace = builder.trace(steps, self.confirmer.options().spurious);
        builder.add_ends(&mut trace, &finding, &ends);
        Ok((finding, witness, trace))
    }

    /// The stack of the access that a defect of the witness run is about: the run is made once
    /// more, and stops there.
    fn stack_of_access(&mut self, witness: &Witness, defect: Option<&Defect>) -> Result<Option<Vec<u64>>, Error> {
        // A leak has no access; the stack of an allocation is recorded.
        let stops = !self.seen.is_observed();
        let is_access =
            |defect: &&Defect| stops && defect.signature.kind == Kind::Memory && defect.signature.detail != "leak";
        let part = defect.filter(is_access).map(|defect| &defect.parts[0]);
        let Some((part, PartPosition::Access(number))) = part.map(|part| (part, part.position)) else {
            return Ok(None);
        };
        let run = &witness.run.execution;
        let names = SourceNames::new(self.symbols, run);
        let found = Found::new(run, self.confirmer.options().spurious, &names);
        let stopped = found.stopped_before(&run.accesses[number as usize], &mut self.confirmer)?;
        let stack = stopped.detail.threads.get(usize::from(part.thread)).cloned();
        Ok(stack.filter(|stack| stack.first() == Some(&part.pc)))
    }

    /// A race is told from the search's execution, in which it was met, with the stacks of the
    /// witness run.
    fn tell_race(
        &self,
        found: &Found<'_>,
        defect: &Defect,
        witness: &Witness,
        mut finding: Finding,
    ) -> (Finding, AnnotatedTrace) {
        let run = &witness.run;
        let builder = FindingBuilder::new(self.symbols, &run.execution, Some(&run.detail));
        let met = FindingBuilder::new(self.symbols, found.execution, None);
        let mut ends = Vec::new();
        for (access, part) in finding.accesses.iter_mut().zip(&defect.parts) {
            let path = &found.execution.threads[usize::from(part.thread)].path;
            let Some(number) = number_of(&run.execution, path) else { continue };
            ends.push(number);
            // The stack of a thread that does not stand at its access would mislead.
            let stack = run.detail.threads.get(usize::from(number));
            let stands = stack.is_some_and(|stack| stack.first() == Some(&part.pc));
            if stands {
                builder.tell_thread(access, number);
            } else {
                builder.tell_earlier(access, number, &met.locks(part));
            }
            if let Some(stack) = stack.filter(|stack| stack.first() == Some(&part.pc)) {
                let said = |place| format!("{} by {} at {}", access.op, access.thread, at(place));
                let (before, place) = (said(&access.place), self.symbols.place(stack));
                finding.message = finding.message.replacen(&before, &said(&place), 1);
                access.stack = self.symbols.stack(stack);
                access.place = place;
            }
        }
        finding.preemptions = witness.preemptions;
        finding.witness_kind = witness.kind;
        builder.rename(&mut finding);
        let mut trace = builder.trace(witness.entries.len(), self.confirmer.options().spurious);
        // A run that goes to its end has made the accesses.
        if ends.len() == finding.accesses.len() && !self.seen.is_observed() {
            builder.add_ends(&mut trace, &finding, &ends);
        }
        (finding, trace)
    }

    /// A race that cannot be shown with both threads side by side depends on an earlier one.
    fn note_dependence(&self, finding: &mut Finding) {
        if finding.witness_kind == Some(WitnessKind::Unordered) {
            let earlier = self.findings.iter().find(|earlier| earlier.kind == Kind::DataRace);
            if let Some(earlier) = earlier {
                finding.message += &format!(" (depends on how {} ends)", earlier.id);
            }
        }
    }

    fn save(&self, finding: &mut Finding, witness: &Witness) -> Result<(), Error> {
        let path = self.directory.witness(&finding.id);
        finding.witness = Some(path.to_string_lossy().into_owned());
        let options = self.confirmer.options();
        let wrong = |error| Error::recording(&path, error);
        let recording = Recording {
            program: RecordedProgram::of(options).map_err(wrong)?,
            settings: Settings::of(options, self.confirmer.max_events()),
            schedule: witness.entries.clone(),
            finding: serde_json::to_value(&*finding).ok(),
            execution: None,
        };
        recording.save(Path::new(&path)).map_err(wrong)
    }
}

impl FirstMeeting {
    fn of(execution: &Execution, defect: &Defect, all: &[Defect]) -> Self {
        let behind = defect.race.map(|_| races_behind(execution, defect, all));
        FirstMeeting { signature: defect.signature.clone(), sides: standings(execution, defect), behind }
    }
}

/// Tells a failure as the framework does, at the place of the expectation.
fn tell_expectation(finding: &mut Finding, expectation: &Expectation) {
    /// Characters of the sentence in the headline.
    const LONGEST: usize = 160;
    let here = Place { file: Some(expectation.file.clone()), line: Some(expectation.line), ..Place::default() };
    let mut sentence = expectation.sentence();
    if let Some((end, _)) = sentence.char_indices().nth(LONGEST) {
        sentence.truncate(end);
        sentence.push('…');
    }
    finding.message = format!("failed expectation at {}: {sentence}", at(&here));
    finding.expectation = Some(expectation.text.clone());
    // An exception leaves from the expectation; the status is that of main.
    if let Some(access) = finding.accesses.first_mut().filter(|_| finding.detail.as_deref() == Some("exit-status")) {
        access.place = here;
    }
}

fn key(finding: &Finding) -> Key {
    let line = |place: &Place| {
        // Without debug information the function, which then has an offset, is all there is.
        let function = place.line.is_none().then(|| place.function.clone()).flatten();
        (place.file.clone(), place.line, function)
    };
    let mut places: Vec<_> = finding.telling().into_iter().map(|access| line(&access.place)).collect();
    places.sort();
    places.dedup();
    // One line may both read and write, so that it is the same race under two words.
    let detail = finding.detail.clone().filter(|_| finding.kind != Kind::DataRace);
    (finding.kind, finding.variable.clone(), detail, places)
}

fn same_defect(finder: &mut DefectFinder, execution: &Execution, signature: &Signature) -> Option<Defect> {
    finder.find(execution).into_iter().find(|defect| defect.signature == *signature)
}

/// Where the threads of a defect stand when it shows.
fn points(execution: &Execution, defect: &Defect) -> Vec<ThreadPosition> {
    let mut points: Vec<ThreadPosition> = Vec::new();
    for part in &defect.parts {
        let (thread, end) = (part.thread, execution.events.len() as u32);
        let before = match part.position {
            PartPosition::Access(number) => execution.accesses[number as usize].after,
            PartPosition::Event(number) => number + 1,
            PartPosition::Pending => end,
            PartPosition::Incident(number) => {
                let after = execution.incidents[number as usize].after;
                // A misuse shows in the operation itself, which the thread makes next.
                let next = (after as usize..end as usize).find(|&at| execution.events[at].thread == thread);
                next.map_or(after, |next| next as u32 + 1)
            }
        };
        match points.iter_mut().find(|point| point.thread == thread) {
            Some(point) => point.before = point.before.max(before),
            None => points.push(ThreadPosition { thread, before, access: None }),
        }
    }
    points
}

/// How much of the run belongs to the schedule that is shown, and whose last words follow.
fn end_of_schedule(witness: &Witness, defect: Option<&Defect>) -> (usize, Vec<u16>) {
    let Some(defect) = defect else { return (witness.entries.len(), Vec::new()) };
    let mut steps = 0;
    let mut ends = Vec::new();
    for part in &defect.parts {
        match part.position {
            PartPosition::Incident(number) => {
                steps = steps.max(witness.run.execution.incidents[number as usize].after as usize);
                ends.push(part.thread);
            }
            PartPosition::Pending => {
                // Behind the schedule of a cycle, nothing changes it any more. A thread that sleeps
                // may have been passed over there.
                let all = witness.run.execution.events.len();
                let is_cycle = defect.signature.detail == "cycle";
                steps = if is_cycle { all.min(witness.entries.len()) } else { all };
                ends.push(part.thread);
            }
            PartPosition::Event(number) => steps = steps.max(number as usize + 1),
            PartPosition::Access(_) => {}
        }
    }
    (steps, if ends.len() == defect.parts.len() { ends } else { Vec::new() })
}

/// Whether a defect is of the sort that is looked for.
fn is_wanted(property: Property, kind: Kind, detail: &str) -> bool {
    match property {
        Property::All => true,
        Property::Race => kind == Kind::DataRace,
        Property::Reach => kind == Kind::Assertion && detail == "assert",
    }
}
