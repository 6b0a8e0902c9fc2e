//! From what the search met to a finding in the user's words.

use std::collections::BTreeMap;

use raddle_exec::decode::Detail;
use raddle_model::defect::{Defect, Held, Part, PartPosition, locks_held};
use raddle_model::finding::{AccessReport, Created, Finding, HeldLock, Kind, ObjectInfo, ObjectKind, Place, Wait};
use raddle_model::object::{Namer as _, ThreadOp};
use raddle_model::race::{Race, Touching};
use raddle_model::{AccessKind, Event, Execution, Incident, IncidentKind, Op, Operation as _};
use raddle_report::annotated::{AnnotatedTrace, TraceAnnotator};
use raddle_report::names::{CallStacks, ExecutionNames, Located, Moment};
use raddle_report::symbols::{FrameRegisters, Symbols, demangle_type, is_own_code};
use raddle_vocab::{Failure, OpKind};

use super::message::{MessageArgs, message};

/// An execution with the names of what is in it.
pub struct FindingBuilder<'a> {
    names: ExecutionNames<'a>,
    execution: &'a Execution,
    /// Stacks, if the run recorded them.
    detail: Option<&'a Detail>,
}

impl<'a> FindingBuilder<'a> {
    /// Reads the names off an execution.
    pub fn new(symbols: &'a Symbols, execution: &'a Execution, detail: Option<&'a Detail>) -> Self {
        let mut names = ExecutionNames::new(symbols, execution);
        if let Some(detail) = detail {
            let calls = CallStacks { events: &detail.events, blocks: &detail.blocks };
            names = names.with_stacks(frames(execution, detail)).with_calls(calls);
        }
        FindingBuilder { names, execution, detail }
    }

    /// Tells a thread that stands at its access in this run as the run shows it: what it holds, and
    /// where it was created.
    pub fn tell_thread(&self, access: &mut AccessReport, thread: u16) {
        let held = locks_held(&self.execution.events, thread, self.execution.events.len());
        self.tell_held(access, &held);
        access.created = self.created(thread);
    }

    fn tell_held(&self, access: &mut AccessReport, held: &[Held]) {
        access.locks = held.iter().map(|held| self.lock_name(held)).collect();
        access.held = held.iter().map(|held| self.held(held)).collect();
    }

    fn held(&self, held: &Held) -> HeldLock {
        let place = self.names.event_place(held.event, held.pc);
        HeldLock { lock: self.lock_name(held), shared: held.shared, place }
    }

    /// Tells a thread that has left its access behind: its locks are those that it held when the
    /// race was met.
    pub fn tell_earlier(&self, access: &mut AccessReport, thread: u16, held: &[Held]) {
        let place = |held: &Held| {
            let is_same = |event: &Event| (event.thread, event.pc) == (thread, held.pc);
            let mut events = self.execution.events.iter().enumerate();
            let found = events.rfind(|(_, event)| is_same(event) && event.op.object() == held.object);
            found.map_or_else(|| self.names.place(&[held.pc]), |(at, _)| self.names.event_place(at as u32, held.pc))
        };
        let lock = |held: &Held| HeldLock { lock: self.lock_name(held), shared: held.shared, place: place(held) };
        access.held = held.iter().map(lock).collect();
        access.locks = held.iter().map(|held| self.lock_name(held)).collect();
        access.created = self.created(thread);
    }

    /// Names what a race is about once more: local variables are known only where there are stacks.
    pub fn rename(&self, finding: &mut Finding) {
        let span = |access: &AccessReport| {
            let start = u64::from_str_radix(access.address.as_deref()?.strip_prefix("0x")?, 16).ok()?;
            Some((start, start.saturating_add(access.size)))
        };
        let spans: Vec<(u64, u64)> = finding.accesses.iter().filter_map(span).collect();
        let (Some(start), Some(end)) = (spans.iter().map(|span| span.0).max(), spans.iter().map(|span| span.1).min())
        else {
            return;
        };
        let located = self.names.locate(start, end.saturating_sub(start).max(1), &[]);
        if let (Some(object), Some(known)) = (&mut finding.object, &located.object) {
            // The stack of an allocation tells its place better.
            let is_same = (object.kind, object.size, object.offset) == (known.kind, known.size, known.offset);
            if !is_same || object.allocated == known.allocated {
                return;
            }
            object.allocated.clone_from(&known.allocated);
            if finding.variable.is_some() {
                return;
            }
        } else if finding.variable.is_some() || located.variable.is_none() {
            return;
        }
        finding.message = message(&MessageArgs {
            kind: finding.kind,
            detail: finding.detail.as_deref().unwrap_or(""),
            object: &called(&located),
            text: "",
            address: start,
            accesses: &finding.accesses,
        });
        finding.variable = finding.variable.take().or(located.variable);
        finding.object = finding.object.take().or(located.object);
    }

