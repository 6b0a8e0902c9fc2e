//! Which bytes of the running thread's stack, and which of its registers, are dead: the program
//! will write them before it reads them again. Unoptimised code leaves copies of what it reads in
//! such places.

use raddle_x86::{CodeReader, LONGEST};
pub use raddle_x86::{FrameStorage, Use};

use raddle_vocab::policy::mix;

use crate::arch::entry::Registers;
use crate::state::{Global, process, run};
use crate::syscall::maps::Maps;

/// Functions on the stack that are decoded.
const DEPTH: usize = 8;

/// Numbers of the registers in [`Registers::saved`].
const SAVED: [u8; 6] = [3, 5, 12, 13, 14, 15];

/// Whether it makes no difference to a thread that continues at `pc` that it called the runtime
/// with the registers `later` instead of `earlier`.
pub fn are_alike(earlier: &Registers, later: &Registers, pc: u64) -> bool {
    let mut both = earlier.saved.iter().zip(&later.saved).zip(SAVED);
    earlier.sp == later.sp
        && both.all(|((old, new), number)| old == new || use_in_code(pc, FrameStorage::Register(number)) != Use::Alive)
}

/// Whether the byte at this address of the running thread's stack is dead for its own function, if the
/// thread called the runtime with these registers and continues at `pc`. Other functions may read it
/// all the same: see [`crate::stack_pointers`].
pub fn is_dead(registers: &Registers, pc: u64, address: usize) -> bool {
    use_by(use_in_code, run().hot.stack, registers, pc, address) != Use::Alive
}

/// What the function that goes on at `pc` does with the storage.
pub fn use_in_code(pc: u64, storage: FrameStorage) -> Use {
    raddle_x86::use_of(pc, storage, &mut Program)
}

/// Answers that are remembered.
const REMEMBERED: usize = 1 << 14;

/// Place in the code, and storage with the answer in the lowest bits; by a hash of both. It belongs to
/// the process: code does not change.
static ANSWERS: Global<[(u64, u64); REMEMBERED]> = Global::new([(0, 0); REMEMBERED]);

/// As [`use_in_code`], but for where a variable starts. Answers are remembered, so the code must be
/// that of the root.
pub fn use_cached(pc: u64, storage: FrameStorage) -> Use {
    let code = match storage {
        FrameStorage::Byte(distance) => u64::from(distance.cast_unsigned()) << 2,
        FrameStorage::Register(number) => 1 << 40 | u64::from(number) << 2,
    };
    // SAFETY: rule 4 of the crate; the static lives for ever.
    let answers = unsafe { &mut *ANSWERS.get() };
    let entry = &mut answers[mix(pc ^ code.rotate_left(24)) as usize % REMEMBERED];
    const DEAD: u64 = 1;
    const WITHOUT_ADDRESS: u64 = 2;
    if (entry.0, entry.1 & !3) != (pc, code) {
        let answer = match use_in_code(pc, storage) {
            Use::Alive => 0,
            Use::Dead(_) => DEAD,
            Use::DeadWithoutAddress => WITHOUT_ADDRESS,
        };
        *entry = (pc, code | answer);
    }
    match entry.1 & 3 {
        DEAD => Use::Dead(None),
        WITHOUT_ADDRESS => Use::DeadWithoutAddress,
        _ => Use::Alive,
    }
}

/// The registers with which a thread called the runtime, for one that continues at `pc`; 0 in place
/// of those that are dead, by what `use_of` says about code.
pub fn live_registers(registers: &Registers, pc: u64, use_of: fn(u64, FrameStorage) -> Use) -> [u64; 6] {
    let mut live = registers.saved;
    for (value, number) in live.iter_mut().zip(SAVED) {
        if use_of(pc, FrameStorage::Register(number)) != Use::Alive {
            *value = 0;
        }
    }
    live
}

/// What its own function does with the byte at this address of a thread's stack, by what `use_of` says
/// about code. Functions without a frame pointer are taken to need all their bytes.
pub fn use_by(
    use_of: fn(u64, FrameStorage) -> Use,
    stack: (usize, usize),
    registers: &Registers,
    pc: u64,
    address: usize,
) -> Use {
    let Some(frame) = find_frame(stack, registers, pc, address) else { return Use::Alive };
    let distance = i32::try_from(address.wrapping_sub(frame.top).cast_signed());
    distance.map_or(Use::Alive, |distance| use_of(frame.pc, FrameStorage::Byte(distance)))
}

