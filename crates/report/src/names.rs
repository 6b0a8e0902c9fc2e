//! Names for the objects of one execution.

use std::cell::RefCell;
use std::collections::BTreeMap;

use raddle_model::finding::{ObjectInfo, ObjectKind, Place};
use raddle_model::object::{FileOp, Namer};
use raddle_model::{Access, AccessKind, Event, Execution, Op, Operation as _, ThreadInfo, ThreadPath};
use raddle_vocab::io::{self, Endpoint};
use raddle_vocab::policy::mix;

use crate::symbols::{BlockUse, FrameRegisters, Named, Symbols, is_own_code};

/// What lies at an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located {
    /// Variable with field and index, where there is a name at all.
    pub variable: Option<String>,
    /// The object that it is part of, if it is known.
    pub object: Option<ObjectInfo>,
    /// A short name for lists and tables. Never empty: if nothing is known, it is the address.
    pub short: String,
}

/// A point of an execution: addresses of heap blocks are used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Before this element of [`Execution::accesses`].
    Access(u32),
    /// Before this element of [`Execution::events`].
    Event(u32),
    /// The end.
    End,
}

/// A heap block of the execution.
#[derive(Clone, Debug)]
struct Block {
    /// Number of the access that is its allocation.
    number: u32,
    /// Events before it.
    after: u32,
    start: u64,
    size: u64,
    /// Return address of its allocation.
    pc: u64,
    /// `#3` for the third block that main allocated, `#T1.3` for T1's third: a name that does not
    /// depend on the schedule.
    label: String,
}

/// Return addresses, innermost first, of what a run was asked to record.
#[derive(Clone, Copy, Debug)]
pub struct CallStacks<'a> {
    /// By the numbers of events.
    pub events: &'a BTreeMap<u32, Vec<u64>>,
    /// By the numbers of allocations and frees among the accesses.
    pub blocks: &'a BTreeMap<u32, Vec<u64>>,
}

/// Names for one execution.
pub struct ExecutionNames<'a> {
    symbols: &'a Symbols,
    threads: Vec<String>,
    /// By address, in the order of their allocation.
    blocks: BTreeMap<u64, Vec<Block>>,
    /// Frames of the threads at the end, innermost first.
    stacks: Vec<Vec<FrameRegisters>>,
    /// Stacks of operations, and of allocations and frees, as far as they were recorded.
    calls: Option<CallStacks<'a>>,
    /// The accesses, which tell what blocks are made of.
    accesses: &'a [Access],
    /// By the number of a block's allocation: the return address of the code that tells its type.
    typed: RefCell<BTreeMap<u32, Option<(u64, BlockUse)>>>,
    /// Where each object was used, in order: the pointers in these functions tell what it is part
    /// of.
    used_at: BTreeMap<u64, Vec<u64>>,
    /// Pipes, files and the like.
    channels: BTreeMap<u64, String>,
    /// What users call the objects that lie in the runtime.
    of_runtime: BTreeMap<u64, &'static str>,
}

impl<'a> ExecutionNames<'a> {
    /// Collects threads, blocks and uses from an execution.
    #[must_use]
    pub fn new(symbols: &'a Symbols, execution: &'a Execution) -> Self {
        let threads: Vec<String> = execution.threads.iter().map(|thread| thread.path.to_string()).collect();
        let mut blocks: BTreeMap<u64, Vec<Block>> = BTreeMap::new();
        let mut made = vec![0u32; threads.len()];
        let numbered = execution.accesses.iter().enumerate();
        for (number, access) in numbered.filter(|(_, access)| access.kind == AccessKind::Alloc) {
            let Some(count) = made.get_mut(usize::from(access.thread)) else { continue };
            *count += 1;
            let label = match access.thread {
                0 => format!("#{count}"),
                thread => format!("#{}.{count}", threads[usize::from(thread)]),
            };
            let (number, after) = (number as u32, access.after);
            let block = Block { number, after, start: access.addr, size: access.size, pc: access.pc, label };
            blocks.entry(access.addr).or_default().push(block);
        }
        let mut used_at = BTreeMap::new();
        let mut channels = BTreeMap::new();
        let mut of_runtime = BTreeMap::new();
        for event in execution.events.iter().chain(execution.pending.iter().map(|pending| &pending.event)) {
            let object = event.op.object();
            let places: &mut Vec<u64> = used_at.entry(object).or_default();
            if places.is_empty()
                && let Some(name) = name_in_runtime(symbols, &event.op)
            {
                of_runtime.insert(object, name);
            }
            if places.len() < MAX_USES && !places.contains(&event.pc) {
                places.push(event.pc);
            }
            if let Op::File(op) = &event.op {
                let has_number = op.descriptor != io::NO_DESCRIPTOR;
                let name: &mut (bool, String) =
                    channels.entry(object).or_insert_with(|| (has_number, channel_name(op, execution)));
                if has_number && !name.0 {
                    *name = (true, channel_name(op, execution));
                }
            }
        }
        let channels = channels.into_iter().map(|(object, (_, name))| (object, name)).collect();
        ExecutionNames {
            symbols,
            threads,
            blocks,
            stacks: Vec::new(),
            calls: None,
            accesses: &execution.accesses,
            typed: RefCell::default(),
            used_at,
            channels,
            of_runtime,
        }
    }