    /// The finding for a defect of this execution; id, witness and the figures of the search are
    /// left to the caller.
    pub fn finding(&self, defect: &Defect) -> Finding {
        let mut accesses: Vec<AccessReport> = defect.parts.iter().map(|part| self.access(defect, part)).collect();
        let located = self.located(defect);
        let text = match defect.signature.detail {
            "exception" => demangle_type(&defect.text),
            _ => defect.text.clone(),
        };
        let message = message(&MessageArgs {
            kind: defect.signature.kind,
            detail: defect.signature.detail,
            object: &located.as_ref().map_or_else(|| "an object".into(), called),
            text: &text,
            address: defect.object.unwrap_or(0),
            accesses: &accesses,
        });
        if defect.signature.detail == "never-joined" {
            // The thread itself did nothing: the place is that of its creation.
            accesses.truncate(1);
        }
        Finding {
            detail: Some(defect.signature.detail.to_string()),
            message,
            variable: located.as_ref().and_then(|located| located.variable.clone()),
            object: located.and_then(|located| located.object),
            ..Finding::new(defect.severity, defect.signature.kind, accesses)
        }
    }

    /// What the defect is about, named from where it is touched. A crash is about an address, not
    /// about an object.
    fn located(&self, defect: &Defect) -> Option<Located> {
        let object = defect.object.filter(|_| !matches!(defect.signature.kind, Kind::Crash | Kind::Assertion))?;
        let pcs: Vec<u64> = defect.parts.iter().map(|part| part.pc).collect();
        let (start, length) = defect.race.as_ref().map_or((object, 1), |race| self.shared_bytes(race));
        let moment = defect.parts.iter().map(|part| self.moment(part)).next().unwrap_or(Moment::End);
        let beside = defect.block.filter(|block| !(block.start..block.end).contains(&start));
        if let Some(block) = beside {
            // Bytes beside a block are no part of a variable.
            let mut located = self.names.locate_at(moment, block.start, 1, &pcs);
            located.variable = None;
            if let Some(object) = &mut located.object {
                object.offset = start.saturating_sub(block.start);
            }
            return Some(located);
        }
        Some(self.names.locate_at(moment, start, length, &pcs))
    }

    /// When a part of a defect happened.
    fn moment(&self, part: &Part) -> Moment {
        match part.position {
            PartPosition::Access(number) => Moment::Access(number),
            PartPosition::Event(number) => Moment::Event(number),
            PartPosition::Incident(number) => Moment::Event(self.execution.incidents[number as usize].after),
            PartPosition::Pending => Moment::End,
        }
    }

    /// The bytes that both sides of a race touch. Where a whole block dies, the other side says
    /// which.
    fn shared_bytes(&self, race: &Race) -> (u64, u64) {
        let first = self.bytes_of(race.first.position.into());
        let second = self.bytes_of(race.second.position.into());
        let start = first.0.max(second.0);
        let end = (first.0 + first.1).min(second.0 + second.1);
        if start < end { (start, end - start) } else { (race.addr, 1) }
    }

    fn bytes_of(&self, position: PartPosition) -> (u64, u64) {
        match position {
            PartPosition::Access(number) => {
                let access = &self.execution.accesses[number as usize];
                (access.addr, access.size)
            }
            PartPosition::Event(number) => {
                let step = &self.execution.events[number as usize];
                {
                    let (address, size) = step.op.bytes();
                    (address, size.max(1))
                }
            }
            PartPosition::Incident(_) | PartPosition::Pending => (0, 0),
        }
    }

    /// One thread's part: its name, what it does and where, what it holds and waits for.
    fn access(&self, defect: &Defect, part: &Part) -> AccessReport {
        let stack = self.stack(defect, part);
        let info = self.execution.threads.get(usize::from(part.thread));
        let is_access = matches!(defect.signature.kind, Kind::DataRace | Kind::Memory);
        let (address, size) = self.bytes_of(part.position);
        AccessReport {
            thread: self.names.thread(u64::from(part.thread)),
            name: info.and_then(|info| info.name.clone()),
            op: self.operation(defect, part),
            size: if is_access { size } else { 0 },
            place: self.names.place(&stack),
            stack: stack.iter().flat_map(|&pc| self.names.frames(pc)).collect(),
            locks: self.locks(part).iter().map(|held| self.lock_name(held)).collect(),
            held: self.locks(part).iter().map(|held| self.held(held)).collect(),
            waits: part.waits.as_ref().map(|waits| Wait {
                object: self
                    .awaited_by_party(part.thread)
                    .unwrap_or_else(|| self.awaited(waits.object, waits.operation, &waits.holders)),
                held_by: waits.holders.iter().map(|&holder| self.names.thread(u64::from(holder))).collect(),
            }),
            address: match &part.waits {
                Some(waits) => (waits.object != 0).then(|| format!("{:#x}", waits.object)),
                None => (is_access && size > 0).then(|| format!("{address:#x}")),
            },
            created: self.created(part.thread),
        }
    }

