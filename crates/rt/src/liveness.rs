//! Which bytes of a thread's stack, and which of its registers, are dead: the program will write
//! them before it reads them again. Code leaves copies of what it has read in such places.
//!
//! Only accesses by the function that a byte belongs to are known. A byte to which there are
//! pointers may be alive all the same: see [`crate::stack_pointers`]. Exceptions and `longjmp` are
//! not followed.

use raddle_liveness::{CodePlace, CodeReader, Fate, FrameEnd, InstructionSet, Scratch, Storage};
use raddle_vocab::policy::mix;

use crate::arch::code::{self, NUMBERS, Set};
use crate::arch::entry::Registers;
use crate::frame_objects::{self, Objects};
use crate::library::noreturn;
use crate::observed;
use crate::state::{Global, process, run};
use crate::syscall::callers;
use crate::syscall::maps::Maps;

/// Functions on the stack that are looked at.
const DEPTH: usize = 12;
/// Bytes of a word.
const WORD: usize = size_of::<usize>();

/// Registers that outlive calls.
const SAVED: usize = NUMBERS.len();

/// Whether it makes no difference to a thread that continues at `pc` that it called the runtime
/// with the registers `later` instead of `earlier`.
pub fn are_alike(earlier: &Registers, later: &Registers, pc: u64) -> bool {
    if (earlier.sp, earlier.rest) != (later.sp, later.rest) {
        return false;
    }
    let frames = Frames::of(run().hot.stack, later, pc);
    let mut both = earlier.saved.iter().zip(&later.saved).zip(NUMBERS);
    both.all(|((old, new), number)| old == new || !frames.is_register_live(number))
}

/// Whether the byte at this address of the running thread's stack is dead for its own function, if
/// the thread called the runtime with these registers and continues at `pc`.
pub fn is_dead(registers: &Registers, pc: u64, address: usize) -> bool {
    let byte = address % WORD;
    Frames::of(run().hot.stack, registers, pc).word_use(address - byte).alive >> (8 * byte) & 0xff == 0
}

/// What functions do with the bytes of a word on a stack, as masks.
#[derive(Clone, Copy)]
pub struct WordUse {
    /// Those that a function may read.
    pub alive: u64,
    /// Those that are dead for their function, but may have an address.
    pub addressed: u64,
    /// Those that are dead for their function, and whose address only functions may have that it
    /// has called.
    pub unshared: u64,
}

impl WordUse {
    const ALIVE: WordUse = WordUse { alive: u64::MAX, addressed: 0, unshared: 0 };
    const DEAD: WordUse = WordUse { alive: 0, addressed: 0, unshared: 0 };
}

/// A function's frame: from its stack pointer up to that of its caller.
#[derive(Clone, Copy)]
struct Frame {
    /// Where its function goes on.
    pc: u64,
    sp: usize,
    /// The frame pointer, if it points into the stack above the stack pointer.
    fp: Option<usize>,
    /// Where it keeps the frame pointer of its caller.
    saved_fp: Option<usize>,
    /// Where its own variables end: at a return address that the call has pushed, or at the end.
    top: usize,
    /// The stack pointer of the caller at the call.
    end: usize,
    objects: &'static Objects,
}

impl Frame {
    const NONE: Frame = Frame { pc: 0, sp: 0, fp: None, saved_fp: None, top: 0, end: 0, objects: &Objects::NONE };

    /// The frame of a function whose variables are not looked up yet.
    fn with_objects(self) -> Frame {
        let fp = self.fp.map(|fp| (fp as i32).wrapping_sub(self.end as i32));
        Frame { objects: frame_objects::of(self.pc, fp), ..self }
    }

    fn place(&self) -> CodePlace {
        place(self.pc, self.sp, self.fp)
    }
}

/// Where pointers would point to that lead to a byte.
pub struct Reach<'a> {
    frame: &'a Frame,
    byte: usize,
}