    /// Adds the stacks that a run recorded.
    #[must_use]
    pub fn with_calls(mut self, calls: CallStacks<'a>) -> Self {
        self.calls = Some(calls);
        self
    }

    /// Where the program made an event: the innermost place in its own code, if the stack is known.
    #[must_use]
    pub fn event_place(&self, number: u32, pc: u64) -> Place {
        let stack = self.calls.and_then(|calls| calls.events.get(&number)).filter(|stack| stack.first() == Some(&pc));
        self.symbols.place(stack.map_or(&[pc], Vec::as_slice))
    }

    /// What an event is, in words. Input and output is told by the call that makes it.
    #[must_use]
    pub fn phrase(&self, event: &Event) -> String {
        match &event.op {
            Op::File(op) => self.call_phrase(op, event.pc).unwrap_or_else(|| event.op.phrase(self)),
            op => op.phrase(self),
        }
    }

    /// The function that the program calls there, and the channel, file or port with its
    /// descriptor.
    fn call_phrase(&self, op: &FileOp, pc: u64) -> Option<String> {
        let call = self.symbols.imported_call(pc)?;
        if !op.ordered {
            return Some(call);
        }
        let name = self.channels.get(&op.object()).cloned().unwrap_or_else(|| "a descriptor".into());
        let is_numbered = op.descriptor == io::NO_DESCRIPTOR || name.contains("(descriptor ");
        let number = if is_numbered { String::new() } else { format!(" (descriptor {})", op.descriptor) };
        Some(format!("{call} {name}{number}"))
    }

    /// Adds the local variables of these frames, innermost first in each thread.
    #[must_use]
    pub fn with_stacks(mut self, stacks: Vec<Vec<FrameRegisters>>) -> Self {
        self.stacks = stacks;
        self
    }

    /// The local variable at an address.
    fn local(&self, address: u64, length: u64) -> Option<Located> {
        // A frame reaches from its stack pointer to where its caller's stack pointer was.
        let holds = |frame: &&FrameRegisters| {
            frame.sp <= address && self.symbols.frame_address(frame).is_some_and(|end| address < end)
        };
        let frame = self.stacks.iter().flatten().find(holds)?;
        self.symbols.local(frame, address, length).map(located)
    }

    /// The name of `length` bytes at an address, accessed from the return addresses `pcs`.
    #[must_use]
    pub fn locate(&self, address: u64, length: u64, pcs: &[u64]) -> Located {
        self.locate_at(Moment::End, address, length, pcs)
    }

    /// As [`ExecutionNames::locate`]; of the heap blocks that had this address, the one of that
    /// moment counts.
    #[must_use]
    pub fn locate_at(&self, moment: Moment, address: u64, length: u64, pcs: &[u64]) -> Located {
        if let Some(&name) = self.of_runtime.get(&address) {
            return Located { variable: Some(name.into()), object: None, short: name.into() };
        }
        if let Some(named) = self.symbols.global(address, length) {
            return located(named);
        }
        match self.block_at(address, moment) {
            Some(block) => self.in_block(block, address - block.start, length, pcs),
            None => self.local(address, length).unwrap_or_else(|| {
                let is_descriptor = raddle_vocab::DESCRIPTORS.contains(&address);
                let short = if is_descriptor { "a file descriptor".into() } else { format!("{address:#x}") };
                Located { variable: None, object: None, short }
            }),
        }
    }

    /// Places that a return address stands for, innermost first.
    #[must_use]
    pub fn frames(&self, pc: u64) -> Vec<Place> {
        self.symbols.frames(pc)
    }

    /// The innermost place in the program's own code of a stack, or of a lone return address.
    #[must_use]
    pub fn place(&self, pcs: &[u64]) -> Place {
        self.symbols.place(pcs)
    }

