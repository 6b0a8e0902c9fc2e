//! Liveness: what a function may still read of the stack and of registers.
//!
//! The code of a function is walked from where it continues, along all its paths, with the stack
//! pointer and the frame pointer as distances from the stack pointer at the start. So functions
//! with and without a frame pointer are the same. A value is dead if every path overwrites or
//! releases its storage before it reads it.
//!
//! What is not seen counts as a read: instructions that are not known, and pointers into the stack
//! that the function makes. How far the object behind such a pointer reaches is not known here
//! ([`CodeReader::may_lead`]). It does not lead to a register that the function has saved and gives
//! back: no variable lies there. Not seen, and left to the caller: accesses through pointers that
//! exist already, and what exceptions and `longjmp` make of a frame.
//!
//! An instruction that counts a variable up or down, or the like, reads it for nothing but the
//! variable itself: the value counts as read only if what becomes of it is.
//!
//! Paths on which two branches contradict each other are left out ([`Facts`]).
//!
//! A jump to a function of another module is a call behind which the function returns.
//!
//! A walk begins where a call returns. Compilers store the arguments of a call on the stack behind
//! all other calls, so arguments that are stored already belong to the call that is under way: its
//! function is asked about them.

use core::marker::PhantomData;

use crate::facts::{Facts, Ways};
use crate::instruction::{Base, Comparison, ControlFlow, Flags, Instruction, OperandAccess, StackEffect};

/// Places that are followed, at most; with more of them, everything counts as read.
const PLACES: usize = 320;
/// Instructions that are decoded, at most.
const INSTRUCTIONS: usize = 6000;
/// Bytes of a word.
const WORD: i32 = 8;
/// Bytes of an access that is recorded, at most.
const LONGEST_RECORDED: i32 = 16;

/// What a walk has to know of a processor.
pub trait InstructionSet {
    /// The bytes of the longest instruction.
    type Bytes;

    /// The number of the stack pointer among the registers.
    const STACK_POINTER: u8;
    /// The number of the register that is the frame pointer, in code that keeps one.
    const FRAME_POINTER: u8;
    /// The register of the first argument, as a mask.
    const FIRST_ARGUMENT: u32;
    /// Registers that do not outlive a call.
    const SHORT_LIVED: u32;
    /// Bytes that a call pushes: the return address. It is passed in a register where this is 0,
    /// and functions that call others save it.
    const CALL_PUSHES: i32;
    /// The register in which a call passes the return address, if it does.
    const LINK: Option<u8> = None;

    /// The first instruction of these bytes; `None` if it is not known.
    fn decode(bytes: &Self::Bytes) -> Option<Instruction>;

    /// Whether the register does not outlive a call.
    #[must_use]
    fn is_short_lived(number: u8) -> bool {
        Self::SHORT_LIVED >> number & 1 != 0
    }
}

/// Where a value is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// The byte at this distance from the stack pointer.
    Byte(i32),
    /// One of the registers that outlive calls, by its number.
    Register(u8),
}

/// What becomes of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is overwritten or released before the function reads it. Other functions may have
    /// pointers to it.
    Dead,
    /// It is dead, and its address is known at most to the function and those that it has called:
    /// it is written without a record of the access. Compilers leave out the hook only for a
    /// variable of which no pointer is stored or outlives a call.
    DeadUnshared,
    /// It may be read.
    Alive,
    /// The function does not read it and returns it in these registers, a bit for each number.
    Returned(u32),
}

/// A function that continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodePlace {
    /// Its next instruction.
    pub pc: u64,
    /// Distance of the frame pointer from the stack pointer, if it points into the stack.
    pub frame_pointer: Option<i32>,
}

/// Where a function finds what it returns to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameEnd {
    /// Distance of the return address from the stack pointer.
    pub return_address: i32,
    /// Distance of the caller's stack pointer, behind the call.
    pub end: i32,
    /// Distance of the caller's frame pointer, if it was saved.
    pub frame_pointer: Option<i32>,
}