impl Reach<'_> {
    /// Whether a pointer to this address may lead to the byte.
    pub fn contains(&self, pointer: usize) -> bool {
        let distance = |address: usize| (address as i32).wrapping_sub(self.frame.end as i32);
        (self.frame.sp..=self.frame.top).contains(&pointer)
            && self.frame.objects.may_lead(distance(pointer), distance(self.byte))
    }

    /// Whether the place of the stack belongs to the function of the byte, or to one that it has
    /// called.
    pub fn is_in_chain(&self, place: usize) -> bool {
        place < self.frame.top
    }

    /// Whether this is the frame pointer of the byte's frame.
    pub fn is_frame_pointer(&self, pointer: usize) -> bool {
        self.frame.fp == Some(pointer)
    }
}

fn place(pc: u64, sp: usize, fp: Option<usize>) -> CodePlace {
    CodePlace { pc, frame_pointer: fp.and_then(|fp| i32::try_from(fp - sp).ok()) }
}

/// The innermost frames of a thread's stack.
#[derive(Clone, Copy)]
pub struct Frames {
    list: [Frame; DEPTH],
    len: usize,
    /// The first function that is not on the list.
    rest: Option<CodePlace>,
}

impl Frames {
    /// Of no thread.
    pub const NONE: Frames = Frames { list: [Frame::NONE; DEPTH], len: 0, rest: None };

    /// Of a thread with this stack that called the runtime with these registers, and continues at
    /// `pc`.
    pub fn of((low, high): (usize, usize), registers: &Registers, pc: u64) -> Frames {
        let mut frames = Frames::NONE;
        let behind_call = registers.sp as usize + Set::CALL_PUSHES as usize;
        let (mut pc, mut sp, mut fp) = (pc, behind_call, registers.frame_pointer());
        while frames.len < DEPTH {
            let own_fp = Some(fp).filter(|&fp| sp <= fp && fp < high);
            let here = place(pc, sp, own_fp);
            frames.rest = Some(here);
            let Some(end) = frame_end(here) else { break };
            let at = |distance: i32| {
                let address = sp.wrapping_add_signed(distance as isize);
                (low <= address && address + WORD <= high && address.is_multiple_of(WORD)).then_some(address)
            };
            let Some(return_address) = at(end.return_address) else { break };
            let end_of_frame = sp.wrapping_add_signed(end.end as isize);
            if !(return_address + WORD..=high).contains(&end_of_frame) {
                break;
            }
            // SAFETY: both words lie within the thread's stack.
            let word = |address: usize| unsafe { *(address as *const usize) };
            let saved_fp = end.frame_pointer.map(at);
            let top = end_of_frame - Set::CALL_PUSHES as usize;
            let saved = saved_fp.flatten();
            let frame = Frame { pc, sp, fp: own_fp, saved_fp: saved, top, end: end_of_frame, ..Frame::NONE };
            frames.list[frames.len] = frame.with_objects();
            frames.len += 1;
            frames.rest = None;
            if let Some(saved) = saved_fp {
                let Some(saved) = saved else { break };
                fp = word(saved);
            }
            (pc, sp) = (code::plain_address(word(return_address) as u64), end_of_frame);
        }
        frames
    }

    fn find(&self, address: usize) -> Option<usize> {
        self.list[..self.len].iter().position(|frame| (frame.sp..frame.top).contains(&address))
    }

    /// What functions do with the bytes of the word at this address.
    pub fn word_use(&self, address: usize) -> WordUse {
        let Some(index) = self.find(address) else { return WordUse::ALIVE };
        let own = self.word_use_in(index, address);
        if index == 0 || own.alive == u64::MAX {
            return own;
        }
        // The function that is called may have arguments there.
        let arguments = self.word_use_in(index - 1, address).alive;
        WordUse {
            alive: own.alive | arguments,
            addressed: own.addressed & !arguments,
            unshared: own.unshared & !arguments,
        }
    }