    /// What is at an address at the end of the run, if that has a name.
    pub fn named(&self, address: u64) -> Option<String> {
        let located = self.names.locate(address, 1, &[]);
        (located.variable.is_some() || located.object.is_some()).then(|| format!("`{}`", located.short))
    }

    fn lock_name(&self, held: &Held) -> String {
        // As waits and schedules name it, so that one lock has one name.
        self.names.object(held.object)
    }

    /// What a thread of a defect holds.
    pub fn locks(&self, part: &Part) -> Vec<Held> {
        if part.waits.is_some() {
            return part.locks.clone();
        }
        let before = match part.position {
            PartPosition::Access(number) => self.execution.accesses[number as usize].after as usize,
            PartPosition::Event(number) => number as usize,
            PartPosition::Incident(number) => self.execution.incidents[number as usize].after as usize,
            PartPosition::Pending => self.execution.events.len(),
        };
        locks_held(&self.execution.events, part.thread, before)
    }

    /// What a party waits for, which the runtime says in words.
    fn awaited_by_party(&self, thread: u16) -> Option<String> {
        let says = |incident: &&Incident| {
            incident.thread == thread && incident.kind == IncidentKind::Failure(Failure::ScriptWaits)
        };
        self.execution.incidents.iter().find(says).map(|incident| incident.text.clone())
    }

    fn awaited(&self, object: u64, operation: OpKind, holders: &[u16]) -> String {
        match (operation, holders) {
            (OpKind::Join, [thread]) => format!("the end of {}", self.names.thread(u64::from(*thread))),
            (OpKind::HandlerReturn, [courier]) => {
                format!("the return of the handler {}", self.names.thread(u64::from(*courier)))
            }
            _ => self.names.object(object),
        }
    }

    /// Return addresses, innermost first.
    fn stack(&self, defect: &Defect, part: &Part) -> Vec<u64> {
        let recorded = self.detail.and_then(|detail| match part.position {
            PartPosition::Incident(number) => detail.incidents.get(number as usize),
            PartPosition::Pending => detail.threads.get(usize::from(part.thread)),
            PartPosition::Access(number) => detail.blocks.get(&number),
            PartPosition::Event(_) => None,
        });
        let mut stack = match recorded {
            Some(stack) if !stack.is_empty() => stack.clone(),
            // A return from main has no call site.
            _ if part.pc == 0 => Vec::new(),
            _ => vec![part.pc],
        };
        // The unwinder gives the address of the instruction that a signal interrupted; all others
        // lie behind a call.
        if defect.signature.kind == Kind::Crash
            && let Some(interrupted) = stack.iter_mut().find(|pc| **pc + 1 == part.pc)
        {
            *interrupted = part.pc;
        }
        // A thread that was met outside of the program's code has come there from the last place
        // that is known.
        if let ([_], PartPosition::Incident(_)) = (&stack[..], part.position)
            && part.pc != 0
            && !is_own_code(&self.names.place(&stack))
        {
            stack.push(part.pc);
        }
        stack
    }

    fn created(&self, thread: u16) -> Option<Created> {
        let is_creation =
            |step: &Event| matches!(step.op, Op::Thread(ThreadOp::Create { child, .. }) if child == thread);
        let is_party = self.execution.threads.get(usize::from(thread)).is_some_and(|info| info.path.party().is_some());
        let mut events = self.execution.events.iter().enumerate();
        let (at, create) = events.find(|(_, step)| is_creation(step)).filter(|_| thread != 0 && !is_party)?;
        let by = self.names.thread(u64::from(create.thread));
        Some(Created { by, place: self.names.event_place(at as u32, create.pc) })
    }

