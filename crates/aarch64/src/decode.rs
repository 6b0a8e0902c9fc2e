//! Decoding one instruction. Sections of the Arm Architecture Reference Manual (C4.1) name the
//! groups.

use raddle_liveness::{
    Base, Comparison, ControlFlow, Flags, Instruction, KnownValue, OperandAccess, StackEffect, StackOperand,
};

use crate::memory;

/// Bytes of an instruction.
pub const LONGEST: usize = 4;

/// The stack pointer, as the number of a register. Where an instruction means the register that is
/// always zero by the same number, it names none.
pub(crate) const STACK_POINTER: u8 = 31;
/// The frame pointer, likewise: x29.
pub(crate) const FRAME_POINTER: u8 = 29;
/// The link register: x30.
pub(crate) const LINK: u8 = 30;

/// Registers that do not outlive a call: all but x19 to x29 and the stack pointer.
pub(crate) const SHORT_LIVED: u32 = 0x4007_ffff;

/// Some bits of an instruction.
pub(crate) fn bits(word: u32, low: u32, count: u32) -> u32 {
    word >> low & ((1 << count) - 1)
}

/// The same as a signed number.
pub(crate) fn signed(word: u32, low: u32, count: u32) -> i32 {
    (bits(word, low, count) << (32 - count)).cast_signed() >> (32 - count)
}

/// The register in some bits; none if that is the one that is always zero.
pub(crate) fn register(word: u32, low: u32) -> u32 {
    match bits(word, low, 5) {
        31 => 0,
        number => 1 << number,
    }
}

/// The register in some bits, where 31 stands for the stack pointer.
pub(crate) fn register_or_sp(word: u32, low: u32) -> u32 {
    1 << bits(word, low, 5)
}

/// The pointer into the stack that a register may be.
pub(crate) fn base(number: u32) -> Option<Base> {
    match number as u8 {
        STACK_POINTER => Some(Base::StackPointer),
        FRAME_POINTER => Some(Base::FramePointer),
        _ => None,
    }
}

/// An instruction that goes on to the next one and does nothing.
pub(crate) const NOTHING: Instruction = Instruction {
    length: LONGEST,
    flow: ControlFlow::Next,
    operand: None,
    stack: StackEffect::None,
    loads: None,
    loads_next: None,
    reads: 0,
    writes: 0,
    values: 0,
    changes: 0,
    only_reads: false,
    updates: false,
    flags: Flags::Unknown,
    known: KnownValue::Nothing,
    comparison: Comparison::None,
    on_equal: None,
};

/// One that computes with some registers and writes others.
fn computes(reads: u32, writes: u32) -> Instruction {
    let stack = if writes >> STACK_POINTER & 1 != 0 { StackEffect::Unknown } else { StackEffect::None };
    // What is read and written is not overwritten.
    Instruction { reads, writes: writes & !reads, values: reads, changes: writes, stack, ..NOTHING }
}

/// The first instruction of these bytes; `None` if it is not known.
#[must_use]
pub fn decode(bytes: &[u8]) -> Option<Instruction> {
    let word = u32::from_le_bytes(*bytes.first_chunk()?);
    match bits(word, 25, 4) {
        0b1000 | 0b1001 => Some(immediate(word)),
        0b1010 | 0b1011 => branch(word),
        0b0100 | 0b0110 | 0b1100 | 0b1110 => memory::decode(word),
        0b0101 | 0b1101 => by_registers(word),
        0b0111 | 0b1111 => Some(vector(word)),
        // UDF ends a program.
        0b0000 if word >> 16 == 0 => Some(Instruction { flow: ControlFlow::End, ..NOTHING }),
        _ => None,
    }
}

/// Data processing (immediate).
fn immediate(word: u32) -> Instruction {
    match bits(word, 23, 3) {
        // ADR, ADRP
        0b000 | 0b001 => computes(0, register(word, 0)),
        0b010 | 0b011 => add(word),
        // AND, ORR, EOR, ANDS with an immediate
        0b100 => {
            let sets_flags = bits(word, 29, 2) == 3;
            computes(register(word, 5), if sets_flags { register(word, 0) } else { register_or_sp(word, 0) })
        }
        0b101 => {
            let to = register(word, 0);
            // MOVK keeps the other bits.
            let keeps = if bits(word, 29, 2) == 3 { to } else { 0 };
            Instruction { known: moved(word), ..computes(keeps, to) }
        }
        // SBFM, BFM, UBFM: BFM keeps the other bits.
        0b110 => {
            let keeps = if bits(word, 29, 2) == 1 { register(word, 0) } else { 0 };
            computes(register(word, 5) | keeps, register(word, 0))
        }
        // EXTR
        _ => computes(register(word, 5) | register(word, 16), register(word, 0)),
    }
}

