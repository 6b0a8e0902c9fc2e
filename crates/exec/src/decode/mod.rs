//! Records become an execution.
//!
//! The only place where wire becomes model. The words come from a process that may have written
//! anything: every number is checked before it is used, decoding is linear in the number of words,
//! and a trace that makes no sense is an error with the place where it stopped making sense, never
//! a panic.

mod detail;
mod records;
#[cfg(test)]
mod tests;
mod thread;

use raddle_model::object::{OpTraits, UnpackError};
use raddle_model::{
    Access, AccessKind, EventName, Execution, FailingValue, HeldRead, Incident, IncidentKind, Pending, PendingState,
    ThreadInfo,
};
use raddle_vocab::handler;
use raddle_vocab::party::Party;
use raddle_vocab::policy::MAX_THREADS;
use raddle_vocab::{Failure, Misuse, OpKind, RunStatus};
use raddle_wire::record::{self, flag};
use rustc_hash::FxHashMap;

use detail::StackOwner;
pub use detail::{Detail, Parked};
pub use records::plain_accesses;
use records::{Header, access_of, atomic_detail, key, parse_event, text, unknown_pending};
use thread::{CachedEvent, Effect, Role, ThreadDecoder, ThreadProgress};

/// What is wrong with a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("word {at} of the trace: {kind}")]
pub struct DecodeError {
    /// Number of the first word of the record.
    pub at: usize,
    /// What is wrong with it.
    pub kind: DecodeErrorKind,
}

/// Ways in which a record can be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages are the documentation")]
pub enum DecodeErrorKind {
    #[error("there is no record of kind {0}")]
    Kind(u8),
    #[error("the record goes beyond the end of the trace")]
    Truncated,
    #[error("there is no thread {0} yet")]
    Thread(u64),
    #[error("a new thread has number {0} instead of the next one")]
    ThreadNumber(u64),
    #[error("more than {MAX_THREADS} threads")]
    TooManyThreads,
    #[error("{0} is created a second time, or not by main")]
    Party(Party),
    #[error("there is no memory order {0}")]
    Order(u8),
    #[error("there is no outcome {0}")]
    Outcome(u8),
    #[error("an access of 2^{0} bytes")]
    Size(u8),
    #[error("there is no failure {0}")]
    Failure(u16),
    #[error("there is no misuse {0}")]
    Misuse(u16),
    #[error("a second pending operation of thread {0}")]
    SecondPending(u16),
    #[error("thread {0} goes on after its pending operation")]
    AfterPending(u16),
    #[error("thread {0} has no pending operation")]
    NoPending(u16),
    #[error("a text of {0} bytes belongs to a record of another length")]
    Text(u64),
    #[error("a text that belongs to nothing")]
    StrayText,
    #[error(transparent)]
    Operation(#[from] UnpackError),
    #[error("a detail of an atomic operation that belongs to none")]
    StrayDetail,
    #[error("the number of accesses of thread {0} goes backwards")]
    Count(u16),
}

/// What is known about a run besides its trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunResult {
    /// How it ended.
    pub status: RunStatus,
    /// Status of the process, if it exited.
    pub exit: Option<i32>,
    /// Event that could not be taken.
    pub diverged_at: Option<u32>,
    /// Places where the program was found to wait busily.
    pub awaits: u32,
}

/// How much of a trace there must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    /// All of it: each thread has a record of its pending operation.
    Whole,
    /// What a process wrote before it died: ends at the first word that is zero or makes no sense.
    Beginning,
}

/// Turns traces into executions; keeps its buffers from one to the next.
#[derive(Debug, Default)]
pub struct Decoder {
    /// Threads of this run and of earlier ones, by number.
    threads: Vec<ThreadDecoder>,
    /// How many of them there are in this run so far.
    count: usize,
    detail: Detail,
    /// Numbers of reads in spin loops, by the state of the reading thread. A program that is
    /// started again has the same states.
    held_reads: FxHashMap<u64, HeldRead>,
    /// What a stack that comes next belongs to.
    stack_owner: StackOwner,
    /// Bytes of text that the last record announced.
    text_due: u64,
    at: usize,
    /// Those of the events so far.
    traits: OpTraits,
    /// Whether plain reads and writes are left out.
    leaves_out: bool,
}