/// The program's code.
pub trait CodeReader<I: InstructionSet> {
    /// The bytes from this address on.
    fn fetch(&mut self, pc: u64) -> Option<I::Bytes>;
    /// Whether the function at this address only records the pointer that it is given.
    fn only_records_access(&mut self, function: u64) -> bool;
    /// Whether the function at this address never returns.
    fn never_returns(&mut self, function: u64) -> bool;
    /// Whether the code at this address only jumps to a function of another module.
    fn is_import(&mut self, code: u64) -> bool;
    /// Whether a pointer to one place of the stack may lead to the byte at another. Both are
    /// distances from the stack pointer where the function continues.
    fn may_lead(&mut self, pointer: i32, byte: i32) -> bool;
    /// Whether it is certain that no pointer leads to the byte.
    fn is_private(&self, byte: i32) -> bool;
}

/// Room for a walk.
#[derive(Debug)]
pub struct Scratch {
    states: [State; PLACES],
    len: usize,
}

impl Scratch {
    /// Empty room.
    pub const NEW: Scratch = Scratch { states: [State::NONE; PLACES], len: 0 };
}

/// What a walk looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Goal {
    /// What becomes of a value.
    Value(Storage),
    /// Whether a pointer to it, in this register, is used for more than records of accesses.
    Pointer(u8),
    /// Where the function returns to.
    End,
}

/// A point of a path that was or will be followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct State {
    pc: u64,
    /// The stack pointer.
    sp: i32,
    /// The frame pointer, if it points into the stack.
    fp: Option<i32>,
    /// Where the caller's frame pointer was popped from.
    saved_fp: Option<i32>,
    /// Where the return address was loaded from, if it is in a register.
    saved_link: Option<i32>,
    goal: Goal,
    facts: Facts,
}

impl State {
    const NONE: State =
        State { pc: 0, sp: 0, fp: None, saved_fp: None, saved_link: None, goal: Goal::End, facts: Facts::NONE };

    /// What is known of the frame pointers and the return address.
    fn pointers(&self) -> [Option<i32>; 3] {
        [self.fp, self.saved_fp, self.saved_link]
    }

    /// The distance of the instruction's operand.
    fn operand(&self, instruction: &Instruction) -> Option<i32> {
        let operand = instruction.operand?;
        let base = match operand.base {
            Base::StackPointer => self.sp,
            Base::FramePointer => self.fp?,
        };
        base.checked_add(operand.displacement)
    }
}

/// Paths to one place that are told apart by what is known on them.
const PATHS: usize = 4;

/// What becomes of the value in the storage, for the function that continues at the place. A byte
/// may also be one of its arguments on the stack.
#[must_use]
pub fn fate<I: InstructionSet>(
    place: CodePlace,
    storage: Storage,
    code: &mut dyn CodeReader<I>,
    scratch: &mut Scratch,
) -> Fate {
    let mut walk = Walk::new(place, Goal::Value(storage), code, scratch);
    match walk.all() {
        None => Fate::Alive,
        // A register that was saved, if it is not written to before.
        // It has become a part of something else.
        Some(()) if walk.returned != 0 && walk.is_spread => Fate::Alive,
        Some(()) if walk.returned != 0 && !(walk.is_pointed_to && walk.is_written) => Fate::Returned(walk.returned),
        Some(()) if walk.is_pointed_to => Fate::Alive,
        Some(()) if walk.is_written && !walk.is_recorded => Fate::DeadUnshared,
        Some(()) => Fate::Dead,
    }
}

/// Where the function that continues at the place returns to; `None` if that is not known.
#[must_use]
pub fn frame_end<I: InstructionSet>(
    place: CodePlace,
    code: &mut dyn CodeReader<I>,
    scratch: &mut Scratch,
) -> Option<FrameEnd> {
    let mut walk = Walk::new(place, Goal::End, code, scratch);
    walk.all()?;
    walk.end
}