    /// What the function of a frame does with the bytes of the word at this address.
    fn word_use_in(&self, index: usize, address: usize) -> WordUse {
        let frame = &self.list[index];
        let Ok(distance) = i32::try_from(address - frame.sp) else { return WordUse::ALIVE };
        match word_fate(frame.place(), distance) {
            WordFate::Bytes(bytes) => bytes,
            WordFate::Returned(mask) if self.is_any_live_from(index + 1, mask) => WordUse::ALIVE,
            // A register that was saved has no address.
            WordFate::Returned(_) => WordUse::DEAD,
        }
    }

    fn is_any_live_from(&self, first: usize, mask: u32) -> bool {
        (0..32).filter(|number| mask >> number & 1 != 0).any(|number| self.is_live_from(first, number))
    }

    /// Whether a register that outlives calls is live; those are that have no number.
    fn is_register_live(&self, number: Option<u8>) -> bool {
        number.is_none_or(|number| self.is_live_from(0, number))
    }

    fn is_live_from(&self, first: usize, number: u8) -> bool {
        for index in first..=self.len {
            let place = match self.list[..self.len].get(index) {
                Some(frame) => frame.place(),
                None => match self.rest {
                    Some(place) => place,
                    None => return true,
                },
            };
            match fate(place, number) {
                Fate::Dead | Fate::DeadUnshared => return false,
                Fate::Alive => return true,
                Fate::Returned(_) => {}
            }
        }
        true
    }

    /// The registers with which the thread called the runtime; 0 in place of those that are dead.
    pub fn live_registers(&self, registers: &Registers) -> [u64; SAVED] {
        let mut live = registers.saved;
        for (value, number) in live.iter_mut().zip(NUMBERS) {
            if !self.is_register_live(number) {
                *value = 0;
            }
        }
        live
    }

    /// Where pointers would point to that lead to the byte, in its frame or right behind. `None` if
    /// its frame is not known.
    pub fn reach(&self, address: usize) -> Option<Reach<'_>> {
        self.find(address).map(|index| Reach { frame: &self.list[index], byte: address })
    }

    /// Whether the word at this address is the frame pointer of a caller, which is no pointer of
    /// the program: accesses by it are known.
    pub fn is_saved_frame_pointer(&self, address: usize) -> bool {
        self.list[..self.len].iter().any(|frame| frame.saved_fp == Some(address))
    }
}

/// Answers that are remembered.
const REMEMBERED: usize = 1 << 15;

/// An answer, with what was asked.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Answer {
    /// CodePlace in the code and kind of the question.
    question: [u64; 2],
    answer: u64,
}

/// By a hash of the question. It belongs to the process: the code of the root does not change.
static ANSWERS: Global<[Answer; REMEMBERED]> = Global::new([Answer { question: [0; 2], answer: 0 }; REMEMBERED]);

/// Room for a walk.
static SCRATCH: Global<Scratch> = Global::new(Scratch::NEW);

fn scratch() -> &'static mut Scratch {
    // SAFETY: rule 4 of the crate; the static lives for ever.
    unsafe { &mut *SCRATCH.get() }
}

/// The remembered answer, or the one that `ask` gives.
fn remembered(question: [u64; 2], ask: impl FnOnce() -> u64) -> u64 {
    let index = mix(question[0] ^ question[1].rotate_left(24)) as usize % REMEMBERED;
    // SAFETY: rule 4 of the crate; the static lives for ever.
    let known = unsafe { (*ANSWERS.get())[index] };
    if known.question == question {
        return known.answer;
    }
    let answer = ask();
    // Code that a run has loaded may be another one in the next run.
    if callers::is_in_module((question[0] & ADDRESS) as usize) {
        // SAFETY: as above.
        unsafe { (*ANSWERS.get())[index] = Answer { question, answer } };
    }
    answer
}