    fn block_at(&self, address: u64, moment: Moment) -> Option<&Block> {
        let (_, blocks) = self.blocks.range(..=address).next_back()?;
        let is_there = |block: &&Block| match moment {
            Moment::Access(number) => block.number < number,
            Moment::Event(number) => block.after <= number,
            Moment::End => true,
        };
        let block = blocks.iter().rev().find(is_there)?;
        (address - block.start < block.size.max(1)).then_some(block)
    }

    fn in_block(&self, block: &Block, offset: u64, length: u64, pcs: &[u64]) -> Located {
        let allocated = self.symbols.place(&self.allocation(block));
        let name = |(pc, what)| self.symbols.in_block(pc, what, block.size, (offset, length));
        let uses = pcs.iter().map(|&pc| (pc, BlockUse::Access)).chain([(block.pc, BlockUse::Allocation)]);
        // One block has one type, wherever it is used.
        let by_type = self.type_of(block).and_then(name).or_else(|| uses.clone().find_map(name));
        let typed = by_type.and_then(|guess| guess.by_type(&block.label));
        // A pointer in a library says nothing to the user.
        let is_own = |(pc, _): &(u64, BlockUse)| self.symbols.frames(*pc).first().is_some_and(is_own_code);
        let pointer = uses.filter(is_own).find_map(name).and_then(|guess| guess.by_pointer());
        let variable = pointer.or_else(|| typed.clone());
        let at = if offset == 0 { String::new() } else { format!("+{offset}") };
        let short = typed.unwrap_or_else(|| format!("heap{}{at}", block.label));
        let object = ObjectInfo {
            kind: ObjectKind::Heap,
            name: None,
            size: Some(block.size),
            offset,
            allocated: Some(allocated),
        };
        Located { variable, object: Some(object), short }
    }
}

impl ExecutionNames<'_> {
    /// The stack of an allocation, as far as it is known.
    fn allocation(&self, block: &Block) -> Vec<u64> {
        let recorded = self.calls.and_then(|calls| calls.blocks.get(&block.number));
        recorded.filter(|stack| stack.first() == Some(&block.pc)).cloned().unwrap_or_else(|| vec![block.pc])
    }

    /// The code in which one pointer fits a block exactly: where it is allocated, or where it is
    /// first used, which is its constructor or what fills it.
    fn type_of(&self, block: &Block) -> Option<(u64, BlockUse)> {
        if let Some(known) = self.typed.borrow().get(&block.number) {
            return *known;
        }
        let is_exact = |&(pc, what, part): &(u64, BlockUse, (u64, u64))| {
            let name = self.symbols.in_block(pc, what, block.size, part);
            name.is_some_and(|name| name.is_whole())
        };
        let allocation = self.allocation(block);
        // The result goes outward as far as functions return pointers.
        let handed_out = allocation.iter().take_while(|&&pc| self.symbols.may_hand_out(pc)).count();
        let whole = (0, block.size);
        let allocation = allocation.into_iter().take(handed_out + 1).map(|pc| (pc, BlockUse::Allocation, whole));
        let later = self.accesses.iter().skip(block.number as usize + 1).take(MAX_ACCESSES);
        let inside = |access: &&Access| (block.start..block.start + block.size).contains(&access.addr);
        let mut uses: Vec<(u64, BlockUse, (u64, u64))> = Vec::new();
        for access in later.take_while(|access| access.kind != AccessKind::Free || access.addr != block.start) {
            if inside(&access) && uses.len() < MAX_USES && uses.iter().all(|&(pc, ..)| pc != access.pc) {
                uses.push((access.pc, BlockUse::Access, (access.addr - block.start, access.size)));
            }
        }
        let found = allocation.chain(uses).find(is_exact).map(|(pc, what, _)| (pc, what));
        self.typed.borrow_mut().insert(block.number, found);
        found
    }
}

impl Namer for ExecutionNames<'_> {
    fn object(&self, address: u64) -> String {
        if let Some(name) = self.channels.get(&address) {
            return name.clone();
        }
        let pcs = self.used_at.get(&address).map_or(&[][..], Vec::as_slice);
        self.locate(address, 1, pcs).short
    }

    fn thread(&self, number: u64) -> String {
        let known = usize::try_from(number).ok().and_then(|number| self.threads.get(number));
        known.cloned().unwrap_or_else(|| format!("thread {number}"))
    }
}

/// The most places of use that are looked at for the name of one object.
const MAX_USES: usize = 16;
/// The most accesses behind an allocation that are looked at for the type of the block.
const MAX_ACCESSES: usize = 1 << 14;