/// All paths from one place.
struct Walk<'a, I> {
    code: &'a mut dyn CodeReader<I>,
    scratch: &'a mut Scratch,
    budget: usize,
    /// Registers in which the caller gets the value.
    returned: u32,
    /// Whether other bytes are followed, too, into which it has gone.
    is_spread: bool,
    /// Whether some path overwrites it.
    is_written: bool,
    /// Whether an access to it is recorded.
    is_recorded: bool,
    /// Whether the function makes a pointer that may lead to it.
    is_pointed_to: bool,
    /// Where all paths so far return to.
    end: Option<FrameEnd>,
    set: PhantomData<I>,
}

/// The rest of a path.
enum Rest {
    /// It goes on.
    On,
    /// It does not matter.
    Over,
}

impl<'a, I: InstructionSet> Walk<'a, I> {
    fn new(place: CodePlace, goal: Goal, code: &'a mut dyn CodeReader<I>, scratch: &'a mut Scratch) -> Self {
        scratch.states[0] = State { pc: place.pc, fp: place.frame_pointer, goal, ..State::NONE };
        scratch.len = 1;
        Walk {
            code,
            scratch,
            budget: INSTRUCTIONS,
            returned: 0,
            is_spread: false,
            is_written: false,
            is_recorded: false,
            is_pointed_to: false,
            end: None,
            set: PhantomData,
        }
    }

    /// Follows all paths; `None` if one of them has no answer, or the wrong one.
    fn all(&mut self) -> Option<()> {
        let mut next = 0;
        while next < self.scratch.len {
            self.follow(self.scratch.states[next])?;
            next += 1;
        }
        Some(())
    }

    /// Follows a path to where it does not matter any more; `None` if the value may be read.
    fn follow(&mut self, mut state: State) -> Option<()> {
        if self.code.is_import(state.pc) {
            return self.calls_last(&state);
        }
        // What the last instruction has compared, and where.
        let mut compared = (Comparison::None, None);
        loop {
            self.budget = self.budget.checked_sub(1)?;
            let instruction = I::decode(&self.code.fetch(state.pc)?)?;
            let end = state.pc.wrapping_add(instruction.length as u64);
            let rest = match state.goal {
                Goal::Value(storage) => self.value(storage, &instruction, &mut state, end)?,
                Goal::Pointer(number) => self.pointer(number, &instruction, end),
                Goal::End => Rest::On,
            };
            if matches!(rest, Rest::Over) {
                return Some(());
            }
            let at = state.operand(&instruction);
            let before =
                if instruction.comparison == Comparison::None { compared } else { (instruction.comparison, at) };
            compared = (instruction.comparison, at);
            if state.goal != Goal::End {
                state.facts = state.facts.after(&instruction, at, |byte| self.code.is_private(byte));
            }
            move_pointers::<I>(&instruction, &mut state)?;
            let pushed = if instruction.stack == StackEffect::Push { WORD } else { 0 };
            state.facts.release(state.sp.saturating_add(pushed));
            if let Goal::Value(Storage::Byte(byte)) = state.goal
                && byte < state.sp
            {
                return Some(());
            }
            state.pc = end;
            match instruction.flow {
                ControlFlow::Next | ControlFlow::CallByPointer => {}
                ControlFlow::Call(by) => {
                    if self.code.never_returns(end.wrapping_add_signed(by)) {
                        return Some(());
                    }
                }
                ControlFlow::Branch(by) => {
                    let Ways { equal, unequal } =
                        state.facts.branch(before.0, before.1, |byte| self.code.is_private(byte));
                    let (there, on) = match instruction.on_equal {
                        Some(true) => (equal, unequal),
                        Some(false) => (unequal, equal),
                        None => (Some(state.facts), Some(state.facts)),
                    };
                    if let Some(facts) = there {
                        self.add(State { pc: end.wrapping_add_signed(by), facts, ..state })?;
                    }
                    let Some(facts) = on else { return Some(()) };
                    if state.goal != Goal::End {
                        state.facts = facts;
                    }
                }
                ControlFlow::Jump(by) => return self.add(State { pc: end.wrapping_add_signed(by), ..state }),
                ControlFlow::Return => return self.returns(&state),
                ControlFlow::End => return Some(()),
                // All ways out of a function lead to the same caller, also those that are not
                // known.
                ControlFlow::Unknown if state.goal == Goal::End => return Some(()),
                ControlFlow::Unknown => return None,
            }
        }
    }