/// The address in the first word of a question.
const ADDRESS: u64 = (1 << 56) - 1;
/// Kinds of questions, in the highest byte of their first word.
const REGISTER: u64 = 1 << 56;
const END: u64 = 2 << 56;
const WORD_FATE: u64 = 3 << 56;

/// The place as a part of a question. A distance is never the lowest number.
fn packed(place: CodePlace) -> [u64; 2] {
    let distance = place.frame_pointer.unwrap_or(i32::MIN);
    [place.pc, u64::from(distance.cast_unsigned()) << 32]
}

/// What becomes of a register.
fn fate(place: CodePlace, number: u8) -> Fate {
    let [pc, distance] = packed(place);
    let question = [pc | REGISTER, distance | u64::from(number)];
    let answer = remembered(question, || match walked(place, Storage::Register(number)) {
        Fate::Dead => 0,
        Fate::Alive => 1,
        Fate::DeadUnshared => 2,
        Fate::Returned(mask) => 3 | u64::from(mask) << 8,
    });
    match answer & 0xff {
        0 => Fate::Dead,
        1 => Fate::Alive,
        2 => Fate::DeadUnshared,
        _ => Fate::Returned((answer >> 8) as u32),
    }
}

fn walked(place: CodePlace, storage: Storage) -> Fate {
    raddle_liveness::fate::<Set>(place, storage, &mut Program::of(place), scratch())
}

/// What becomes of the bytes of a word.
enum WordFate {
    /// They are used so.
    Bytes(WordUse),
    /// The caller gets some of them in these registers, and the others are dead.
    Returned(u32),
}

/// What becomes of the word at this distance from the stack pointer.
fn word_fate(place: CodePlace, first: i32) -> WordFate {
    let [pc, distance] = packed(place);
    let question = [pc | WORD_FATE, distance | u64::from(first.cast_unsigned())];
    let answer = remembered(question, || {
        let (mut alive, mut addressed, mut returned) = (0u64, 0u64, 0u32);
        for byte in 0..WORD as u32 {
            match walked(place, Storage::Byte(first.wrapping_add_unsigned(byte))) {
                Fate::DeadUnshared => {}
                Fate::Dead => addressed |= 1 << byte,
                Fate::Alive => alive |= 1 << byte,
                Fate::Returned(mask) => returned |= mask,
            }
        }
        // A word of which a part is saved and a part is alive: all of it counts.
        let alive = if returned != 0 && alive != 0 { 0xff } else { alive };
        alive | addressed << 8 | u64::from(returned) << 16
    });
    let (alive, addressed, returned) = (answer & 0xff, answer >> 8 & 0xff, (answer >> 16) as u32);
    if alive == 0 && returned != 0 {
        return WordFate::Returned(returned);
    }
    let addressed = addressed & !alive;
    let unshared = 0xff & !alive & !addressed;
    WordFate::Bytes(WordUse { alive: spread(alive), addressed: spread(addressed), unshared: spread(unshared) })
}

/// A mask of bytes from one bit for each.
fn spread(bits: u64) -> u64 {
    (0..WORD).filter(|byte| bits >> byte & 1 != 0).fold(0, |mask, byte| mask | 0xff << (8 * byte))
}

/// Where the function that continues at the place returns to.
pub fn frame_end(place: CodePlace) -> Option<FrameEnd> {
    const NOWHERE: u64 = u64::MAX;
    /// Frames that are larger are not known.
    const LARGEST: i32 = 1 << 20;
    /// In the place of a frame pointer that was not saved.
    const NOT_SAVED: u64 = 1 << 21;
    let [pc, distance] = packed(place);
    let answer = remembered([pc | END, distance], || {
        let end = raddle_liveness::frame_end::<Set>(place, &mut Program { variables: None }, scratch());
        let all = |end: FrameEnd| [Some(end.return_address), Some(end.end), end.frame_pointer];
        end.filter(|end| all(*end).into_iter().flatten().all(|at| (0..LARGEST).contains(&at))).map_or(NOWHERE, |end| {
            let saved = end.frame_pointer.map_or(NOT_SAVED, |at| u64::from(at.cast_unsigned()));
            u64::from(end.return_address.cast_unsigned()) | u64::from(end.end.cast_unsigned()) << 20 | saved << 40
        })
    });
    let part = |shift: u32| (answer >> shift & 0xf_ffff) as i32;
    (answer != NOWHERE).then(|| FrameEnd {
        return_address: part(0),
        end: part(20),
        frame_pointer: Some(part(40)).filter(|_| answer >> 40 & NOT_SAVED == 0),
    })
}

