//! The CSP model of one variable and two threads, and its refinement check.
//!
//! Source: Carril and Tichy, "Predicting and Witnessing Data Races Using CSP". Each thread is the
//! sequence of its events (`T_INTER` interleaves them). `SYNC` holds one process per object.
//! `PATTERN` waits for two conflicting accesses in a row and then does `race`. A race is possible
//! iff `STOP [T= (PROGRAM [| .. |] PATTERN) \ {all but race}` fails.
//!
//! Deviations: between two events one read and one write of the variable are kept, so that a read
//! hides no write. Besides mutexes there are processes for rwlocks, condition variables,
//! semaphores, barriers, initialisers and awaited locations. Threads take part only as far as the
//! accesses can need them.

use std::collections::{BTreeMap, BTreeSet};

use raddle_csp::cspm::{ExportError, export};
use raddle_csp::{CheckError, EventId, Limits, Model, ProcId, ProcessProperty, Value, refines};
use raddle_model::race::Touching;

use crate::search::Searcher;
use crate::trace::{ObservedTrace, Slot, SyncOp, Tid, Var};
use crate::words::{About, name_of, parts};

/// Threads that may wait in one queue: its process has a state for each set of sleeping and woken
/// threads.
const MOST_WAITERS: usize = 6;
/// Greatest count of a semaphore in a model.
const MOST_COUNT: u32 = 10_000;

/// The refinement check of one variable and two threads.
#[derive(Debug)]
pub struct Check {
    model: Model,
    system: ProcId,
    /// Product of the threads' lengths, an upper bound on the states of a search.
    pub size: u64,
}

/// The verdict of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refined {
    /// No reordering has a race.
    Holds,
    /// This sequence of synchronising events leads to one, without creation, start and end.
    Fails(Vec<String>),
}

/// Why there is no model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoModel {
    /// More threads wait in one queue than the model allows.
    #[error("more than {MOST_WAITERS} threads wait on one condition variable")]
    Waiters,
    /// The count of a semaphore is too high.
    #[error("a semaphore counts beyond {MOST_COUNT}")]
    Count,
}

impl Check {
    /// The model for a variable and two threads.
    ///
    /// # Errors
    /// If some object would need a process with too many states.
    pub fn new(trace: &ObservedTrace, searcher: &Searcher<'_>, var: Var, pair: (Tid, Tid)) -> Result<Self, NoModel> {
        let last = |thread: Tid| {
            let own = trace.accesses.iter().filter(|access| access.var == var && access.thread == thread);
            own.map(|access| access.position + u32::from(access.own_event)).max().unwrap_or(0)
        };
        let limits = searcher.cone(&[(pair.0, last(pair.0)), (pair.1, last(pair.1))]);
        let builder = Builder { trace, limits, pair, var, model: Model::new(), sync: BTreeMap::new() };
        builder.build()
    }

    /// Decides the check within a budget of states.
    ///
    /// # Errors
    /// If the budget ends.
    pub fn decide(&mut self, states: usize) -> Result<Refined, CheckError> {
        let limits = Limits { states, cells: states.saturating_mul(40).max(1_000_000), stop: None };
        let stop = self.model.stop();
        let report = refines(&mut self.model, stop, self.system, &limits)?;
        let Some(found) = report.counterexample else { return Ok(Refined::Holds) };
        let names = found.events().map(Value::to_string);
        let shown = |name: &String| {
            let hidden = ["fork.", "start.", "end.", "read.", "write.", "use.", "free.", "race"];
            !hidden.iter().any(|prefix| name.starts_with(prefix)) && !name.starts_with("atomic")
        };
        Ok(Refined::Fails(names.filter(shown).collect()))
    }

    /// The model as a CSPm script.
    ///
    /// # Errors
    /// If the model cannot be written in CSPm.
    pub fn script(&self) -> Result<String, ExportError> {
        let claim = (self.system, ProcessProperty::Refines { specification: self.model.stop() });
        export(&self.model, &[claim], &[]).map(|script| script.to_string())
    }
}

/// What the threads of the model do to one object.
#[derive(Default)]
struct Used {
    events: BTreeMap<&'static str, BTreeSet<Tid>>,
    first: u32,
    total: u32,
    count: u32,
    previous: Option<Slot>,
}

