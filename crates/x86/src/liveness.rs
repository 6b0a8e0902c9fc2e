//! Liveness: what a function may still read of its frame and registers.

use crate::decode::{ControlFlow, Instruction, LONGEST, OperandAccess, decode};

/// Branch targets that are followed, at most; a function with more of them is taken to read
/// everything.
const PLACES: usize = 192;
/// Instructions that are decoded, at most.
const INSTRUCTIONS: usize = 6000;
/// The register of the first argument.
const FIRST_ARGUMENT: u16 = 1 << 7;
/// Registers that do not outlive a call: all but rbx, rsp, rbp and r12 to r15.
const SHORT_LIVED: u16 = 0b0000_1111_1100_0111;

/// Bytes of an access that is recorded, at most.
const LONGEST_RECORDED: i32 = 16;

/// What may be dead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameStorage {
    /// The byte at this distance from the frame pointer.
    Byte(i32),
    /// One of the registers that outlive calls, by its number.
    Register(u8),
}

/// The program's code.
pub trait CodeReader {
    /// The bytes from this address on.
    fn fetch(&mut self, pc: u64) -> Option<[u8; LONGEST]>;
    /// Whether the function at this address only records the pointer that it is given.
    fn only_records_access(&mut self, function: u64) -> bool;
}

/// What becomes of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// The function may read it.
    Alive,
    /// It is dead for the function. Other functions may have pointers to it: to the variable that
    /// starts at this distance from the frame pointer, if the function writes one.
    Dead(Option<i32>),
    /// It is dead, and has no address: the function writes it and records no access. A variable whose
    /// address is known elsewhere has a hook at each access.
    DeadWithoutAddress,
}

/// Whether the function that continues at `pc` writes the place on every path before it reads it; a
/// byte of the frame may also be released with it. A byte that it never writes is dead only if the
/// function addresses all memory of its frame by the frame pointer.
#[must_use]
pub fn use_of(pc: u64, place: FrameStorage, code: &mut dyn CodeReader) -> Use {
    let mut walk = Walk {
        code,
        places: [pc; PLACES],
        len: 1,
        budget: INSTRUCTIONS,
        start: None,
        pointed: None,
        is_recorded: false,
        leaves: false,
        is_by_stack_pointer: false,
    };
    let mut next = 0;
    while next < walk.len {
        if walk.follow(walk.places[next], place).is_none() {
            return Use::Alive;
        }
        next += 1;
    }
    match walk.start {
        Some(start) if walk.pointed.is_none_or(|pointed| pointed < start) => {
            if walk.is_recorded {
                Use::Dead(Some(start))
            } else {
                Use::DeadWithoutAddress
            }
        }
        None if walk.leaves && !walk.is_by_stack_pointer && walk.pointed.is_none() => Use::Dead(None),
        _ => Use::Alive,
    }
}

/// Whether the place is dead for the function that continues at `pc`.
#[must_use]
pub fn is_dead(pc: u64, place: FrameStorage, code: &mut dyn CodeReader) -> bool {
    use_of(pc, place, code) != Use::Alive
}

/// All paths from one place.
struct Walk<'a> {
    code: &'a mut dyn CodeReader,
    /// Where the paths begin that were or will be followed.
    places: [u64; PLACES],
    len: usize,
    budget: usize,
    /// Where the variable starts that the byte belongs to, if it is written.
    start: Option<i32>,
    /// Where the nearest object starts to which there are pointers and that the byte may be part
    /// of.
    pointed: Option<i32>,
    /// Whether an access to the byte is recorded.
    is_recorded: bool,
    /// Whether some path releases the frame.
    leaves: bool,
    /// Whether some memory is addressed by the stack pointer.
    is_by_stack_pointer: bool,
}

/// What an instruction means for the place.
enum Meaning {
    Nothing,
    Written,
}

