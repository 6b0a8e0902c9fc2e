//! Pointers to live stacks.
//!
//! The code of a function tells which bytes of its frame it will read itself ([`liveness`]). Other
//! functions and other threads read them through pointers. So a byte that is dead for its own
//! function is alive all the same if there is a pointer that may lead to it. Saved registers have
//! no address. What a function writes without a hook is a temporary, or a variable of which no
//! pointer is stored anywhere or outlives a call: compilers leave out the hook then. Such pointers
//! are in registers of the thread, in the function's frame, and in frames of functions that it has
//! called.
//!
//! # Rule
//! The pointers that count are the smallest set such that
//! * a pointer counts that lies outside of live stacks: in a register, in memory, or in what the
//!   runtime keeps for the program;
//! * a pointer on a live stack counts if its own word is alive: its function may read it, or
//!   another pointer that counts leads to it.
//!
//! Without the second part, each temporary of unoptimised code would keep its frame alive.
//!
//! # What it misses
//! Pointers in another form, that are computed from other words. Busy waiting also misses those
//! that are not aligned, in packed structures. Variables of functions without hooks count as
//! temporaries.

use crate::arch::entry::Registers;
use crate::liveness::{Frames, WordUse};
use crate::state::{Fiber, Global};

/// Pointers that are told apart; with more of them, nothing is dead.
const MOST_POINTERS: usize = 1024;

/// A live stack: from the stack pointer of its thread up.
#[derive(Clone, Copy)]
pub struct LiveStack {
    /// The stack pointer, and one past the highest address of the whole stack.
    pub live: (usize, usize),
    /// Its functions.
    pub frames: Frames,
}

impl LiveStack {
    /// Of no thread.
    pub const NONE: LiveStack = LiveStack { live: (0, 0), frames: Frames::NONE };

    /// Of a thread with this stack that entered the runtime with these registers, and goes on at
    /// `pc`.
    pub fn of(bounds: (usize, usize), registers: &Registers, pc: u64) -> LiveStack {
        LiveStack { live: (registers.sp as usize, bounds.1), frames: Frames::of(bounds, registers, pc) }
    }

    /// Whether the address lies on it.
    pub fn contains(&self, address: usize) -> bool {
        (self.live.0..self.live.1).contains(&address)
    }

    /// What functions do with the byte.
    pub fn use_of_byte(&self, address: usize) -> ByteUse {
        let byte = address % size_of::<u64>();
        let WordUse { alive, addressed, unshared } = self.frames.word_use(address - byte);
        let is_in = |mask: u64| mask >> (8 * byte) & 0xff != 0;
        match () {
            () if is_in(alive) => ByteUse::Alive,
            () if is_in(addressed) => ByteUse::Dead(Holders::Any),
            () if is_in(unshared) => ByteUse::Dead(Holders::Chain),
            () => ByteUse::Dead(Holders::None),
        }
    }
}

/// What functions do with a byte of a stack.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum ByteUse {
    /// One may read it.
    Alive,
    /// It is dead for its own function, and pointers to it may be there.
    Dead(Holders),
}

/// Where pointers to a byte may be.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Holders {
    /// There are none.
    None,
    /// In registers of the thread, in the frame of the byte's function, and in those of functions
    /// that it has called.
    Chain,
    /// Anywhere.
    Any,
}

/// A word that is an address on a live stack.
#[derive(Clone, Copy)]
struct Pointer {
    to: usize,
    /// Where it lies on a live stack; 0 if it lies elsewhere.
    at: usize,
    /// The place of the stack whose functions have it: where it lies, or the end of the stack if it
    /// is in a register; 0 if it is elsewhere.
    place: usize,
    counts: bool,
    /// Whether a function has it as its frame pointer.
    is_frame_pointer: bool,
}

impl Pointer {
    const NONE: Pointer = Pointer { to: 0, at: 0, place: 0, counts: false, is_frame_pointer: false };
}

/// Pointers to live stacks.
pub struct Pointers {
    list: [Pointer; MOST_POINTERS],
    len: usize,
    /// The lowest address on a live stack, and one past the highest.
    reach: (usize, usize),
    are_too_many: bool,
}

static POINTERS: Global<Pointers> =
    Global::new(Pointers { list: [Pointer::NONE; MOST_POINTERS], len: 0, reach: (0, 0), are_too_many: false });

/// An empty collection for pointers to these stacks. There is one at a time.
pub fn none(stacks: &[LiveStack]) -> &'static mut Pointers {
    // SAFETY: rule 4 of the crate; the static lives for ever.
    let pointers = unsafe { &mut *POINTERS.get() };
    (pointers.len, pointers.are_too_many) = (0, false);
    pointers.reach = stacks
        .iter()
        .fold((usize::MAX, 0), |(lowest, highest), stack| (lowest.min(stack.live.0), highest.max(stack.live.1)));
    pointers
}

impl Pointers {
    /// Whether the address lies between the lowest and the highest of all stacks.
    #[inline(always)]
    pub fn may_lead_to_one(&self, address: usize) -> bool {
        (self.reach.0..self.reach.1).contains(&address)
    }