    /// Adds a place to follow, unless it is known; `None` if there is no room, or if the stack
    /// pointer at a place is not always the same.
    fn add(&mut self, mut state: State) -> Option<()> {
        if state.goal == Goal::End {
            state.facts = Facts::NONE;
        }
        let mut paths = 0;
        for known in &self.scratch.states[..self.scratch.len] {
            if known.pc == state.pc && known.goal == state.goal {
                if known.sp != state.sp {
                    return None;
                }
                paths += 1;
                if known.pointers() == state.pointers() && known.facts.is_part_of(&state.facts) {
                    return Some(());
                }
            }
        }
        if paths >= PATHS {
            state.facts = Facts::NONE;
        }
        *self.scratch.states.get_mut(self.scratch.len)? = state;
        self.scratch.len += 1;
        Some(())
    }

    /// The function calls another one and returns; `None` if that one may read the value.
    fn calls_last(&mut self, state: &State) -> Option<()> {
        match state.goal {
            // It may be an argument.
            Goal::Value(Storage::Byte(_)) => None,
            Goal::Value(Storage::Register(_)) | Goal::Pointer(_) | Goal::End => self.returns(state),
        }
    }

    fn returns(&mut self, state: &State) -> Option<()> {
        match state.goal {
            Goal::Value(Storage::Register(number)) => self.returned |= 1 << number,
            // An argument that the function did not read.
            Goal::Value(Storage::Byte(byte)) if byte >= state.sp + I::CALL_PUSHES => {}
            // The return address.
            Goal::Value(Storage::Byte(_)) => return None,
            Goal::Pointer(_) => {}
            Goal::End => {
                let return_address = if I::CALL_PUSHES > 0 { state.sp } else { state.saved_link? };
                let end = state.sp.checked_add(I::CALL_PUSHES)?;
                let end = FrameEnd { return_address, end, frame_pointer: state.saved_fp };
                if self.end.is_some_and(|known| known != end) {
                    return None;
                }
                self.end = Some(end);
            }
        }
        Some(())
    }

    /// What the instruction means for the value; `None` if it may read it.
    fn value(&mut self, storage: Storage, instruction: &Instruction, state: &mut State, end: u64) -> Option<Rest> {
        match storage {
            Storage::Register(number) => register::<I>(number, instruction),
            Storage::Byte(byte) => self.byte(byte, instruction, state, end),
        }
    }