impl Walk<'_> {
    /// Follows a path to where the place is written or released; `None` if it is read, or may be.
    fn follow(&mut self, from: u64, place: FrameStorage) -> Option<()> {
        let mut at = from;
        loop {
            self.budget = self.budget.checked_sub(1)?;
            let instruction = decode(&self.code.fetch(at)?)?;
            let end = at.wrapping_add(instruction.length as u64);
            self.is_by_stack_pointer |= instruction.is_by_stack_pointer;
            let meaning = match place {
                FrameStorage::Byte(distance) => self.byte(distance, &instruction, end)?,
                FrameStorage::Register(number) => self.register(number, &instruction)?,
            };
            if matches!(meaning, Meaning::Written) {
                return Some(());
            }
            match instruction.flow {
                ControlFlow::Next | ControlFlow::Call(_) => {}
                ControlFlow::Branch(by) => self.add(end.wrapping_add_signed(by))?,
                ControlFlow::Jump(by) => return self.add(end.wrapping_add_signed(by)),
                // The caller may read the register.
                ControlFlow::Leave | ControlFlow::End if matches!(place, FrameStorage::Register(_)) => return None,
                ControlFlow::Leave => {
                    self.leaves = true;
                    return Some(());
                }
                ControlFlow::End => return Some(()),
                ControlFlow::Unknown => return None,
            }
            at = end;
        }
    }

    /// Adds a place to follow, unless it is known; `None` if there is no room.
    fn add(&mut self, place: u64) -> Option<()> {
        if !self.places[..self.len].contains(&place) {
            *self.places.get_mut(self.len)? = place;
            self.len += 1;
        }
        Some(())
    }

    fn byte(&mut self, distance: i32, instruction: &Instruction, end: u64) -> Option<Meaning> {
        let Some(operand) = instruction.operand else { return Some(Meaning::Nothing) };
        let first = operand.displacement;
        let behind = distance.saturating_sub(first);
        match operand.access {
            OperandAccess::Reads(size) if (0..i32::from(size)).contains(&behind) => return None,
            OperandAccess::Writes(size) if (0..i32::from(size)).contains(&behind) => {
                self.start = Some(self.start.map_or(first, |start| start.min(first)));
                return Some(Meaning::Written);
            }
            OperandAccess::Points if behind >= 0 => {
                if self.is_only_noted(instruction, end) {
                    self.is_recorded |= behind < LONGEST_RECORDED;
                } else {
                    self.pointed = Some(self.pointed.map_or(first, |nearest| nearest.max(first)));
                }
            }
            OperandAccess::Reads(_) | OperandAccess::Writes(_) | OperandAccess::Points => {}
        }
        Some(Meaning::Nothing)
    }

    fn register(&mut self, number: u8, instruction: &Instruction) -> Option<Meaning> {
        if instruction.reads >> number & 1 != 0 {
            return None;
        }
        if instruction.writes >> number & 1 == 0 {
            return Some(Meaning::Nothing);
        }
        self.start = Some(0);
        Some(Meaning::Written)
    }

    /// Whether the pointer that the instruction makes is passed to a function that only records it,
    /// and used nowhere else: it is made for the first argument, perhaps by way of another register
    /// that does not outlive the call.
    fn is_only_noted(&mut self, instruction: &Instruction, end: u64) -> bool {
        let mut holder = instruction.writes;
        let mut at = end;
        for _ in 0..2 {
            let Some(next) = self.code.fetch(at).and_then(|bytes| decode(&bytes)) else { return false };
            at = at.wrapping_add(next.length as u64);
            match next.flow {
                ControlFlow::Call(by) => {
                    return holder == FIRST_ARGUMENT && self.code.only_records_access(at.wrapping_add_signed(by));
                }
                ControlFlow::Next if next.operand.is_none() && next.reads == holder && holder & SHORT_LIVED != 0 => {
                    holder = next.writes;
                }
                _ => return false,
            }
        }
        false
    }
}