/// Where pointers would point to that lead to the byte, which is dead for its own function: to its
/// frame; in the innermost one, whose code makes the accesses, to its variable, at the byte or before
/// it. A variable of which nothing is known may start anywhere. `None` if the frame is not known.
pub fn pointers_to(
    use_of: fn(u64, FrameStorage) -> Use,
    stack: (usize, usize),
    registers: &Registers,
    pc: u64,
    address: usize,
) -> Option<core::ops::Range<usize>> {
    let frame = find_frame(stack, registers, pc, address)?;
    if !frame.is_innermost {
        return Some(frame.bottom..frame.top);
    }
    let distance = i32::try_from(address.wrapping_sub(frame.top).cast_signed()).ok()?;
    let start = match use_of(pc, FrameStorage::Byte(distance)) {
        Use::Dead(Some(start)) => frame.top.wrapping_add_signed(start as isize),
        _ => frame.bottom,
    };
    Some(start..address + 1)
}

/// A function's frame: from `bottom` up to the saved frame pointer at `top`.
struct Frame {
    bottom: usize,
    top: usize,
    /// Where its function goes on.
    pc: u64,
    is_innermost: bool,
}

/// The frame that the byte lies in, for a thread that continues at `pc`.
fn find_frame((low, high): (usize, usize), registers: &Registers, pc: u64, address: usize) -> Option<Frame> {
    let mut frame = Frame { bottom: registers.sp as usize, top: registers.frame_pointer(), pc, is_innermost: true };
    if frame.top <= frame.bottom {
        return None;
    }
    for _ in 0..DEPTH {
        if frame.top < low || frame.top + 16 > high {
            return None;
        }
        if address < frame.top {
            return Some(frame);
        }
        // SAFETY: the caller's frame pointer and where it goes on; both words lie within the own
        // stack.
        let [outer, back] = unsafe { *(frame.top as *const [usize; 2]) };
        if address < frame.top + 16 || outer <= frame.top {
            return None;
        }
        frame = Frame { bottom: frame.top + 16, top: outer, pc: back as u64, is_innermost: false };
    }
    None
}

/// The code of the program.
struct Program;

impl CodeReader for Program {
    fn fetch(&mut self, pc: u64) -> Option<[u8; LONGEST]> {
        code_at(pc)
    }

    fn only_records_access(&mut self, function: u64) -> bool {
        imported(function).is_some_and(crate::trace::hooks::is_access_hook)
    }
}

/// The function that an entry of the procedure linkage table jumps to; all were bound at the start.
fn imported(entry: u64) -> Option<usize> {
    let bytes = code_at(entry)?;
    let mut at = if bytes.starts_with(&[0xf3, 0x0f, 0x1e, 0xfa]) { 4 } else { 0 };
    at += usize::from(bytes[at] == 0xf2);
    if bytes[at..at + 2] != [0xff, 0x25] {
        return None;
    }
    let distance = i32::from_le_bytes(bytes[at + 2..at + 6].try_into().ok()?);
    let slot = entry.wrapping_add(at as u64 + 6).wrapping_add_signed(i64::from(distance));
    // SAFETY: an instruction of the program jumps by this pointer, and has been executed.
    Some(unsafe { *(slot as *const usize) })
}

/// The bytes of an instruction, as far as they are code.
fn code_at(pc: u64) -> Option<[u8; LONGEST]> {
    let pc = usize::try_from(pc).ok()?;
    let (_, end) = code_around(pc)?;
    let mut bytes = [0; LONGEST];
    let len = LONGEST.min(end - pc);
    // SAFETY: the mapping is readable, and program code stays mapped while it is on the stack.
    unsafe { core::ptr::copy_nonoverlapping(pc as *const u8, bytes.as_mut_ptr(), len) };
    Some(bytes)
}

/// The mapping of code that contains this address; the last one is cached.
fn code_around(pc: usize) -> Option<(usize, usize)> {
    let known = process().code;
    if (known.0..known.1).contains(&pc) {
        return Some(known);
    }
    let mut maps = Maps::open()?;
    while let Some(mapping) = maps.next() {
        if (mapping.start..mapping.end).contains(&pc) && mapping.readable && mapping.executable {
            process().code = (mapping.start, mapping.end);
            return Some(process().code);
        }
    }
    None
}