    fn byte(&mut self, byte: i32, instruction: &Instruction, state: &mut State, end: u64) -> Option<Rest> {
        // A pointer to the stack may get anywhere.
        let leaks_stack = instruction.values >> I::STACK_POINTER & 1 != 0 && byte >= state.sp;
        let leaks_frame = instruction.values >> I::FRAME_POINTER & 1 != 0 && state.fp.is_some();
        if leaks_stack || leaks_frame {
            return None;
        }
        let popped = match instruction.stack {
            StackEffect::Pop(number) => Some((state.sp, number)),
            StackEffect::Leave => Some((state.fp?, I::FRAME_POINTER)),
            _ => None,
        };
        if let Some((at, number)) = popped
            && (at..at + WORD).contains(&byte)
        {
            // From now on the value is in the register.
            if I::is_short_lived(number) {
                return None;
            }
            state.goal = Goal::Value(Storage::Register(number));
            return Some(Rest::On);
        }
        let Some(operand) = instruction.operand else { return Some(Rest::On) };
        let base = match operand.base {
            Base::StackPointer => Some(state.sp),
            Base::FramePointer => state.fp,
        };
        // Other memory that rbp addresses: only through pointers that exist already.
        let Some(base) = base else { return Some(Rest::On) };
        let behind = byte.saturating_sub(base.saturating_add(operand.displacement));
        match operand.access {
            OperandAccess::Reads(size)
                if instruction.updates && (0..i32::from(size)).contains(&behind) && self.are_flags_dropped(end) =>
            {
                self.is_spread = true;
                for other in 1..i32::from(size) - behind {
                    let other = Goal::Value(Storage::Byte(byte + other));
                    let mut spread = State { pc: end, goal: other, ..*state };
                    let at = state.operand(instruction);
                    spread.facts = state.facts.after(instruction, at, |byte| self.code.is_private(byte));
                    self.add(spread)?;
                }
                Some(Rest::On)
            }
            OperandAccess::Reads(size) if (0..i32::from(size)).contains(&behind) => {
                let loaded = if behind < WORD { instruction.loads } else { instruction.loads_next };
                let number = loaded.filter(|&number| !I::is_short_lived(number))?;
                let mut loaded = State { pc: end, goal: Goal::Value(Storage::Register(number)), ..*state };
                let at = state.operand(instruction);
                loaded.facts = state.facts.after(instruction, at, |byte| self.code.is_private(byte));
                move_pointers::<I>(instruction, &mut loaded)?;
                self.add(loaded)?;
                Some(Rest::On)
            }
            OperandAccess::Writes(size) if (0..i32::from(size)).contains(&behind) => {
                self.is_written = true;
                Some(Rest::Over)
            }
            OperandAccess::Points => {
                self.is_recorded |= (0..LONGEST_RECORDED).contains(&behind);
                let to = base.saturating_add(operand.displacement);
                if self.code.may_lead(to, byte) && !self.is_only_noted(instruction, end) {
                    self.follow_pointer(instruction, state, end)?;
                }
                Some(Rest::On)
            }
            // Code counts up or down from any part of an object, or from its end.
            OperandAccess::Indexes => {
                self.is_recorded |= (0..LONGEST_RECORDED).contains(&behind);
                self.is_pointed_to |= !self.is_only_noted(instruction, end);
                Some(Rest::On)
            }
            OperandAccess::Reads(_) | OperandAccess::Writes(_) => Some(Rest::On),
        }
    }

    /// Whether nothing reads the flags that are set before this address.
    fn are_flags_dropped(&mut self, mut at: u64) -> bool {
        /// Instructions that are looked at.
        const MOST: usize = 8;
        for _ in 0..MOST {
            let Some(next) = self.code.fetch(at).and_then(|bytes| I::decode(&bytes)) else { return false };
            at = at.wrapping_add(next.length as u64);
            match next.flow {
                // Flags are no arguments and no results.
                ControlFlow::Call(_) | ControlFlow::CallByPointer | ControlFlow::Return => return true,
                ControlFlow::Jump(by) => at = at.wrapping_add_signed(by),
                ControlFlow::Branch(_) | ControlFlow::End | ControlFlow::Unknown => return false,
                ControlFlow::Next => match next.flags {
                    Flags::Keeps => {}
                    Flags::Sets => return true,
                    Flags::Unknown => return false,
                },
            }
        }
        false
    }

    /// The instruction makes a pointer to the value that is not passed on at once.
    fn follow_pointer(&mut self, instruction: &Instruction, state: &State, end: u64) -> Option<()> {
        let number = instruction.writes.trailing_zeros() as u8;
        let is_kept = instruction.writes.count_ones() == 1 && !I::is_short_lived(number);
        if !is_kept || number == I::FRAME_POINTER || instruction.flow != ControlFlow::Next {
            self.is_pointed_to = true;
            return Some(());
        }
        self.add(State { pc: end, goal: Goal::Pointer(number), ..*state })
    }

    /// What the instruction does with a pointer in a register that outlives calls.
    fn pointer(&mut self, number: u8, instruction: &Instruction, end: u64) -> Rest {
        let is_copied = is_value_of(1 << number, instruction);
        match register::<I>(number, instruction) {
            Some(rest) => rest,
            None if is_copied && instruction.flow == ControlFlow::Next && self.is_only_noted(instruction, end) => {
                Rest::On
            }
            None => {
                self.is_pointed_to = true;
                Rest::Over
            }
        }
    }