/// The number that MOVZ or MOVN puts into a register, if that is one of four bytes.
fn moved(word: u32) -> KnownValue {
    let number = bits(word, 0, 5) as u8;
    let value = bits(word, 5, 16);
    match (bits(word, 29, 2), bits(word, 21, 2)) {
        _ if number == 31 => KnownValue::Nothing,
        (2, 0) => KnownValue::Register(number, value.cast_signed()),
        (2, 1) => KnownValue::Register(number, (value << 16).cast_signed()),
        (0, 0) => KnownValue::Register(number, !value.cast_signed()),
        _ => KnownValue::Nothing,
    }
}

/// ADD, ADDS, SUB, SUBS with an immediate: they move the stack pointer, make pointers into the
/// stack, and compare.
fn add(word: u32) -> Instruction {
    let (subtracts, sets_flags) = (bits(word, 30, 1) == 1, bits(word, 29, 1) == 1);
    let amount = (bits(word, 10, 12) << (12 * bits(word, 22, 1))).cast_signed();
    let by = if subtracts { -amount } else { amount };
    let (from, is_wide) = (bits(word, 5, 5), bits(word, 31, 1) == 1);
    let reads = register_or_sp(word, 5);
    if sets_flags {
        let mut compares = computes(reads, register(word, 0));
        if subtracts && from != u32::from(STACK_POINTER) {
            compares.comparison = Comparison::Register(from as u8, amount);
        }
        return compares;
    }
    let to = bits(word, 0, 5) as u8;
    let plain = Instruction { values: 0, ..computes(reads, 1 << to) };
    match (base(from), to) {
        _ if !is_wide => computes(reads, 1 << to),
        (Some(Base::StackPointer), STACK_POINTER) => Instruction { stack: StackEffect::Move(by), ..plain },
        (Some(Base::FramePointer), STACK_POINTER) => Instruction { stack: StackEffect::ToFrame(by), ..plain },
        (Some(Base::StackPointer), FRAME_POINTER) => {
            Instruction { stack: StackEffect::FrameFromStack(by), writes: 0, ..plain }
        }
        (Some(base), to) if to != FRAME_POINTER => Instruction { operand: Some(pointer(base, by)), ..plain },
        _ => computes(reads, 1 << to),
    }
}

fn pointer(base: Base, displacement: i32) -> StackOperand {
    StackOperand { base, displacement, access: OperandAccess::Points }
}

/// Branches, exception generating and system instructions.
fn branch(word: u32) -> Option<Instruction> {
    let distance = |low, count| i64::from(signed(word, low, count)) * 4 - LONGEST as i64;
    let calls = |flow| Instruction { flow, changes: SHORT_LIVED, ..NOTHING };
    Some(match bits(word, 29, 3) {
        // B, BL
        0b000 => Instruction { flow: ControlFlow::Jump(distance(0, 26)), ..NOTHING },
        0b100 => calls(ControlFlow::Call(distance(0, 26))),
        // CBZ, CBNZ; TBZ, TBNZ
        0b001 | 0b101 => {
            let (from, is_test) = (register(word, 0), bits(word, 25, 1) == 1);
            let flow = ControlFlow::Branch(if is_test { distance(5, 14) } else { distance(5, 19) });
            let branches = Instruction { flow, ..computes(from, 0) };
            match bits(word, 0, 5) as u8 {
                number if !is_test && number != 31 && bits(word, 31, 1) == 0 => Instruction {
                    comparison: Comparison::Register(number, 0),
                    on_equal: Some(bits(word, 24, 1) == 0),
                    ..branches
                },
                _ => branches,
            }
        }
        // B.cond
        0b010 if bits(word, 25, 1) == 0 => {
            let on_equal = match bits(word, 0, 4) {
                0 => Some(true),
                1 => Some(false),
                _ => None,
            };
            Instruction { flow: ControlFlow::Branch(distance(5, 19)), on_equal, ..NOTHING }
        }
        0b110 if bits(word, 25, 1) == 1 => by_pointer(word)?,
        0b110 if bits(word, 24, 1) == 1 => system(word)?,
        // SVC keeps all registers but the result; the kernel may read what all of them point to.
        0b110 if word & 0xffe0_001f == 0xd400_0001 => {
            Instruction { values: 0, changes: u32::MAX, ..computes(0x01ff, 0) }
        }
        // BRK, HLT
        0b110 if matches!(word & 0xffe0_001f, 0xd420_0000 | 0xd440_0000) => {
            Instruction { flow: ControlFlow::End, ..NOTHING }
        }
        _ => return None,
    })
}