struct Builder<'a> {
    trace: &'a ObservedTrace,
    limits: Vec<u32>,
    pair: (Tid, Tid),
    var: Var,
    model: Model,
    sync: BTreeMap<Slot, Used>,
}

impl Builder<'_> {
    fn build(mut self) -> Result<Check, NoModel> {
        self.collect();
        let all = self.trace.threads.len() as Tid;
        let threads: Vec<Tid> = (0..all).filter(|&thread| self.takes_part(thread)).collect();
        let (mut sync, mut accesses) = (BTreeSet::new(), BTreeMap::new());
        let mut size: u64 = 1;
        let mut processes = Vec::new();
        for &thread in &threads {
            let events = self.thread(thread, &mut sync, &mut accesses);
            size = size.saturating_mul(events.len() as u64 + 1);
            let stop = self.model.stop();
            processes.push(self.model.prefixes(&events, stop));
        }
        let threads_interleaved = self.model.interleave(processes);
        let objects = self.objects(&threads)?;
        let synchronised = self.model.interleave(objects);
        let sync_set = self.model.set(sync.iter().copied());
        let program = self.model.parallel(sync_set, [threads_interleaved, synchronised]);
        let race = self.model.event_on("race", &[]);
        let pattern = self.pattern(&sync, &accesses, race);
        let both = self.model.set(sync.iter().chain(accesses.keys()).copied());
        let watched = self.model.parallel(both, [program, pattern]);
        let system = self.model.hide(watched, both);
        Ok(Check { model: self.model, system, size })
    }

    fn in_pair(&self, thread: Tid) -> bool {
        thread == self.pair.0 || thread == self.pair.1
    }

    fn takes_part(&self, thread: Tid) -> bool {
        self.limits[usize::from(thread)] > 0 || self.in_pair(thread)
    }

    /// Collects the operations on each object.
    fn collect(&mut self) {
        for event in &self.trace.events {
            if event.index >= self.limits[usize::from(event.thread)] {
                continue;
            }
            for (channel, about) in parts(&event.op) {
                if let About::Slot(slot) = about {
                    let used = self.sync.entry(slot).or_default();
                    used.events.entry(channel).or_default().insert(event.thread);
                    match event.op {
                        SyncOp::SetSem(_, value) => used.first = value,
                        SyncOp::Post(_) | SyncOp::ReadLock(_) => used.total += 1,
                        SyncOp::Arrive { previous, .. } => {
                            used.total += 1;
                            used.previous = previous.map(|(slot, _)| slot);
                        }
                        SyncOp::Leave { count, .. } => used.count = count,
                        _ => {}
                    }
                }
            }
        }
    }

    /// Whether the model has the object. Threads that take no part are left out.
    fn matters(&self, about: About) -> bool {
        match about {
            About::Slot(slot) => self.sync.contains_key(&slot),
            About::Thread(thread) => self.takes_part(thread),
        }
    }

    fn named(&mut self, channel: &str, thread: Tid, about: About) -> EventId {
        let fields: [Value; 2] =
            [self.trace.threads[usize::from(thread)].name.as_str().into(), name_of(self.trace, about).into()];
        self.model.event_on(channel, &fields)
    }

    fn alone(&mut self, channel: &str, thread: Tid) -> EventId {
        let field: [Value; 1] = [self.trace.threads[usize::from(thread)].name.as_str().into()];
        self.model.event_on(channel, &field)
    }

    /// The events of a thread, in order.
    fn thread(
        &mut self,
        thread: Tid,
        sync: &mut BTreeSet<EventId>,
        accesses: &mut BTreeMap<EventId, (Tid, Touching, u8)>,
    ) -> Vec<EventId> {
        let own = &self.trace.threads[usize::from(thread)];
        let limit = self.limits[usize::from(thread)];
        let mut events = Vec::new();
        if own.fork.is_some() {
            let start = self.alone("start", thread);
            sync.insert(start);
            events.push(start);
        }
        let wanted = self.in_pair(thread);
        let var = self.var;
        let mut touches = self
            .trace
            .accesses
            .iter()
            .filter(|access| wanted && access.thread == thread && access.var == var)
            .peekable();
        for position in 0..=limit {
            let mut seen = BTreeSet::new();
            while let Some(access) = touches.next_if(|access| access.position <= position) {
                let event = self.access(thread, access.what, access.bytes);
                if seen.insert(event) {
                    accesses.insert(event, (thread, access.what, access.bytes));
                    events.push(event);
                }
            }
            if position == limit {
                break;
            }
            let event = self.trace.threads[usize::from(thread)].events[position as usize];
            for (channel, about) in parts(&self.trace.events[event as usize].op) {
                if self.matters(about) {
                    let event = self.named(channel, thread, about);
                    sync.insert(event);
                    events.push(event);
                }
            }
        }
        if own.ended && limit == own.last() {
            let end = self.alone("end", thread);
            sync.insert(end);
            events.push(end);
        }
        events
    }

    /// `write.t1.x`; accesses to other bytes of the variable have other names.
    fn access(&mut self, thread: Tid, what: Touching, bytes: u8) -> EventId {
        let channel = match what {
            Touching::Read => "read",
            Touching::Write => "write",
            Touching::AtomicRead => "atomicread",
            Touching::AtomicWrite => "atomicwrite",
            Touching::Use => "use",
            Touching::Free => "free",
            Touching::Make => "make",
            Touching::Mapping(change) => change.word(),
        };
        let name = &self.trace.vars[self.var as usize].name;
        let of_var = self.trace.accesses.iter().filter(|access| access.var == self.var);
        let same = of_var.clone().all(|access| access.bytes == bytes);
        let name = if same { name.clone() } else { format!("{name}_b{bytes:02x}") };
        let fields: [Value; 2] = [self.trace.threads[usize::from(thread)].name.as_str().into(), name.as_str().into()];
        self.model.event_on(channel, &fields)
    }

    /// Waits for two conflicting accesses in a row; any other event restarts it.
    fn pattern(
        &mut self,
        sync: &BTreeSet<EventId>,
        accesses: &BTreeMap<EventId, (Tid, Touching, u8)>,
        race: EventId,
    ) -> ProcId {
        let pattern = self.model.declare("PATTERN");
        let again = self.model.call(pattern);
        let stop = self.model.stop();
        let found = self.model.prefix(race, stop);
        let mut errors = Vec::new();
        for (&first, &(one, what, bytes)) in accesses {
            for (&second, &(two, other, others)) in accesses {
                if one != two && bytes & others != 0 && what.conflicts(other) {
                    errors.push(self.model.prefixes(&[first, second], found));
                }
            }
        }
        let error = self.model.external(errors);
        let restart: Vec<(EventId, ProcId)> = sync.iter().chain(accesses.keys()).map(|&event| (event, again)).collect();
        let restart = self.model.menu(restart);
        let body = self.model.interrupt(error, restart);
        self.model.define(pattern, body);
        again
    }

    /// One process for each object, and for the creation and end of each thread.
    fn objects(&mut self, threads: &[Tid]) -> Result<Vec<ProcId>, NoModel> {
        let mut processes = Vec::new();
        for &thread in threads {
            processes.extend(self.life(thread));
        }
        let slots: Vec<Slot> = self.sync.keys().copied().filter(|&slot| self.matters(About::Slot(slot))).collect();
        for slot in slots {
            let has = |channels: &[&str]| channels.iter().any(|channel| self.sync[&slot].events.contains_key(channel));
            let process = if has(&["rlock", "wlock", "runlock", "wunlock", "rbusy", "wbusy"]) {
                self.rwlock(slot)
            } else if has(&["sleep", "signal", "broadcast", "wake", "timeout"]) {
                self.queue(slot)?
            } else if has(&["seminit", "post", "wait", "empty"]) {
                self.semaphore(slot)?
            } else if has(&["arrive", "leave"]) {
                match self.barrier(slot) {
                    Some(process) => process,
                    None => continue,
                }
            } else if has(&["publish", "await"]) {
                self.location(slot)
            } else {
                debug_assert!(has(&["lock", "unlock", "busy", "done", "seen"]), "an object without a process");
                self.mutex(slot)
            };
            processes.push(process);
        }
        Ok(processes)
    }

    /// `FORK(i)` and `JOIN(i)` of the paper; a thread can be joined once only, so one process holds
    /// both.
    fn life(&mut self, thread: Tid) -> Vec<ProcId> {
        let mut processes = Vec::new();
        let stop = self.model.stop();
        let own = &self.trace.threads[usize::from(thread)];
        let (ended, last, fork) = (own.ended, own.last(), own.fork);
        if let Some(fork) = fork {
            let parent = self.trace.events[fork as usize].thread;
            let (fork, start) = (self.named("fork", parent, About::Thread(thread)), self.alone("start", thread));
            processes.push(self.model.prefixes(&[fork, start], stop));
        }
        if ended && self.limits[usize::from(thread)] == last {
            let end = self.alone("end", thread);
            let joiners: BTreeSet<Tid> = self
                .trace
                .events
                .iter()
                .filter(|event| {
                    event.op == SyncOp::Join(thread) && event.index < self.limits[usize::from(event.thread)]
                })
                .map(|event| event.thread)
                .collect();
            let joined = self.model.declare(format!("JOINED_{}", self.trace.threads[usize::from(thread)].name));
            let again = self.model.call(joined);
            let branches = joiners.into_iter().map(|joiner| (self.named("join", joiner, About::Thread(thread)), again));
            let branches: Vec<_> = branches.collect();
            let body = self.model.menu(branches);
            self.model.define(joined, body);
            processes.push(self.model.prefix(end, again));
        }
        processes
    }

    fn users(&self, slot: Slot, channel: &str) -> Vec<Tid> {
        self.sync[&slot].events.get(channel).into_iter().flatten().copied().collect()
    }

    /// The events of a channel on an object, one per thread.
    fn channel(&mut self, slot: Slot, channel: &'static str) -> Vec<(Tid, EventId)> {
        let users = self.users(slot, channel);
        users.into_iter().map(|thread| (thread, self.named(channel, thread, About::Slot(slot)))).collect()
    }

    fn declare(&mut self, word: &str, slot: Slot, rest: &str) -> (raddle_csp::DefId, ProcId) {
        let definition = self.model.declare(format!("{word}_{slot}{rest}"));
        (definition, self.model.call(definition))
    }

    /// `MUTEX(i) = lock?t.i -> unlock.t.i -> MUTEX(i)`, with failed tries, and with the end of an
    /// initialiser.
    fn mutex(&mut self, slot: Slot) -> ProcId {
        let loose = self.trace.slots[slot as usize].loose;
        let (definition, free) = self.declare("MUTEX", slot, "");
        let (done_definition, done) = self.declare("DONE", slot, "");
        let (lock, unlock) = (self.channel(slot, "lock"), self.channel(slot, "unlock"));
        let (busy, ends, seen) = (self.channel(slot, "busy"), self.channel(slot, "done"), self.channel(slot, "seen"));
        let mut branches = Vec::new();
        for &(thread, event) in &lock {
            let (held_definition, held) = self.declare("HELD", slot, &format!("_{thread}"));
            let mut inside: Vec<(EventId, ProcId)> = Vec::new();
            inside
                .extend(unlock.iter().filter(|(other, _)| loose || *other == thread).map(|&(_, event)| (event, free)));
            inside.extend(busy.iter().filter(|(other, _)| *other != thread).map(|&(_, event)| (event, held)));
            inside.extend(ends.iter().filter(|(other, _)| *other == thread).map(|&(_, event)| (event, done)));
            let body = self.model.menu(inside);
            self.model.define(held_definition, body);
            branches.push((event, held));
        }
        if loose {
            branches.extend(unlock.iter().map(|&(_, event)| (event, free)));
        }
        let body = self.model.menu(branches);
        self.model.define(definition, body);
        let body = self.model.menu(seen.into_iter().map(|(_, event)| (event, done)).collect());
        self.model.define(done_definition, body);
        free
    }

    /// A rwlock counts its readers and has at most one writer, which excludes them.
    fn rwlock(&mut self, slot: Slot) -> ProcId {
        let most = self.sync[&slot].total;
        let states: Vec<_> = (0..=most).map(|readers| self.declare("RWLOCK", slot, &format!("_{readers}"))).collect();
        let (rlock, runlock) = (self.channel(slot, "rlock"), self.channel(slot, "runlock"));
        let (wlock, wunlock) = (self.channel(slot, "wlock"), self.channel(slot, "wunlock"));
        let (rbusy, wbusy) = (self.channel(slot, "rbusy"), self.channel(slot, "wbusy"));
        let mut writers = Vec::new();
        for &(thread, event) in &wlock {
            let (definition, writing) = self.declare("WRITER", slot, &format!("_{thread}"));
            let mut inside: Vec<(EventId, ProcId)> = Vec::new();
            inside.extend(wunlock.iter().filter(|(other, _)| *other == thread).map(|&(_, event)| (event, states[0].1)));
            inside.extend(rbusy.iter().chain(&wbusy).map(|&(_, event)| (event, writing)));
            let body = self.model.menu(inside);
            self.model.define(definition, body);
            writers.push((event, writing));
        }
        for readers in 0..=most as usize {
            let mut branches: Vec<(EventId, ProcId)> = Vec::new();
            if readers < most as usize {
                branches.extend(rlock.iter().map(|&(_, event)| (event, states[readers + 1].1)));
            }
            if readers > 0 {
                branches.extend(runlock.iter().map(|&(_, event)| (event, states[readers - 1].1)));
                branches.extend(wbusy.iter().map(|&(_, event)| (event, states[readers].1)));
            } else {
                branches.extend(&writers);
            }
            let body = self.model.menu(branches);
            self.model.define(states[readers].0, body);
        }
        states[0].1
    }

    /// A semaphore counts; it is 0 until it gets its first value.
    fn semaphore(&mut self, slot: Slot) -> Result<ProcId, NoModel> {
        let (first, total) = (self.sync[&slot].first, self.sync[&slot].total);
        let most = first.saturating_add(total);
        if most > MOST_COUNT {
            return Err(NoModel::Count);
        }
        let states: Vec<_> = (0..=most).map(|count| self.declare("SEM", slot, &format!("_{count}"))).collect();
        let (init, post) = (self.channel(slot, "seminit"), self.channel(slot, "post"));
        let (wait, empty) = (self.channel(slot, "wait"), self.channel(slot, "empty"));
        for count in 0..=most as usize {
            let mut branches: Vec<(EventId, ProcId)> = Vec::new();
            branches.extend(init.iter().map(|&(_, event)| (event, states[first as usize].1)));
            if count < most as usize {
                branches.extend(post.iter().map(|&(_, event)| (event, states[count + 1].1)));
            }
            if count > 0 {
                branches.extend(wait.iter().map(|&(_, event)| (event, states[count - 1].1)));
            } else {
                branches.extend(empty.iter().map(|&(_, event)| (event, states[0].1)));
            }
            let body = self.model.menu(branches);
            self.model.define(states[count].0, body);
        }
        Ok(states[0].1)
    }

    /// An awaited location: waiting threads go on once it was written.
    fn location(&mut self, slot: Slot) -> ProcId {
        let (before_definition, before) = self.declare("UNCHANGED", slot, "");
        let (after_definition, after) = self.declare("CHANGED", slot, "");
        let (publish, awaits) = (self.channel(slot, "publish"), self.channel(slot, "await"));
        let written: Vec<(EventId, ProcId)> = publish.iter().map(|&(_, event)| (event, after)).collect();
        let body = self.model.menu(written.clone());
        self.model.define(before_definition, body);
        let all = written.into_iter().chain(awaits.iter().map(|&(_, event)| (event, after))).collect();
        let body = self.model.menu(all);
        self.model.define(after_definition, body);
        before
    }

    /// A queue knows the sleeping and the woken threads. A signal has one successor per sleeping
    /// thread.
    fn queue(&mut self, slot: Slot) -> Result<ProcId, NoModel> {
        let mut waiters: BTreeSet<Tid> = BTreeSet::new();
        for channel in ["sleep", "wake", "timeout"] {
            waiters.extend(self.users(slot, channel));
        }
        if waiters.len() > MOST_WAITERS {
            return Err(NoModel::Waiters);
        }
        let waiters: Vec<Tid> = waiters.into_iter().collect();
        let bit = |thread: Tid| 1u32 << waiters.iter().position(|&other| other == thread).unwrap_or(0);
        let (sleep, wake) = (self.channel(slot, "sleep"), self.channel(slot, "wake"));
        let timeout = self.channel(slot, "timeout");
        let (signal, broadcast) = (self.channel(slot, "signal"), self.channel(slot, "broadcast"));
        let mut states = BTreeMap::new();
        for sleeping in 0..1u32 << waiters.len() {
            for woken in (0..1u32 << waiters.len()).filter(|woken| woken & sleeping == 0) {
                states.insert((sleeping, woken), self.declare("QUEUE", slot, &format!("_{sleeping}_{woken}")));
            }
        }
        for (&(sleeping, woken), &(definition, _)) in &states {
            let at = |sleeping: u32, woken: u32| states[&(sleeping, woken)].1;
            let mut branches: Vec<(EventId, ProcId)> = Vec::new();
            for &(thread, event) in sleep.iter().filter(|(thread, _)| (sleeping | woken) & bit(*thread) == 0) {
                branches.push((event, at(sleeping | bit(thread), woken)));
            }
            for &(thread, event) in wake.iter().filter(|(thread, _)| woken & bit(*thread) != 0) {
                branches.push((event, at(sleeping, woken & !bit(thread))));
            }
            for &(thread, event) in timeout.iter().filter(|(thread, _)| sleeping & bit(*thread) != 0) {
                branches.push((event, at(sleeping & !bit(thread), woken)));
            }
            for &(_, event) in &broadcast {
                branches.push((event, at(0, sleeping | woken)));
            }
            for &(_, event) in &signal {
                let chosen = waiters.iter().map(|&thread| bit(thread)).filter(|bit| sleeping & bit != 0);
                let before = branches.len();
                branches.extend(chosen.map(|bit| (event, at(sleeping & !bit, woken | bit))));
                if branches.len() == before {
                    branches.push((event, at(sleeping, woken)));
                }
            }
            let body = self.model.menu(branches);
            self.model.define(definition, body);
        }
        Ok(states[&(0, 0)].1)
    }

    /// One process for all rounds of a barrier, created for the slot of the first round.
    fn barrier(&mut self, slot: Slot) -> Option<ProcId> {
        let part = |slot: &Slot| self.sync.contains_key(slot);
        if self.sync[&slot].previous.as_ref().is_some_and(part) {
            return None;
        }
        let mut rounds = vec![slot];
        loop {
            let last = rounds[rounds.len() - 1];
            let next = self.sync.iter().find(|(_, used)| used.previous == Some(last));
            match next {
                Some((&next, _)) => rounds.push(next),
                None => break,
            }
        }
        let full: Vec<u32> = rounds
            .iter()
            .map(|&round| {
                let events = self.trace.events.iter();
                events.filter(|event| matches!(event.op, SyncOp::Arrive { round: other, .. } if other == round)).count()
                    as u32
            })
            .collect();
        let mut states = BTreeMap::new();
        for (number, &arrivals) in full.iter().enumerate() {
            for count in 0..=arrivals {
                states.insert((number, count), self.declare("BARRIER", slot, &format!("_{number}_{count}")));
            }
        }
        for (&(number, count), &(definition, here)) in &states {
            let mut branches: Vec<(EventId, ProcId)> = Vec::new();
            let complete = count == full[number];
            if !complete {
                let arrive = self.channel(rounds[number], "arrive");
                branches.extend(arrive.into_iter().map(|(_, event)| (event, states[&(number, count + 1)].1)));
            } else if number + 1 < rounds.len() {
                let arrive = self.channel(rounds[number + 1], "arrive");
                branches.extend(arrive.into_iter().map(|(_, event)| (event, states[&(number + 1, 1)].1)));
            }
            for (earlier, &round) in rounds.iter().enumerate().take(number + 1) {
                if earlier < number || complete {
                    let leave = self.channel(round, "leave");
                    branches.extend(leave.into_iter().map(|(_, event)| (event, here)));
                }
            }
            let body = self.model.menu(branches);
            self.model.define(definition, body);
        }
        Some(states[&(0, 0)].1)
    }
}