/// The code of the program.
struct Program {
    /// The variables of the function that is asked about, and the distance of the caller's stack
    /// pointer at the call.
    variables: Option<(&'static Objects, i32)>,
}

impl Program {
    fn of(place: CodePlace) -> Program {
        let variables = frame_end(place).map(|end| {
            let end = end.end;
            (frame_objects::of(place.pc, place.frame_pointer.map(|fp| fp.wrapping_sub(end))), end)
        });
        Program { variables }
    }
}

impl CodeReader<Set> for Program {
    fn fetch(&mut self, pc: u64) -> Option<<Set as InstructionSet>::Bytes> {
        code_at(pc)
    }

    fn only_records_access(&mut self, function: u64) -> bool {
        imported(function).is_some_and(crate::trace::hooks::is_access_hook)
    }

    fn never_returns(&mut self, function: u64) -> bool {
        imported(function).is_some_and(noreturn::never_returns)
    }

    fn is_import(&mut self, code: u64) -> bool {
        // A jump by a pointer may also stay within a function.
        let is_elsewhere = |function: usize| code_around(function) != code_around(code as usize);
        imported(code).is_some_and(is_elsewhere)
    }

    fn may_lead(&mut self, pointer: i32, byte: i32) -> bool {
        self.variables.is_none_or(|(objects, end)| objects.may_lead(pointer.wrapping_sub(end), byte.wrapping_sub(end)))
    }

    fn is_private(&self, byte: i32) -> bool {
        self.variables.is_some_and(|(objects, end)| objects.is_private(byte.wrapping_sub(end)))
    }
}

/// The function that an entry of the procedure linkage table, or a hook, jumps to; all were bound
/// at the start.
fn imported(entry: u64) -> Option<usize> {
    let slot = code::slot_of_stub(entry, code_at)?;
    // SAFETY: an instruction of the program jumps by this pointer, and has been executed.
    Some(unsafe { *(slot as *const usize) })
}

/// The bytes of an instruction, as far as they are code.
fn code_at(pc: u64) -> Option<<Set as InstructionSet>::Bytes> {
    let pc = usize::try_from(pc).ok()?;
    let (_, end) = code_around(pc)?;
    let mut bytes = <Set as InstructionSet>::Bytes::default();
    let len = bytes.len().min(end - pc);
    // SAFETY: the mapping is readable, and program code stays mapped while it is on the stack.
    unsafe { core::ptr::copy_nonoverlapping(pc as *const u8, bytes.as_mut_ptr(), len) };
    observed::sites::put_back(pc as u64, &mut bytes);
    Some(bytes)
}

/// The mapping of code that contains this address. Those that were asked for last are kept, the
/// last one first.
fn code_around(pc: usize) -> Option<(usize, usize)> {
    let known = &mut process().code;
    let place = match known.iter().position(|(start, end)| (start..end).contains(&&pc)) {
        Some(place) => place,
        None => {
            let mut maps = Maps::open()?;
            let mapping = loop {
                let mapping = maps.next()?;
                if (mapping.start..mapping.end).contains(&pc) && mapping.readable && mapping.executable {
                    break mapping;
                }
            };
            let last = known.len() - 1;
            known[last] = (mapping.start, mapping.end);
            last
        }
    };
    known[..=place].rotate_right(1);
    Some(known[0])
}