impl Decoder {
    /// A decoder with empty buffers.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The numbers of reads in spin loops, by the state of the reading thread.
    pub(crate) fn held_reads(&self) -> impl Iterator<Item = (u64, HeldRead)> + '_ {
        self.held_reads.iter().map(|(&state, &read)| (state, read))
    }

    /// Gives reads in spin loops these numbers.
    pub(crate) fn set_held_reads(&mut self, reads: impl Iterator<Item = (u64, HeldRead)>) {
        self.held_reads = reads.collect();
    }

    /// Decodes a whole trace into `into`, whose former contents are dropped and whose buffers are
    /// used again.
    ///
    /// # Errors
    /// If the words are not a trace; then `into` holds what was understood up to there.
    pub fn decode(&mut self, words: &[u64], result: RunResult, into: &mut Execution) -> Result<(), DecodeError> {
        self.run(words, result, into, Extent::Whole)
    }

    /// As [`Decoder::decode`], but without plain reads and writes: [`plain_accesses`] gives them
    /// one by one. Of a long run they are nearly everything.
    ///
    /// # Errors
    /// As those of [`Decoder::decode`].
    pub fn decode_without_accesses(
        &mut self,
        words: &[u64],
        result: RunResult,
        into: &mut Execution,
    ) -> Result<(), DecodeError> {
        self.leaves_out = true;
        let done = self.run(words, result, into, Extent::Whole);
        self.leaves_out = false;
        done
    }

    /// Stacks and parked accesses of the trace that was decoded last.
    #[must_use]
    pub fn detail(&self) -> &Detail {
        &self.detail
    }

    /// Notes the instruction at which the run was ended that was decoded last, as the place of an
    /// incident behind all others.
    pub fn met_at(&mut self, instruction: u64) {
        // As a return address.
        self.detail.incidents.push(vec![instruction.wrapping_add(1)]);
    }

    /// Decodes the beginning of a trace whose writer died.
    pub fn decode_beginning(&mut self, words: &[u64], result: RunResult, into: &mut Execution) {
        // Where it stops making sense is where its writer was stopped.
        let _ = self.run(words, result, into, Extent::Beginning);
    }

    fn run(
        &mut self,
        words: &[u64],
        result: RunResult,
        into: &mut Execution,
        extent: Extent,
    ) -> Result<(), DecodeError> {
        self.reset(result, into);
        let records = self.records(words, into, extent);
        let records = records.and_then(|()| self.check_end(into, extent));
        into.traits = Some(self.traits);
        self.fill_pending(into);
        into.threads.truncate(self.count);
        records.map_err(|kind| DecodeError { at: self.at, kind })
    }

    fn reset(&mut self, result: RunResult, into: &mut Execution) {
        self.count = 0;
        self.detail.clear();
        self.stack_owner = StackOwner::End;
        self.text_due = 0;
        self.at = 0;
        into.events.clear();
        into.names.clear();
        self.traits = OpTraits::default();
        into.accesses.clear();
        // The threads of the last run are overwritten, which saves allocations.
        into.incidents.clear();
        into.status = result.status;
        into.exit = result.exit;
        into.diverged_at = result.diverged_at;
        into.awaits = result.awaits;
        into.recorded = 0;
        into.keys.clear();
        into.failing.clear();
        into.details.clear();
        into.pending_details.clear();
        self.add_thread(into, None, Role::Program);
    }

    /// Adds a thread; the caller has checked that it may have that number.
    fn add_thread(&mut self, into: &mut Execution, parent: Option<u16>, role: Role) {
        let number = self.count;
        if into.threads.len() == number {
            into.threads.push(ThreadInfo::default());
        }
        let (earlier, new) = into.threads.split_at_mut(number);
        let new = &mut new[0];
        (new.parent, new.name) = (parent, None);
        new.path.0.clear();
        if let Some(parent) = parent {
            let parent = usize::from(parent);
            let progress = &mut self.threads[parent].progress;
            progress.children += u32::from(role == Role::Program);
            progress.couriers += u32::from(role == Role::Courier);
            new.path.0.extend_from_slice(&earlier[parent].path.0);
            new.path.0.push(match role {
                Role::Program => progress.children,
                Role::Party(party) => party.component(),
                Role::Courier => handler::component(progress.couriers),
            });
        }
        into.pending.truncate(number);
        into.pending.push(unknown_pending(number as u16));
        match self.threads.get_mut(number) {
            Some(thread) => thread.progress = ThreadProgress::default(),
            None => self.threads.push(ThreadDecoder::default()),
        }
        self.count += 1;
        self.detail.add_thread();
    }

    fn records(&mut self, words: &[u64], into: &mut Execution, extent: Extent) -> Result<(), DecodeErrorKind> {
        let mut rest = words;
        while let Some(&first) = rest.first() {
            let header = Header::parse(first);
            if header.kind < record::READ
                && let Some(tail) = self.repeated(header, rest, into)
            {
                rest = tail;
                continue;
            }
            self.at = words.len() - rest.len();
            if first == 0 && extent == Extent::Beginning {
                return Ok(());
            }
            // Nearly all records are steps and accesses, which have a fixed length.
            rest = if let Some(kind) = OpKind::from_byte(header.kind) {
                let (body, tail) = rest.split_first_chunk().ok_or(DecodeErrorKind::Truncated)?;
                self.check_thread(header)?;
                self.operation(header, kind, body, into)?;
                tail
            } else if matches!(header.kind, record::READ | record::WRITE) && header.flags & flag::PENDING == 0 {
                let (&[_, addr, pc], tail) = rest.split_first_chunk().ok_or(DecodeErrorKind::Truncated)?;
                self.running_access(header)?;
                into.recorded += 1;
                if !self.leaves_out {
                    into.accesses.push(access_of(header, &[addr, pc], into.events.len() as u32));
                }
                tail
            } else if header.kind == record::MAPPING && header.flags & flag::PENDING == 0 {
                // Each thread ends with one.
                let (&[_, addr, pc, size], tail) = rest.split_first_chunk().ok_or(DecodeErrorKind::Truncated)?;
                self.running_access(header)?;
                into.recorded += 1;
                self.stack_owner = StackOwner::Block(into.accesses.len() as u32);
                into.accesses.push(access_of(header, &[addr, pc, size], into.events.len() as u32));
                tail
            } else {
                let length = record::words(header.kind, header.count).ok_or(DecodeErrorKind::Kind(header.kind))?;
                let (body, tail) = rest.split_at_checked(length).ok_or(DecodeErrorKind::Truncated)?;
                self.check_thread(header)?;
                self.record(header, &body[1..], into)?;
                tail
            };
        }
        Ok(())
    }

    /// A transition with the words that the thread's next transition had in the last run. Those
    /// were checked then; what depends on the records before is checked here. Returns the records
    /// behind it; `None` if it has to be looked at as a whole.
    #[inline]
    fn repeated<'a>(&mut self, header: Header, records: &'a [u64], into: &mut Execution) -> Option<&'a [u64]> {
        let (words, rest) = records.split_first_chunk()?;
        let known = self.count;
        let thread = self.threads[..known].get_mut(usize::from(header.tid))?;
        if self.text_due != 0 || thread.progress.pending || header.count < thread.progress.accesses {
            return None;
        }
        let cached = thread.repeated(words)?;
        let effect = cached.effect;
        let is_possible = match effect {
            Effect::None | Effect::Ends => true,
            Effect::Creates(child, Role::Program) => usize::from(child) == known && known < MAX_THREADS,
            Effect::Creates(_, Role::Party(_) | Role::Courier) => false,
            Effect::Names(one, other) => usize::from(one.max(other)) < known,
        };
        if !is_possible {
            return None;
        }
        into.recorded += 1;
        add_event(cached, into);
        self.traits = self.traits | cached.traits;
        thread.advance(effect);
        self.stack_owner = StackOwner::Event(into.events.len() as u32 - 1);
        if let Effect::Creates(..) = effect {
            self.add_thread(into, Some(header.tid), Role::Program);
        }
        Some(rest)
    }

    /// An access of a thread that is there and still runs, behind those that it made before; no
    /// text is due, and no stack belongs to what was before.
    #[inline]
    fn running_access(&mut self, header: Header) -> Result<(), DecodeErrorKind> {
        let Some(thread) = self.threads[..self.count].get_mut(usize::from(header.tid)) else {
            return Err(DecodeErrorKind::Thread(header.tid.into()));
        };
        self.stack_owner = StackOwner::End;
        if self.text_due != 0 {
            return Err(DecodeErrorKind::Text(self.text_due));
        }
        let progress = &mut thread.progress;
        if progress.pending {
            return Err(DecodeErrorKind::AfterPending(header.tid));
        }
        if header.count < progress.accesses {
            return Err(DecodeErrorKind::Count(header.tid));
        }
        progress.accesses = header.count;
        Ok(())
    }

    #[inline]
    fn check_thread(&self, header: Header) -> Result<(), DecodeErrorKind> {
        if usize::from(header.tid) < self.count { Ok(()) } else { Err(DecodeErrorKind::Thread(header.tid.into())) }
    }

    /// No text is due, no stack belongs to what was before, and the thread still runs.
    #[inline]
    fn check_running(&mut self, header: Header) -> Result<(), DecodeErrorKind> {
        self.check_text()?;
        if self.threads[usize::from(header.tid)].progress.pending {
            return Err(DecodeErrorKind::AfterPending(header.tid));
        }
        Ok(())
    }

    #[inline]
    fn check_text(&mut self) -> Result<(), DecodeErrorKind> {
        self.stack_owner = StackOwner::End;
        if self.text_due == 0 { Ok(()) } else { Err(DecodeErrorKind::Text(self.text_due)) }
    }

    /// A step, or what a thread stands before at the end.
    #[inline]
    fn operation(
        &mut self,
        header: Header,
        kind: OpKind,
        body: &[u64; record::STEP_WORDS],
        into: &mut Execution,
    ) -> Result<(), DecodeErrorKind> {
        if header.flags & flag::PENDING != 0 {
            self.check_text()?;
            return self.pending(header, kind, body, into);
        }
        self.check_running(header)?;
        into.recorded += 1;
        self.step(header, kind, body, into)
    }

    /// Any other record.
    fn record(&mut self, header: Header, body: &[u64], into: &mut Execution) -> Result<(), DecodeErrorKind> {
        if header.kind == record::TEXT {
            return self.text(header, body, into);
        }
        if self.text_due != 0 {
            return Err(DecodeErrorKind::Text(self.text_due));
        }
        if header.kind == record::STACK {
            // The record before may go without a stack: at the end of a run a stack says so itself.
            let owner = std::mem::take(&mut self.stack_owner);
            let is_end = header.flags & flag::PENDING != 0;
            self.detail.stack(if is_end { StackOwner::End } else { owner }, header.tid, body);
            return Ok(());
        }
        if header.kind == record::KEY {
            key(header, body, into);
            return Ok(());
        }
        if header.kind == record::ATOMIC_DETAIL {
            return atomic_detail(header, body, into);
        }
        if header.kind == record::AWAIT {
            self.held_read(header, body, into);
            return Ok(());
        }
        if header.kind == record::FRAMES {
            self.detail.frames(header.tid, body);
            return Ok(());
        }
        self.stack_owner = StackOwner::End;
        if header.kind == record::THREAD_NAME {
            let name = text(body, header.count);
            into.threads[usize::from(header.tid)].name = Some(name);
            return Ok(());
        }
        self.check_running(header)?;
        if header.flags & flag::PENDING != 0 {
            return self.parked(header, body, into);
        }
        into.recorded += 1;
        if matches!(header.kind, record::FAILURE | record::MISUSE) {
            return self.incident(header, body, into);
        }
        let access = self.parse_access(header, body, into)?;
        let is_block = matches!(access.kind, AccessKind::Alloc | AccessKind::Free | AccessKind::Mapping(_));
        if is_block {
            self.stack_owner = StackOwner::Block(into.accesses.len() as u32);
        }
        if is_block || !self.leaves_out {
            into.accesses.push(access);
        }
        Ok(())
    }

    /// What a target says of a read in a spin loop. Too many of them have no number.
    fn held_read(&mut self, header: Header, body: &[u64], into: &mut Execution) {
        let next = u16::try_from(self.held_reads.len() + 1).unwrap_or(0);
        let held = match self.held_reads.get(&body[0]) {
            Some(&held) => held,
            None if next == 0 => return,
            None => *self.held_reads.entry(body[0]).or_insert(HeldRead(next)),
        };
        if header.flags & flag::AWAIT != 0 {
            into.failing.push(FailingValue { read: held, value: body[1] });
            if header.flags & flag::PENDING != 0 {
                into.pending[usize::from(header.tid)].event.held = held;
            }
        } else if let Some(last) = into.events.last_mut().filter(|last| last.thread == header.tid) {
            last.held = held;
            if let Some(name) = into.names.last_mut() {
                *name = EventName::NONE;
            }
        }
    }

    fn step(
        &mut self,
        header: Header,
        kind: OpKind,
        words: &[u64; record::STEP_WORDS],
        into: &mut Execution,
    ) -> Result<(), DecodeErrorKind> {
        let tid = usize::from(header.tid);
        let new = match self.threads[tid].recall(words) {
            true => None,
            false => Some(CachedEvent::new(words, parse_event(header, kind, words)?)),
        };
        self.counted(header, header.count)?;
        let effect = new.as_ref().unwrap_or_else(|| self.threads[tid].latest()).effect;
        match effect {
            Effect::Creates(child, role) => self.create(header.tid, child, role, into)?,
            effect => self.check_partner(effect)?,
        }
        let thread = &mut self.threads[tid];
        if let Some(new) = new {
            thread.keep(new);
        }
        add_event(thread.latest(), into);
        self.traits = self.traits | thread.latest().traits;
        thread.advance(effect);
        self.stack_owner = StackOwner::Event(into.events.len() as u32 - 1);
        Ok(())
    }

    /// A new thread has the next number. Only main creates parties, each once.
    fn create(&mut self, parent: u16, child: u16, role: Role, into: &mut Execution) -> Result<(), DecodeErrorKind> {
        if usize::from(child) != self.count {
            return Err(DecodeErrorKind::ThreadNumber(child.into()));
        }
        if self.count >= MAX_THREADS {
            return Err(DecodeErrorKind::TooManyThreads);
        }
        let is_there =
            |party: Party| into.threads[..self.count].iter().any(|thread| thread.path.party() == Some(party));
        if let Role::Party(party) = role
            && (parent != 0 || is_there(party))
        {
            return Err(DecodeErrorKind::Party(party));
        }
        self.add_thread(into, Some(parent), role);
        Ok(())
    }

    /// A join, a detach, or a handler, names threads that exist.
    fn check_partner(&self, effect: Effect) -> Result<(), DecodeErrorKind> {
        match effect {
            Effect::Names(one, other) if usize::from(one.max(other)) >= self.count => {
                Err(DecodeErrorKind::Thread(one.max(other).into()))
            }
            _ => Ok(()),
        }
    }

    /// Accesses are numbered upwards within a thread from one transition to the next.
    #[inline]
    fn counted(&mut self, header: Header, count: u32) -> Result<(), DecodeErrorKind> {
        let progress = &mut self.threads[usize::from(header.tid)].progress;
        if count < progress.accesses {
            return Err(DecodeErrorKind::Count(header.tid));
        }
        progress.accesses = count;
        Ok(())
    }

    fn pending(
        &mut self,
        header: Header,
        kind: OpKind,
        words: &[u64; record::STEP_WORDS],
        into: &mut Execution,
    ) -> Result<(), DecodeErrorKind> {
        let thread = &mut self.threads[usize::from(header.tid)];
        if !thread.cached_pending.as_ref().is_some_and(|cached| cached.is_of(words)) {
            thread.cached_pending = Some(CachedEvent::new(words, parse_event(header, kind, words)?));
        }
        if std::mem::replace(&mut thread.progress.pending, true) {
            return Err(DecodeErrorKind::SecondPending(header.tid));
        }
        let Some(CachedEvent { event, effect, .. }) = thread.cached_pending else { return Ok(()) };
        self.check_partner(effect)?;
        let found = words[record::STEP_VALUE];
        let has = |bit: u8| header.flags & bit != 0;
        let state = if has(flag::ENDED) && has(flag::FAILED) {
            // Both at once: it did not end by itself, it left the process.
            PendingState::Exited
        } else if has(flag::ENDED) {
            PendingState::Ended
        } else if has(flag::FAILED) {
            PendingState::Failed
        } else if has(flag::AWAIT) && has(flag::STALE) {
            PendingState::Stale
        } else if has(flag::AWAIT) {
            PendingState::Awaiting
        } else if has(flag::BLOCKED) {
            PendingState::Blocked
        } else {
            PendingState::Enabled
        };
        into.pending[usize::from(header.tid)] = Pending { event, state, found };
        Ok(())
    }

    /// An access that the thread stands before because the schedule stops it there.
    fn parked(&mut self, header: Header, body: &[u64], into: &Execution) -> Result<(), DecodeErrorKind> {
        if !matches!(header.kind, record::READ | record::WRITE | record::READ_RANGE | record::WRITE_RANGE) {
            return Err(DecodeErrorKind::Kind(header.kind));
        }
        let access = self.parse_access(header, body, into)?;
        self.stack_owner = self.detail.park(access);
        Ok(())
    }

    #[inline]
    fn parse_access(&mut self, header: Header, body: &[u64], into: &Execution) -> Result<Access, DecodeErrorKind> {
        self.counted(header, header.count)?;
        Ok(access_of(header, body, into.events.len() as u32))
    }

    fn incident(&mut self, header: Header, body: &[u64], into: &mut Execution) -> Result<(), DecodeErrorKind> {
        let (pc, which) = record::unpack_pc(body[1]);
        let byte = u8::try_from(which).ok();
        let (kind, arg) = if header.kind == record::FAILURE {
            let failure = byte.and_then(Failure::from_byte).ok_or(DecodeErrorKind::Failure(which))?;
            self.text_due = body[2];
            (IncidentKind::Failure(failure), 0)
        } else {
            let misuse = byte.and_then(Misuse::from_byte).ok_or(DecodeErrorKind::Misuse(which))?;
            (IncidentKind::Misuse(misuse), body[2])
        };
        into.incidents.push(Incident {
            thread: header.tid,
            after: into.events.len() as u32,
            count: header.count,
            pc,
            obj: body[0],
            arg,
            kind,
            text: String::new(),
        });
        self.stack_owner = self.detail.add_incident();
        Ok(())
    }

    fn text(&mut self, header: Header, body: &[u64], into: &mut Execution) -> Result<(), DecodeErrorKind> {
        if self.text_due == 0 {
            return Err(DecodeErrorKind::StrayText);
        }
        if self.text_due != u64::from(header.count) {
            return Err(DecodeErrorKind::Text(self.text_due));
        }
        self.text_due = 0;
        if let Some(incident) = into.incidents.last_mut() {
            incident.text = text(body, header.count);
            // A fatal signal comes with its number as text.
            if incident.kind == IncidentKind::Failure(Failure::Signal) {
                let number: u8 = incident.text.parse().unwrap_or(0);
                incident.arg = u64::from(number);
                incident.text = crate::process::signal_name(i32::from(number)).into();
            }
        }
        Ok(())
    }

    fn check_end(&self, into: &Execution, extent: Extent) -> Result<(), DecodeErrorKind> {
        if extent == Extent::Beginning {
            return Ok(());
        }
        if self.text_due != 0 {
            return Err(DecodeErrorKind::Text(self.text_due));
        }
        // A run that ended in the middle of something need not know where each thread stands.
        use RunStatus::{Cut, Diverged, Idle, Rest, Stopped};
        if !matches!(into.status, Rest | Diverged | Stopped | Cut | Idle) {
            return Ok(());
        }
        match self.threads[..self.count].iter().position(|thread| !thread.progress.pending) {
            Some(thread) => Err(DecodeErrorKind::NoPending(thread as u16)),
            None => Ok(()),
        }
    }

    /// Threads whose last transition was their end have ended, even if the runtime did not get to
    /// record it.
    fn fill_pending(&self, into: &mut Execution) {
        for (thread, state) in self.threads[..self.count].iter().enumerate() {
            if state.progress.pending || !state.progress.ended {
                continue;
            }
            if let Some(last) = into.events.iter().rfind(|step| usize::from(step.thread) == thread) {
                into.pending[thread] = Pending { event: *last, state: PendingState::Ended, found: 0 };
            }
        }
    }
}

/// Adds a transition to the execution. As slices: what is pushed by value is copied to the stack
/// first, in case that there is no room.
#[inline]
fn add_event(cached: &CachedEvent, into: &mut Execution) {
    into.events.extend_from_slice(std::slice::from_ref(&cached.event));
    into.names.push(cached.name);
}