    /// Adds a word that lies outside of live stacks, if it points to one of them.
    pub fn add(&mut self, word: u64, stacks: &[LiveStack]) {
        self.add_one(Pointer { to: word as usize, counts: true, ..Pointer::NONE }, stacks);
    }

    /// Adds the registers with which a thread called the runtime.
    pub fn add_registers(&mut self, registers: &Registers, stacks: &[LiveStack]) {
        for (index, word) in registers.saved.into_iter().enumerate() {
            let is_frame_pointer = index == Registers::FRAME_POINTER;
            let (to, place) = (word as usize, registers.sp as usize);
            self.add_one(Pointer { to, place, counts: true, is_frame_pointer, ..Pointer::NONE }, stacks);
        }
    }

    /// Adds an argument of the call that a thread with this stack pointer is in.
    pub fn add_argument(&mut self, word: u64, sp: usize, stacks: &[LiveStack]) {
        self.add_one(Pointer { to: word as usize, place: sp, counts: true, ..Pointer::NONE }, stacks);
    }

    /// Adds a word that lies at this address of a live stack, if it points to one of them.
    pub fn add_from(&mut self, word: u64, at: usize, stacks: &[LiveStack]) {
        if !self.may_lead_to_one(word as usize) {
            return;
        }
        let is_frame_pointer = stacks.iter().any(|stack| stack.frames.is_saved_frame_pointer(at));
        self.add_one(Pointer { to: word as usize, at, place: at, counts: false, is_frame_pointer }, stacks);
    }

    fn add_one(&mut self, pointer: Pointer, stacks: &[LiveStack]) {
        if !self.may_lead_to_one(pointer.to) || !stacks.iter().any(|stack| stack.contains(pointer.to)) {
            return;
        }
        match self.list.get_mut(self.len) {
            Some(place) => {
                *place = pointer;
                self.len += 1;
            }
            None => self.are_too_many = true,
        }
    }

    /// Adds the operands of the operation that a thread is before.
    pub fn add_pending(&mut self, fiber: &Fiber, stacks: &[LiveStack]) {
        self.add(fiber.pending.obj, stacks);
        self.add(fiber.pending.arg, stacks);
    }

    /// Adds what the runtime keeps for the program of a thread.
    pub fn add_kept(&mut self, fiber: &Fiber, stacks: &[LiveStack]) {
        let private = &fiber.private;
        for word in
            [fiber.entry.1 as u64, fiber.result as u64, private.cleanup as u64, private.robust, private.spare_semaphore]
        {
            self.add(word, stacks);
        }
    }

    /// All were added: finds out which of them count.
    pub fn settle(&mut self, stacks: &[LiveStack]) {
        let owner = |at: usize| stacks.iter().find(|stack| stack.contains(at));
        // Those for which it is open stay in the first part of the list.
        let mut open = 0;
        for index in 0..self.len {
            let at = self.list[index].at;
            let word = owner(at).map(|stack| stack.frames.word_use(at));
            self.list[index].counts = word.is_none_or(|word| word.alive != 0);
            if word.is_some_and(|word| word.alive == 0 && word.addressed | word.unshared != 0) {
                self.list.swap(index, open);
                open += 1;
            }
        }
        let mut is_settled = false;
        while !is_settled {
            is_settled = true;
            for index in 0..open {
                let Pointer { at, counts, .. } = self.list[index];
                if !counts && owner(at).is_none_or(|stack| self.live_bytes(stack, at) != 0) {
                    self.list[index].counts = true;
                    is_settled = false;
                }
            }
        }
    }

    /// The bytes of the word that are not dead: functions may read them, or one of the pointers
    /// leads there. What leads to one byte of a word leads to the last.
    pub fn live_bytes(&self, stack: &LiveStack, word: usize) -> u64 {
        let WordUse { mut alive, addressed, unshared } = stack.frames.word_use(word);
        let last = word + size_of::<u64>() - 1;
        for (bytes, holders) in [(addressed, Holders::Any), (unshared, Holders::Chain)] {
            if bytes != 0 && self.lead_to(stack, last, holders) {
                alive |= bytes;
            }
        }
        alive
    }

    /// Whether one of them may lead to the byte on the stack, which is dead for its own function.
    pub fn lead_to(&self, stack: &LiveStack, byte: usize, holders: Holders) -> bool {
        if self.are_too_many {
            return true;
        }
        let Some(reach) = stack.frames.reach(byte) else { return true };
        let is_holder = |place: usize| match holders {
            Holders::None => false,
            Holders::Chain => stack.contains(place) && reach.is_in_chain(place),
            Holders::Any => true,
        };
        self.list[..self.len].iter().any(|pointer| {
            let is_other = || !pointer.is_frame_pointer || !reach.is_frame_pointer(pointer.to);
            pointer.counts && reach.contains(pointer.to) && is_holder(pointer.place) && is_other()
        })
    }
}