/// Branches to what a register holds, with and without authentication.
fn by_pointer(word: u32) -> Option<Instruction> {
    let from = register(word, 5);
    Some(match bits(word, 21, 4) {
        // BR, and with authentication
        0b0000 | 0b1000 => Instruction { flow: ControlFlow::Unknown, ..computes(from, 0) },
        0b0001 | 0b1001 => Instruction { flow: ControlFlow::CallByPointer, changes: SHORT_LIVED, ..computes(from, 0) },
        0b0010 => Instruction { flow: ControlFlow::Return, ..computes(from | 1 << LINK, 0) },
        _ => return None,
    })
}

/// Hints, barriers, and instructions that access system registers.
fn system(word: u32) -> Option<Instruction> {
    // Hints; those of pointer authentication sign the link register, x17 or nothing.
    if word & 0xffff_f01f == 0xd503_201f {
        let signs = matches!(bits(word, 5, 7), 7 | 24..=31);
        return Some(if signs { Instruction { changes: 1 << 16 | 1 << 17, ..NOTHING } } else { NOTHING });
    }
    // Barriers and CLREX; MSR of a flag
    if word & 0xffff_f000 == 0xd503_3000 || word & 0xfff8_f01f == 0xd500_401f {
        return Some(NOTHING);
    }
    match bits(word, 20, 2) {
        // MSR and MRS
        1 => Some(computes(register(word, 0), 0)),
        3 => Some(computes(0, register(word, 0))),
        _ => None,
    }
}

/// Data processing (register).
fn by_registers(word: u32) -> Option<Instruction> {
    let (to, first, second) = (register(word, 0), register(word, 5), register(word, 16));
    let is_wide = bits(word, 31, 1) == 1;
    if bits(word, 28, 1) == 0 {
        // Logical, or add and subtract with a shift; add and subtract with an extension may name
        // the stack pointer.
        let extends = bits(word, 24, 1) == 1 && bits(word, 21, 1) == 1;
        if extends {
            let sets_flags = bits(word, 29, 1) == 1;
            let to = if sets_flags { to } else { register_or_sp(word, 0) };
            return Some(computes(register_or_sp(word, 5) | second, to));
        }
        let is_sum = bits(word, 24, 1) == 1;
        let mut computed = computes(first | second, to);
        let (opcode, shift) = (bits(word, 29, 2), bits(word, 10, 6));
        // SUBS compares.
        if is_sum && opcode == 3 && shift == 0 && first != 0 && second != 0 {
            let (first, second) = (bits(word, 5, 5) as u8, bits(word, 16, 5) as u8);
            computed.comparison = Comparison::Registers(first, second, is_wide);
        }
        // ORR with zero copies; a copy of the frame pointer is a pointer into the frame.
        let copies = !is_sum && opcode == 1 && bits(word, 21, 1) == 0 && shift == 0 && first == 0 && is_wide;
        if copies && second == 1 << FRAME_POINTER && to != second {
            computed.values = 0;
            computed.operand = Some(pointer(Base::FramePointer, 0));
        }
        return Some(computed);
    }
    Some(match bits(word, 21, 4) {
        // Add and subtract with carry; rotations of a register into flags, whose third operand
        // names a flag
        0b0000 => computes(first | second, if bits(word, 10, 6) == 0 { to } else { 0 }),
        // Conditional comparison with a register or a number
        0b0010 if bits(word, 11, 1) == 0 => computes(first | second, 0),
        0b0010 => computes(first, 0),
        // Conditional selection
        0b0100 => computes(first | second, to),
        // Two sources, or one
        0b0110 if bits(word, 30, 1) == 1 => {
            // A signature of a pointer is mixed in.
            let kept = if bits(word, 16, 5) == 1 { to } else { 0 };
            computes(first | kept, to)
        }
        0b0110 => computes(register_or_sp(word, 5) & !(1 << STACK_POINTER) | second, to),
        // Three sources
        0b1000..=0b1111 => computes(first | second | register(word, 10), to),
        _ => return None,
    })
}

/// Data processing (scalar floating point and vectors): few instructions name general registers.
fn vector(word: u32) -> Instruction {
    let (to, from) = (register(word, 0), register(word, 5));
    // Conversions between numbers in the two kinds of registers, and moves
    if bits(word, 24, 5) == 0b11110 && bits(word, 30, 1) == 0 && bits(word, 29, 1) == 0 {
        let is_fixed = bits(word, 21, 1) == 0;
        let is_conversion = is_fixed || bits(word, 10, 6) == 0;
        if is_conversion {
            return match bits(word, 16, 3) {
                // SCVTF, UCVTF, FMOV to a vector register
                0b010 | 0b011 | 0b111 => computes(from, 0),
                _ => computes(0, to),
            };
        }
    }
    // Copies of an element
    if word & 0x9fe0_8400 == 0x0e00_0400 {
        return match bits(word, 11, 4) {
            // DUP, INS
            0b0001 | 0b0011 => computes(from, 0),
            // SMOV, UMOV
            0b0101 | 0b0111 => computes(0, to),
            _ => NOTHING,
        };
    }
    NOTHING
}
