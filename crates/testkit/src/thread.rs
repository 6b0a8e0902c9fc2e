//! One thread of a running program.

use raddle_model::object::ThreadOp;
use raddle_model::{Event, Op, Operation as _, PendingState};
use raddle_vocab::policy::mix;

use super::heap::Handle;
use super::program::{HANDLES, POINTERS, REGISTERS};

/// A thread between two transitions: it stands before `pending`.
#[derive(Clone, Debug)]
pub(super) struct Thread {
    /// Which body it runs.
    pub body: usize,
    /// Next instruction of it.
    pub at: usize,
    /// Registers.
    pub regs: [i32; REGISTERS],
    /// Registers of the caller, while it runs the body of a once.
    pub outer: Option<[i32; REGISTERS]>,
    /// Registers of the callers of functions.
    pub frames: Vec<[i32; REGISTERS]>,
    /// Threads that it has created, by slot.
    pub handles: [Option<u16>; HANDLES],
    /// Its pointers to heap blocks.
    pub pointers: [Handle; POINTERS],
    /// Where it allocates from.
    pub arena: u16,
    /// Arenas of threads that it has joined: its next children use them again, the last one first.
    pub arenas: Vec<u16>,
    /// Large blocks of other arenas that it has freed.
    pub foreign: Vec<Handle>,
    /// How many threads it has created.
    pub children: u32,
    /// What it stands before.
    pub pending: Event,
    /// Invariant: `Enabled` while it goes on, whether or not it is blocked just now.
    pub state: PendingState,
    /// Whether `pending` is busy waiting, and the value that it found wanting when it came there.
    pub awaiting: Option<Option<u64>>,
    /// Plain accesses since its last transition.
    pub accesses: u32,
    /// Transitions made.
    pub steps: u32,
    /// Conflicting events of others since its operation became pending.
    pub conflicts: u32,
    /// Hash of its path.
    pub key: u64,
    /// Whether it is inside an atomic section.
    pub in_section: bool,
    /// The thread that it has suspended, if it runs a handler.
    pub onto: u16,
}

impl Thread {
    /// A number for all that the thread's future depends on and that it does not share. Registers
    /// count even if they are dead.
    pub fn digest(&self, name: impl Fn(u16) -> u64) -> u64 {
        let mut sum = mix(self.key);
        let mut add = |value: u64| sum = mix(sum ^ mix(value.wrapping_add(0x51)));
        add(self.state as u64);
        // Its arena and what it has freed are passed on when it is joined.
        [u64::from(self.arena), self.foreign.len() as u64].into_iter().for_each(&mut add);
        self.foreign.iter().for_each(|&handle| add(handle as u64));
        if self.state != PendingState::Enabled {
            return sum;
        }
        let words = [self.body as u64, self.at as u64, u64::from(self.children), self.pending.op.kind() as u64];
        words.into_iter().for_each(&mut add);
        add(self.pending.op.object());
        self.regs.iter().for_each(|&register| add(register as u64));
        for registers in self.outer.iter().chain(&self.frames) {
            add(7);
            registers.iter().for_each(|&register| add(register as u64));
        }
        self.handles.iter().for_each(|handle| add(handle.map_or(0, &name)));
        self.pointers.iter().for_each(|&pointer| add(pointer as u64));
        add(self.arenas.len() as u64);
        self.arenas.iter().for_each(|&arena| add(u64::from(arena)));
        add(u64::from(self.awaiting.is_some()));
        sum
    }

    /// A thread that is about to start.
    pub fn new(number: u16, body: usize, arg: i32, key: u64, arena: u16) -> Self {
        let mut regs = [0; REGISTERS];
        regs[0] = arg;
        Thread {
            body,
            at: 0,
            regs,
            outer: None,
            frames: Vec::new(),
            handles: [None; HANDLES],
            pointers: [0; POINTERS],
            arena,
            arenas: Vec::new(),
            foreign: Vec::new(),
            children: 0,
            pending: Event::new(number, Op::Thread(ThreadOp::Start)),
            state: PendingState::Enabled,
            awaiting: None,
            accesses: 0,
            steps: 0,
            conflicts: 0,
            key,
            in_section: false,
            onto: 0,
        }
    }
}