    /// Whether the pointer that the instruction makes is passed to a function that only records it,
    /// and used nowhere else: it is made for the first argument, perhaps by way of another register
    /// that does not outlive the call.
    fn is_only_noted(&mut self, instruction: &Instruction, end: u64) -> bool {
        let mut holder = instruction.writes;
        let mut at = end;
        for _ in 0..2 {
            let Some(next) = self.code.fetch(at).and_then(|bytes| I::decode(&bytes)) else { return false };
            at = at.wrapping_add(next.length as u64);
            match next.flow {
                ControlFlow::Call(by) => {
                    return holder == I::FIRST_ARGUMENT && self.code.only_records_access(at.wrapping_add_signed(by));
                }
                ControlFlow::Next if is_value_of(holder, &next) && holder & I::SHORT_LIVED != 0 => {
                    holder = next.writes;
                }
                _ => return false,
            }
        }
        false
    }
}

/// Whether the instruction uses the register, and nothing else, but for no memory that it points
/// to.
fn is_value_of(register: u32, instruction: &Instruction) -> bool {
    instruction.operand.is_none() && instruction.reads == register && instruction.values == register
}

fn register<I: InstructionSet>(number: u8, instruction: &Instruction) -> Option<Rest> {
    let is_read = instruction.reads >> number & 1 != 0
        || number == I::FRAME_POINTER && matches!(instruction.stack, StackEffect::Leave | StackEffect::ToFrame(_));
    if is_read {
        return None;
    }
    let is_written = instruction.writes >> number & 1 != 0
        || number == I::FRAME_POINTER && matches!(instruction.stack, StackEffect::FrameFromStack(_));
    Some(if is_written { Rest::Over } else { Rest::On })
}

/// Moves the stack pointer and the frame pointer; `None` if the stack pointer is not known then.
fn move_pointers<I: InstructionSet>(instruction: &Instruction, state: &mut State) -> Option<()> {
    if instruction.writes >> I::FRAME_POINTER & 1 != 0 {
        let loaded_from = loaded_from(I::FRAME_POINTER, instruction, state);
        state.fp = None;
        if let Some(place) = loaded_from {
            state.saved_fp = Some(place);
        }
    }
    if let Some(link) = I::LINK
        && (instruction.writes | instruction.changes) >> link & 1 != 0
    {
        state.saved_link = loaded_from(link, instruction, state);
    }
    match instruction.stack {
        StackEffect::None => {}
        StackEffect::Push => state.sp -= WORD,
        StackEffect::Unknown => return None,
        StackEffect::Pop(number) if number == I::STACK_POINTER => return None,
        StackEffect::Pop(number) => {
            if number == I::FRAME_POINTER {
                (state.fp, state.saved_fp) = (None, Some(state.sp));
            }
            state.sp += WORD;
        }
        StackEffect::Move(by) => state.sp = state.sp.checked_add(by)?,
        StackEffect::ToFrame(by) => state.sp = state.fp?.checked_add(by)?,
        StackEffect::FrameFromStack(by) => state.fp = Some(state.sp.checked_add(by)?),
        StackEffect::Leave => {
            let at = state.fp?;
            (state.sp, state.fp, state.saved_fp) = (at.checked_add(WORD)?, None, Some(at));
        }
    }
    Some(())
}

/// The place of the stack from which the instruction loads the register, if it does only that.
fn loaded_from(number: u8, instruction: &Instruction, state: &State) -> Option<i32> {
    let behind = match number {
        _ if instruction.loads == Some(number) => 0,
        _ if instruction.loads_next == Some(number) => WORD,
        _ => return None,
    };
    let is_on_stack = instruction.operand.is_some_and(|operand| operand.base == Base::StackPointer);
    is_on_stack.then(|| state.operand(instruction)).flatten()?.checked_add(behind)
}