    fn operation(&self, defect: &Defect, part: &Part) -> String {
        let side = defect.race.as_ref().map(|race| [&race.first, &race.second]);
        let side =
            side.and_then(|sides| sides.into_iter().find(|side| PartPosition::from(side.position) == part.position));
        if defect.signature.detail == "descriptor" {
            let is_use = side.is_some_and(|side| side.what == Touching::Read);
            return if is_use { "use" } else { "close" }.to_string();
        }
        let text = match (side.map(|side| side.what), part.position) {
            (Some(Touching::Read), _) => "read",
            (Some(Touching::Write), _) => "write",
            (Some(Touching::Free), _) => "free",
            (Some(Touching::Mapping(change)), _) => change.word(),
            (_, PartPosition::Event(number)) => self.execution.events[number as usize].op.kind().word(),
            (_, PartPosition::Access(number)) => match self.execution.accesses[number as usize].kind {
                AccessKind::Read => "read",
                AccessKind::Write => "write",
                AccessKind::Alloc => "allocate",
                AccessKind::Free => "free",
                AccessKind::Mapping(change) => change.word(),
            },
            (_, PartPosition::Pending) => self.pending_word(part),
            (_, PartPosition::Incident(number)) => {
                let incident = &self.execution.incidents[number as usize];
                return self.incident_word(incident, defect.signature.detail).to_string();
            }
        };
        text.to_string()
    }

    fn pending_word(&self, part: &Part) -> &'static str {
        let operation = part.waits.as_ref().map(|waits| waits.operation);
        let pending = || self.execution.pending.get(usize::from(part.thread)).map(|pending| pending.event.op.kind());
        operation.or_else(pending).map_or("wait", OpKind::word)
    }

    /// A misuse happens in the operation that the thread makes next on that object; other incidents
    /// are named by themselves.
    fn incident_word<'b>(&self, incident: &Incident, detail: &'b str) -> &'b str {
        if !matches!(incident.kind, IncidentKind::Misuse(_)) {
            return detail;
        }
        if incident.obj == 0 {
            return "call";
        }
        let later = self.execution.events.iter().skip(incident.after as usize);
        let next = later.filter(|step| step.thread == incident.thread).find(|step| step.op.object() == incident.obj);
        next.map_or("call", |step| step.op.kind().word())
    }

    /// Adds what the finding is about to the end of a trace, one event for each of its threads that
    /// has something to say.
    pub fn add_ends(&self, trace: &mut AnnotatedTrace, finding: &Finding, ends: &[u16]) {
        let numbered = finding.accesses.len() > 1;
        for (index, (access, &thread)) in finding.accesses.iter().zip(ends).enumerate() {
            let text = match (&access.waits, finding.kind) {
                (Some(wait), _) => format!("waits for {}", wait.object),
                (None, Kind::DataRace) => {
                    let is_heap = finding.object.as_ref().is_some_and(|object| object.kind == ObjectKind::Heap);
                    let unnamed = if is_heap { "the heap block" } else { "memory" };
                    let what = finding.variable.as_deref().unwrap_or(unnamed);
                    format!("{} {what}", access.op)
                }
                (None, _) => access.op.clone(),
            };
            let mark = numbered.then_some(index + 1);
            trace.end(usize::from(thread), &access.op, text, &access.place, mark);
        }
    }

    /// The first `steps` steps with the data accesses in between that threads share.
    pub fn trace(&self, steps: usize, spurious: u32) -> AnnotatedTrace {
        TraceAnnotator::new(&self.names, self.execution, spurious, &BTreeMap::new()).annotate(steps)
    }
}

/// The frames of all threads, innermost first, as far as their registers are known. A thread that
/// has failed stands where it failed.
fn frames(execution: &Execution, detail: &Detail) -> Vec<Vec<FrameRegisters>> {
    let of_thread = |(thread, registers): (usize, &Vec<[u64; 2]>)| {
        let has_failed = || execution.incidents.iter().any(|incident| usize::from(incident.thread) == thread);
        let at_end = detail.threads.get(thread).filter(|stack| !stack.is_empty());
        let stack = at_end.or_else(|| detail.last.get(thread).filter(|_| has_failed()));
        let pcs = stack.into_iter().flatten();
        pcs.zip(registers).map(|(&pc, &[sp, bp])| FrameRegisters { pc, sp, bp }).collect()
    };
    detail.registers.iter().enumerate().map(of_thread).collect()
}

/// What a finding's variable is called in a sentence.
fn called(located: &Located) -> String {
    match (&located.variable, &located.object) {
        (Some(variable), _) => format!("`{variable}`"),
        (None, Some(ObjectInfo { allocated: Some(place), size: Some(size), .. })) => {
            format!("a heap block of {size} bytes from {}", at(place))
        }
        _ => located.short.clone(),
    }
}

/// `bank.c:14` without directories, or the function: a sentence has no room for more.
pub fn at(place: &Place) -> String {
    let short = place.file.as_deref().map(|file| file.rsplit('/').next().unwrap_or(file).to_string());
    let place = Place { file: short, ..place.clone() };
    crate::naming::place_text(&place).unwrap_or_else(|| "an unknown place".into())
}