/// `pipe#2` for the second that main made, `pipe#T1.2` for T1's second.
fn channel_name(op: &FileOp, execution: &Execution) -> String {
    let object = op.object();
    if let Some(endpoint) = Endpoint::of(object) {
        return match endpoint {
            Endpoint::Socket(_) if op.descriptor == io::NO_DESCRIPTOR => "a connection".into(),
            Endpoint::Socket(_) => format!("a socket (descriptor {})", op.descriptor),
            Endpoint::Port { datagrams: false, number } => format!("TCP port {number}"),
            Endpoint::Port { datagrams: true, number } => format!("UDP port {number}"),
            Endpoint::Name(_) if op.descriptor == io::NO_DESCRIPTOR => "a Unix socket".into(),
            Endpoint::Name(_) => format!("a Unix socket (descriptor {})", op.descriptor),
            Endpoint::Queue(descriptor) => format!("an epoll queue (descriptor {descriptor})"),
        };
    }
    if io::is_file(object) {
        return if op.ordered { "a file" } else { "state of the process" }.into();
    }
    let made = |thread: &ThreadInfo| {
        let (kind, number) = io::channel_of(object, key_of(&thread.path))?;
        let by = if thread.path.0.is_empty() { String::new() } else { format!("{}.", thread.path) };
        Some(format!("{}#{by}{number}", kind.word()))
    };
    execution.threads.iter().find_map(made).unwrap_or_else(|| "a descriptor".into())
}

/// What users call an object that lies in the runtime: it stands for one of the C library.
fn name_in_runtime(symbols: &Symbols, op: &Op) -> Option<&'static str> {
    let name = match op {
        Op::Mutex(_) => "lock of the C library",
        Op::Atomic(_) => "request to cancel a thread",
        _ => return None,
    };
    let is_in_runtime = |named: Named| named.object.starts_with("raddle_rt::state::");
    symbols.global(op.object(), 1).is_some_and(is_in_runtime).then_some(name)
}

/// What the runtime derives the identities of a thread's channels from: main has the key 1.
fn key_of(path: &ThreadPath) -> u64 {
    path.0.iter().fold(1, |key, &nth| mix(key ^ mix(u64::from(nth))))
}

fn located(named: Named) -> Located {
    let object = ObjectInfo {
        kind: named.kind,
        name: Some(named.object),
        size: named.size,
        offset: named.offset,
        allocated: None,
    };
    Located { short: named.part.clone(), variable: Some(named.part), object: Some(object) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symbols::Modules;
    use raddle_model::{ThreadInfo, ThreadPath};
    use std::path::Path;

    fn execution() -> Execution {
        let mut execution = Execution::empty();
        execution.threads =
            vec![ThreadInfo::default(), ThreadInfo { path: ThreadPath(vec![1]), parent: Some(0), name: None }];
        let alloc = |thread, addr, size| Access {
            thread,
            kind: AccessKind::Alloc,
            volatile: false,
            addr,
            size,
            pc: 0x10,
            after: 0,
            count: 0,
        };
        execution.accesses = vec![alloc(0, 0x1000, 64), alloc(1, 0x2000, 8), alloc(0, 0x1000, 16)];
        execution
    }

    #[test]
    fn heap_blocks_are_named_by_allocating_thread() {
        let symbols = Symbols::new(&Modules::of_program(Path::new("/nonexistent")), Path::new("/"));
        let execution = execution();
        let names = ExecutionNames::new(&symbols, &execution);
        // The address was used again: at the end the second block counts.
        assert_eq!(names.locate_at(Moment::Access(2), 0x1008, 4, &[]).short, "heap#1+8");
        assert_eq!(names.locate(0x1008, 4, &[]).short, "heap#2+8");
        assert_eq!(names.locate(0x1000, 4, &[]).short, "heap#2");
        assert_eq!(names.locate(0x2000, 4, &[]).short, "heap#T1.1");
        assert_eq!(names.locate(0x1010, 4, &[]).short, "0x1010");
        let object = names.locate(0x1008, 4, &[]).object.unwrap();
        assert_eq!((object.kind, object.size, object.offset), (ObjectKind::Heap, Some(16), 8));
        assert_eq!(object.allocated.unwrap().function.as_deref(), Some("0x10"));
    }

    #[test]
    fn threads_have_their_paths() {
        let symbols = Symbols::new(&Modules::default(), Path::new("/"));
        let execution = execution();
        let names = ExecutionNames::new(&symbols, &execution);
        assert_eq!(names.thread(1), "T1");
        assert_eq!(names.thread(9), "thread 9");
    }
}
