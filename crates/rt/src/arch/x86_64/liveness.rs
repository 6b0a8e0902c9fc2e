//! Which bytes of the running thread's stack, and which of its registers, are dead: the program
//! will write them before it reads them again. Unoptimised code leaves copies of what it reads in
//! such places.

use raddle_x86::{CodeReader, FrameStorage, LONGEST};

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
        && both.all(|((old, new), number)| {
            old == new || raddle_x86::is_dead(pc, FrameStorage::Register(number), &mut Program)
        })
}

/// Whether the byte at this address of its own stack is dead, for a thread that called the runtime
/// with these registers and continues at `pc`. Functions without a frame pointer are taken to need
/// all their bytes.
///
/// Only accesses by the function that the byte belongs to are known. A byte to which there are
/// pointers may be alive all the same: see [`frame_of`].
pub fn is_dead(registers: &Registers, pc: u64, address: usize) -> bool {
    let decode = |pc, storage| raddle_x86::is_dead(pc, storage, &mut Program);
    is_dead_by(decode, run().hot.stack, registers, pc, address)
}

/// As [`is_dead`], for any thread with this stack. Answers about code are remembered, so the code
/// must be that of the root.
pub fn is_dead_at_root(stack: (usize, usize), registers: &Registers, pc: u64, address: usize) -> bool {
    is_dead_by(is_dead_cached, stack, registers, pc, address)
}

/// Answers that are remembered.
const REMEMBERED: usize = 1 << 14;

/// Place in the code, and storage with the answer in the lowest bit; by a hash of both. It belongs to
/// the process: code does not change.
static ANSWERS: Global<[(u64, u64); REMEMBERED]> = Global::new([(0, 0); REMEMBERED]);

fn is_dead_cached(pc: u64, storage: FrameStorage) -> bool {
    let code = match storage {
        FrameStorage::Byte(distance) => u64::from(distance.cast_unsigned()) << 1,
        FrameStorage::Register(number) => 1 << 40 | u64::from(number) << 1,
    };
    // SAFETY: rule 4 of the crate; the static lives for ever.
    let answers = unsafe { &mut *ANSWERS.get() };
    let entry = &mut answers[mix(pc ^ code.rotate_left(24)) as usize % REMEMBERED];
    if (entry.0, entry.1 & !1) != (pc, code) {
        *entry = (pc, code | u64::from(raddle_x86::is_dead(pc, storage, &mut Program)));
    }
    entry.1 & 1 != 0
}

/// The registers with which a thread called the runtime, for one that continues at `pc`; 0 in place
/// of those that are dead.
pub fn live_registers(registers: &Registers, pc: u64) -> [u64; 6] {
    let mut live = registers.saved;
    for (value, number) in live.iter_mut().zip(SAVED) {
        if is_dead_cached(pc, FrameStorage::Register(number)) {
            *value = 0;
        }
    }
    live
}

fn is_dead_by(
    is_dead: impl Fn(u64, FrameStorage) -> bool,
    stack: (usize, usize),
    registers: &Registers,
    pc: u64,
    address: usize,
) -> bool {
    find_frame(stack, registers, pc, address).is_some_and(|frame| {
        let distance = i32::try_from(address.wrapping_sub(frame.top).cast_signed());
        distance.is_ok_and(|distance| is_dead(frame.pc, FrameStorage::Byte(distance)))
    })
}

/// Where pointers would point to that lead to the byte: to its frame; in the innermost one, whose
/// code makes the accesses, to the byte or below. `None` if its frame is not known.
pub fn frame_of(stack: (usize, usize), registers: &Registers, address: usize) -> Option<core::ops::Range<usize>> {
    let frame = find_frame(stack, registers, 0, address)?;
    Some(frame.bottom..if frame.is_innermost { address + 1 } else { frame.top })
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
