//! Decoding one instruction: its length, where control goes, and what it does to the stack.

use raddle_liveness::{
    Base, Comparison, ControlFlow, Flags, Instruction, KnownValue, OperandAccess, StackEffect, StackOperand,
};

/// The longest instruction, in bytes.
pub const LONGEST: usize = 15;

/// Registers that do not outlive a call: all but rbx, rsp, rbp and r12 to r15.
pub(crate) const SHORT_LIVED: u32 = 0b0000_1111_1100_0111;

/// The frame pointer, as the number of a register.
pub(crate) const FRAME_POINTER: u8 = 5;
/// The stack pointer, likewise.
pub(crate) const STACK_POINTER: u8 = 4;

/// Prefixes that change the meaning of what follows.
#[derive(Clone, Copy, Default)]
struct Prefixes {
    /// 0x66.
    narrow: bool,
    /// 0xf2 or 0xf3, the last one.
    repeat: u8,
    /// The four low bits of REX.
    rex: u8,
}

impl Prefixes {
    fn is_wide(self) -> bool {
        self.rex & 8 != 0
    }

    /// Bytes of an ordinary operand.
    fn size(self) -> u8 {
        match (self.is_wide(), self.narrow) {
            (true, _) => 8,
            (false, true) => 2,
            (false, false) => 4,
        }
    }

    /// Bytes of an operand in a vector register.
    fn scalar(self) -> u8 {
        match self.repeat {
            0xf3 => 4,
            0xf2 => 8,
            _ => 16,
        }
    }

    /// Bytes of an ordinary immediate operand.
    fn immediate(self) -> usize {
        if self.narrow && !self.is_wide() { 2 } else { 4 }
    }
}

/// The bytes that are not decoded yet.
struct Reader<'a> {
    code: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn byte(&mut self) -> Option<u8> {
        let byte = *self.code.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn skip(&mut self, bytes: usize) -> Option<()> {
        self.at += bytes;
        (self.at <= self.code.len()).then_some(())
    }

    /// A signed number of one or four bytes.
    fn number(&mut self, bytes: usize) -> Option<i32> {
        if bytes == 1 {
            return Some(i32::from(self.byte()?.cast_signed()));
        }
        let at = self.at;
        self.skip(4)?;
        Some(i32::from_le_bytes(self.code[at..at + 4].try_into().ok()?))
    }
}

/// The operands that a ModRM byte describes.
struct Operands {
    /// The middle bits: a register, or more of the opcode.
    middle: u8,
    /// The other register, if there is one.
    other: Option<u8>,
    /// Registers that make up the address.
    address: u32,
    /// If that is on the stack: from where, how far, and whether an index is added.
    stack: Option<(Base, i32, bool)>,
}

fn operands(code: &mut Reader<'_>, prefixes: Prefixes) -> Option<Operands> {
    let byte = code.byte()?;
    let (mode, middle, low) = (byte >> 6, byte >> 3 & 7, byte & 7);
    let (high_base, high_index) = ((prefixes.rex & 1) << 3, (prefixes.rex & 2) << 2);
    if mode == 3 {
        return Some(Operands { middle, other: Some(low | high_base), address: 0, stack: None });
    }
    let (mut base, mut index) = (Some(low | high_base), None);
    if low == STACK_POINTER {
        let sib = code.byte()?;
        base = Some(sib & 7 | high_base);
        index = Some(sib >> 3 & 7 | high_index).filter(|&number| number != STACK_POINTER);
        if mode == 0 && sib & 7 == FRAME_POINTER {
            base = None;
        }
    } else if mode == 0 && low == FRAME_POINTER {
        // A distance from the next instruction.
        base = None;
    }
    let displacement = match mode {
        0 if base.is_none() => code.number(4)?,
        0 => 0,
        1 => code.number(1)?,
        _ => code.number(4)?,
    };
    let bit = |number: Option<u8>| number.map_or(0, |number| 1 << number);
    let from = match base {
        Some(STACK_POINTER) => Some(Base::StackPointer),
        Some(FRAME_POINTER) => Some(Base::FramePointer),
        _ => None,
    };
    let stack = from.map(|from| (from, displacement, index.is_some()));
    Some(Operands { middle, other: None, address: bit(base) | bit(index), stack })
}

/// What an opcode is followed by, and what it does.
#[derive(Clone, Copy)]
enum Shape {
    /// This many bytes of immediate operand.
    Plain(usize),
    /// A ModRM byte and this many bytes of immediate operand.
    Operands(usize, OperandAccess),
    /// A distance of four bytes.
    Call,
    /// A distance of this many bytes.
    Jump(usize),
    Branch(usize),
    /// The end of the function, after this many bytes.
    Return(usize),
    /// The end of everything.
    End,
}

/// The first instruction of these bytes; `None` if it is not known.
#[must_use]
pub fn decode(bytes: &[u8]) -> Option<Instruction> {
    let mut code = Reader { code: &bytes[..bytes.len().min(LONGEST)], at: 0 };
    let mut prefixes = Prefixes::default();
    let mut opcode = code.byte()?;
    loop {
        match opcode {
            0x66 => prefixes.narrow = true,
            0xf2 | 0xf3 => prefixes.repeat = opcode,
            0x26 | 0x2e | 0x36 | 0x3e | 0x64 | 0x65 | 0xf0 => {}
            _ => break,
        }
        opcode = code.byte()?;
    }
    if opcode & 0xf0 == 0x40 {
        prefixes.rex = opcode & 15;
        opcode = code.byte()?;
    }
    let extended_by = if opcode == 0x0f { Some(code.byte()?) } else { None };
    let shape = match extended_by {
        Some(second) => extended(second, &mut code, prefixes)?,
        None => ordinary(opcode, prefixes)?,
    };
    let mut decoded = Instruction {
        length: 0,
        flow: ControlFlow::Next,
        operand: None,
        stack: StackEffect::None,
        loads: None,
        loads_next: None,
        reads: 0,
        writes: 0,
        values: 0,
        changes: u32::MAX,
        only_reads: false,
        updates: false,
        flags: Flags::Unknown,
        known: KnownValue::Nothing,
        comparison: Comparison::None,
        on_equal: None,
    };
    match shape {
        Shape::Plain(immediate) => {
            code.skip(immediate)?;
            if extended_by.is_none() {
                (decoded.reads, decoded.writes) = implied(opcode, prefixes);
                decoded.stack = plain_stack_effect(opcode, prefixes);
            }
            // Pushing a register saves it; the value stays on the stack.
            decoded.values = if decoded.stack == StackEffect::Push { 0 } else { decoded.reads };
            if extended_by.is_none() {
                plain_facts(&mut decoded, opcode, prefixes, &code.code[..code.at]);
            }
        }
        Shape::Call => {
            decoded.flow = ControlFlow::Call(i64::from(code.number(4)?));
            decoded.changes = SHORT_LIVED;
        }
        Shape::Jump(bytes) => {
            decoded.flow = ControlFlow::Jump(i64::from(code.number(bytes)?));
            decoded.changes = 0;
        }
        Shape::Branch(bytes) => {
            decoded.flow = ControlFlow::Branch(i64::from(code.number(bytes)?));
            decoded.changes = 0;
            decoded.on_equal = match extended_by.unwrap_or(opcode) & 15 {
                4 => Some(true),
                5 => Some(false),
                _ => None,
            };
        }
        Shape::Return(bytes) => {
            code.skip(bytes)?;
            decoded.flow = ControlFlow::Return;
        }
        Shape::End => decoded.flow = ControlFlow::End,
        Shape::Operands(immediate, access) => {
            let found = operands(&mut code, prefixes)?;
            // Those that share their opcode with `test` have no immediate operand.
            let has_none = matches!(opcode, 0xf6 | 0xf7) && found.middle >= 2;
            let number = immediate_operand(&mut code, if has_none { 0 } else { immediate })?;
            let is_extended = extended_by.is_some();
            with_operands(&mut decoded, extended_by.unwrap_or(opcode), is_extended, prefixes, &found, access, number);
        }
    }
    decoded.length = code.at;
    Some(decoded)
}

/// Reads an immediate operand of this many bytes; its value where it has one or four.
fn immediate_operand(code: &mut Reader<'_>, bytes: usize) -> Option<Option<i32>> {
    match bytes {
        1 | 4 => Some(Some(code.number(bytes)?)),
        _ => code.skip(bytes).map(|()| None),
    }
}

/// What an instruction with a ModRM byte does.
fn with_operands(
    decoded: &mut Instruction,
    opcode: u8,
    is_extended: bool,
    prefixes: Prefixes,
    found: &Operands,
    access: OperandAccess,
    immediate: Option<i32>,
) {
    (decoded.reads, decoded.writes) = used(opcode, is_extended, prefixes, found);
    // Registers of an address that are used for nothing else.
    let middle = 1 << (found.middle | (prefixes.rex & 4) << 1);
    let is_address = opcode == 0x8d && !is_extended;
    let other = found.other.map_or(0, |number| 1 << number);
    decoded.values = if is_address { found.address } else { decoded.reads & (middle | other | !found.address) };
    if is_address && found.stack.is_some() {
        // The operand itself says what it points to.
        decoded.values = 0;
    }
    decoded.operand = found.stack.map(|(base, displacement, indexed)| StackOperand {
        base,
        displacement,
        access: if indexed { OperandAccess::Indexes } else { access },
    });
    if let Some(base) = copied_pointer(opcode, is_extended, prefixes, found) {
        decoded.operand = Some(StackOperand { base, displacement: 0, access: OperandAccess::Points });
        decoded.values = 0;
    }
    if is_extended {
        return;
    }
    match (opcode, found.middle) {
        (0xff, 2) => decoded.flow = ControlFlow::CallByPointer,
        (0xff, 3..=5) => decoded.flow = ControlFlow::Unknown,
        (0xff, 6) => decoded.stack = StackEffect::Push,
        _ => decoded.stack = stack_effect(decoded, opcode, prefixes, found, immediate),
    }
    if !matches!(decoded.stack, StackEffect::None | StackEffect::Push) {
        decoded.values = 0;
        if opcode == 0x8d && (decoded.writes >> STACK_POINTER & 1) != 0 {
            decoded.operand = None;
        }
    }
    let is_load = opcode == 0x8b && prefixes.is_wide() && found.other.is_none();
    decoded.loads = is_load.then_some(found.middle | (prefixes.rex & 4) << 1);
    facts(decoded, opcode, prefixes, found, immediate);
}

/// What is known behind an instruction without a ModRM byte.
fn plain_facts(decoded: &mut Instruction, opcode: u8, prefixes: Prefixes, bytes: &[u8]) {
    match opcode {
        // Pushing, and doing nothing.
        0x50..=0x57 | 0x68 | 0x6a => (decoded.changes, decoded.flags) = (0, Flags::Keeps),
        0x90 if prefixes.rex & 1 == 0 => (decoded.changes, decoded.flags) = (0, Flags::Keeps),
        0xb8..=0xbf if prefixes.size() == 4 => {
            (decoded.changes, decoded.flags) = (decoded.writes, Flags::Keeps);
            let number = bytes.last_chunk().map(|bytes| i32::from_le_bytes(*bytes));
            decoded.known = number.map_or(KnownValue::Nothing, |number| {
                KnownValue::Register(opcode & 7 | (prefixes.rex & 1) << 3, number)
            });
        }
        _ => {}
    }
}

/// What is known behind an instruction with one byte of opcode and a ModRM byte.
fn facts(decoded: &mut Instruction, opcode: u8, prefixes: Prefixes, found: &Operands, immediate: Option<i32>) {
    let middle = found.middle | (prefixes.rex & 4) << 1;
    // Constants have four bytes.
    let is_narrow = prefixes.size() == 4;
    let is_whole = prefixes.size() >= 4;
    let is_slot = found.stack.is_some_and(|(_, _, indexed)| !indexed);
    let does = found.middle & 7;
    decoded.flags = match opcode {
        0x88..=0x8b | 0x8d | 0xc6 | 0xc7 => Flags::Keeps,
        0x38..=0x3b | 0x84 | 0x85 => Flags::Sets,
        0x80 | 0x81 | 0x83 if !matches!(does, 2 | 3) => Flags::Sets,
        _ => Flags::Unknown,
    };
    // Adding, subtracting, and logic.
    decoded.updates = found.stack.is_some()
        && match opcode {
            0x80 | 0x81 | 0x83 => !matches!(does, 2 | 3 | 7),
            0xfe | 0xff => does < 2,
            _ => false,
        };
    match (opcode, found.other) {
        (0x89 | 0x8b | 0xc7 | 0x8d, _) if is_whole => {
            decoded.changes = decoded.writes;
            decoded.only_reads = opcode == 0x8b;
            decoded.known = match (opcode, found.other, immediate) {
                (0xc7, None, Some(number)) if is_slot => KnownValue::Slot(number),
                (0xc7, Some(other), Some(number)) => KnownValue::Register(other, number),
                (0x8b, None, _) if is_slot => KnownValue::Load(middle),
                _ => KnownValue::Nothing,
            };
        }
        (0x31 | 0x33, Some(other)) if is_whole && other == middle => {
            decoded.changes = decoded.writes;
            decoded.known = KnownValue::Register(middle, 0);
        }
        (0x39 | 0x3b, other) => {
            (decoded.changes, decoded.only_reads) = (0, true);
            if let Some(other) = other.filter(|_| is_whole) {
                decoded.comparison = Comparison::Registers(middle, other, prefixes.is_wide());
            }
        }
        (0x85, other) => {
            (decoded.changes, decoded.only_reads) = (0, true);
            if other == Some(middle) && is_narrow {
                decoded.comparison = Comparison::Register(middle, 0);
            }
        }
        (0x81 | 0x83, other) if found.middle == 7 => {
            (decoded.changes, decoded.only_reads) = (0, true);
            decoded.comparison = match (other, immediate) {
                (Some(other), Some(number)) if is_narrow => Comparison::Register(other, number),
                (None, Some(number)) if is_narrow && is_slot => Comparison::Slot(number),
                _ => Comparison::None,
            };
        }
        (0x38 | 0x3a | 0x84, _) => (decoded.changes, decoded.only_reads) = (0, true),
        (0x80, _) if found.middle == 7 => (decoded.changes, decoded.only_reads) = (0, true),
        _ => {}
    }
}

/// The pointer that the instruction copies to a register that addresses no stack.
fn copied_pointer(opcode: u8, is_extended: bool, prefixes: Prefixes, found: &Operands) -> Option<Base> {
    let middle = found.middle | (prefixes.rex & 4) << 1;
    let other = found.other.filter(|_| prefixes.is_wide())?;
    let (from, to) = match (is_extended, opcode) {
        (false, 0x89) => (middle, other),
        (false, 0x8b) => (other, middle),
        _ => return None,
    };
    match from {
        _ if matches!(to, STACK_POINTER | FRAME_POINTER) => None,
        STACK_POINTER => Some(Base::StackPointer),
        FRAME_POINTER => Some(Base::FramePointer),
        _ => None,
    }
}

/// What an instruction without a ModRM byte does to the stack pointer.
fn plain_stack_effect(opcode: u8, prefixes: Prefixes) -> StackEffect {
    match opcode {
        0x50..=0x57 | 0x68 | 0x6a | 0x9c => StackEffect::Push,
        0x58..=0x5f => StackEffect::Pop(opcode & 7 | (prefixes.rex & 1) << 3),
        0x9d => StackEffect::Unknown,
        0xc9 => StackEffect::Leave,
        _ => StackEffect::None,
    }
}

/// What an instruction with a ModRM byte does to the pointers that address the stack.
fn stack_effect(
    decoded: &Instruction,
    opcode: u8,
    prefixes: Prefixes,
    found: &Operands,
    immediate: Option<i32>,
) -> StackEffect {
    let middle = found.middle | (prefixes.rex & 4) << 1;
    let (is_wide, is_stack) = (prefixes.is_wide(), found.other == Some(STACK_POINTER));
    match (opcode, immediate) {
        (0x81 | 0x83, Some(bytes)) if is_stack && is_wide && found.middle == 0 => StackEffect::Move(bytes),
        (0x81 | 0x83, Some(bytes)) if is_stack && is_wide && found.middle == 5 => StackEffect::Move(-bytes),
        // Comparisons change nothing.
        (0x81 | 0x83, _) if is_stack && found.middle == 7 => StackEffect::None,
        (0x38..=0x3b | 0x84 | 0x85, _) => StackEffect::None,
        (0x80..=0x83 | 0xc0 | 0xc1 | 0xc6 | 0xc7 | 0xd0..=0xd3 | 0xf6 | 0xf7 | 0xfe | 0xff, _) if is_stack => {
            StackEffect::Unknown
        }
        (0x8d, _) if middle == STACK_POINTER => match found.stack {
            Some((Base::StackPointer, by, false)) if is_wide => StackEffect::Move(by),
            Some((Base::FramePointer, by, false)) if is_wide => StackEffect::ToFrame(by),
            _ => StackEffect::Unknown,
        },
        (0x8d, _) if middle == FRAME_POINTER => match found.stack {
            Some((Base::StackPointer, by, false)) if is_wide => StackEffect::FrameFromStack(by),
            _ => StackEffect::None,
        },
        (0x89, _) if is_stack && middle == FRAME_POINTER && is_wide => StackEffect::ToFrame(0),
        (0x89, _) if found.other == Some(FRAME_POINTER) && middle == STACK_POINTER && is_wide => {
            StackEffect::FrameFromStack(0)
        }
        (0x8b, _) if middle == STACK_POINTER && found.other == Some(FRAME_POINTER) && is_wide => {
            StackEffect::ToFrame(0)
        }
        (0x8b, _) if middle == FRAME_POINTER && is_stack && is_wide => StackEffect::FrameFromStack(0),
        // Those that write their middle register, and those that write the other.
        _ if decoded.writes >> STACK_POINTER & 1 != 0 => StackEffect::Unknown,
        (0x01 | 0x09 | 0x11 | 0x19 | 0x21 | 0x29 | 0x31 | 0x87 | 0x89, _) if is_stack => StackEffect::Unknown,
        (0x03 | 0x0b | 0x13 | 0x1b | 0x23 | 0x2b | 0x33 | 0x63 | 0x69 | 0x6b | 0x87 | 0x8b, _)
            if middle == STACK_POINTER =>
        {
            StackEffect::Unknown
        }
        _ => StackEffect::None,
    }
}

/// Registers that an instruction without a ModRM byte reads and writes. Implicit operands are no
/// registers that outlive a call, and are left out.
fn implied(opcode: u8, prefixes: Prefixes) -> (u32, u32) {
    let register = 1 << (opcode & 7 | (prefixes.rex & 1) << 3);
    match opcode {
        0x50..=0x57 | 0x90..=0x97 => (register, 0),
        0xb0..=0xb7 => (register | second_byte(register, prefixes), 0),
        0x58..=0x5f => (0, register),
        0xb8..=0xbf if prefixes.size() >= 4 => (0, register),
        0xb8..=0xbf => (register, 0),
        _ => (0, 0),
    }
}

/// Operands of one byte: the numbers from 4 to 7 may mean the second byte of one of the first four
/// registers.
fn second_byte(registers: u32, prefixes: Prefixes) -> u32 {
    if prefixes.rex == 0 { (registers & 0xf0) >> 4 } else { 0 }
}

/// Whether the register that the last bits of the ModRM byte name, and the one that the middle bits
/// name, are operands of one byte.
fn one_byte(opcode: u8, is_extended: bool) -> (bool, bool) {
    match (is_extended, opcode) {
        (false, 0x00..=0x3f) => (opcode & 5 == 0, opcode & 5 == 0),
        (false, 0x84 | 0x86 | 0x88 | 0x8a) | (true, 0xb0 | 0xc0) => (true, true),
        (false, 0x80 | 0xc0 | 0xc6 | 0xd0 | 0xd2 | 0xf6 | 0xfe) | (true, 0x90..=0x9f | 0xb6 | 0xbe) => (true, false),
        _ => (false, false),
    }
}

/// Registers that an instruction with a ModRM byte reads and writes.
fn used(opcode: u8, is_extended: bool, prefixes: Prefixes, operands: &Operands) -> (u32, u32) {
    let middle = operands.middle | (prefixes.rex & 4) << 1;
    let (mut middle_bit, mut other_bit) = (1 << middle, operands.other.map_or(0, |number| 1 << number));
    let (is_other_byte, is_middle_byte) = one_byte(opcode, is_extended);
    other_bit |= if is_other_byte { second_byte(other_bit, prefixes) } else { 0 };
    middle_bit |= if is_middle_byte { second_byte(middle_bit, prefixes) } else { 0 };
    let is_whole = prefixes.size() >= 4;
    match (is_extended, opcode) {
        (false, 0x63 | 0x8b | 0x8d) | (true, 0xb6 | 0xb7 | 0xbe | 0xbf) if is_whole => {
            (operands.address | other_bit, middle_bit)
        }
        (false, 0x89) if is_whole => (operands.address | middle_bit, other_bit),
        (false, 0xc7) if is_whole => (operands.address, other_bit),
        (false, 0x29 | 0x2b | 0x31 | 0x33) if is_whole && operands.other == Some(middle) => (0, middle_bit),
        // The middle bits are more of the opcode.
        (false, 0x80..=0x83 | 0xc0 | 0xc1 | 0xc6 | 0xc7 | 0xd0..=0xd3 | 0xf6 | 0xf7 | 0xfe | 0xff) => {
            (operands.address | other_bit, 0)
        }
        _ => (operands.address | middle_bit | other_bit, 0),
    }
}

/// Instructions of one byte, prefixes and operands apart.
fn ordinary(opcode: u8, prefixes: Prefixes) -> Option<Shape> {
    use OperandAccess::{Points, Reads, Writes};
    let (size, immediate) = (prefixes.size(), prefixes.immediate());
    Some(match opcode {
        0x00..=0x3f => match opcode & 7 {
            0 | 2 => Shape::Operands(0, Reads(1)),
            1 | 3 => Shape::Operands(0, Reads(size)),
            4 => Shape::Plain(1),
            5 => Shape::Plain(immediate),
            _ => return None,
        },
        0x50..=0x5f | 0x90..=0x99 | 0x9b..=0x9f | 0xa4..=0xa7 | 0xaa..=0xaf | 0xf5 | 0xf8..=0xfd => Shape::Plain(0),
        0x63 => Shape::Operands(0, Reads(4)),
        0x84 | 0x86 | 0x8a | 0xd0 | 0xd2 | 0xfe => Shape::Operands(0, Reads(1)),
        0x85 | 0x87 | 0x8b | 0xd1 | 0xd3 => Shape::Operands(0, Reads(size)),
        // Pushing, and calling by a pointer.
        0xff => Shape::Operands(0, Reads(8)),
        0xd8..=0xdf => Shape::Operands(0, Reads(16)),
        0x68 | 0xa9 => Shape::Plain(immediate),
        0x6a | 0xa8 | 0xb0..=0xb7 => Shape::Plain(1),
        0x69 | 0x81 | 0xf7 => Shape::Operands(immediate, Reads(size)),
        0x6b | 0x83 | 0xc1 => Shape::Operands(1, Reads(size)),
        0x80 | 0xc0 | 0xf6 => Shape::Operands(1, Reads(1)),
        0x70..=0x7f => Shape::Branch(1),
        0x88 => Shape::Operands(0, Writes(1)),
        0x89 => Shape::Operands(0, Writes(size)),
        0x8d => Shape::Operands(0, Points),
        0xb8..=0xbf if prefixes.is_wide() => Shape::Plain(8),
        0xb8..=0xbf => Shape::Plain(immediate),
        0xc2 => Shape::Return(2),
        0xc3 => Shape::Return(0),
        0xc9 => Shape::Plain(0),
        0xcc | 0xf4 => Shape::End,
        0xc6 => Shape::Operands(1, Writes(1)),
        0xc7 => Shape::Operands(immediate, Writes(size)),
        0xe8 => Shape::Call,
        0xe9 => Shape::Jump(4),
        0xeb => Shape::Jump(1),
        _ => return None,
    })
}

/// Instructions that begin with 0x0f.
fn extended(opcode: u8, code: &mut Reader<'_>, prefixes: Prefixes) -> Option<Shape> {
    use OperandAccess::{Reads, Writes};
    let (size, scalar) = (prefixes.size(), prefixes.scalar());
    let word = if prefixes.is_wide() { 8 } else { 4 };
    Some(match opcode {
        0x0b => Shape::End,
        0x05 | 0x31 | 0x77 | 0xa2 | 0xc8..=0xcf => Shape::Plain(0),
        0x11 => Shape::Operands(0, Writes(scalar)),
        0x13 | 0x17 => Shape::Operands(0, Writes(8)),
        0x29 | 0x2b | 0xe7 => Shape::Operands(0, Writes(16)),
        0x7e if prefixes.repeat == 0 => Shape::Operands(0, Writes(word)),
        0x7e => Shape::Operands(0, Reads(8)),
        0x7f if prefixes.narrow || prefixes.repeat == 0xf3 => Shape::Operands(0, Writes(16)),
        0xd6 if prefixes.narrow => Shape::Operands(0, Writes(8)),
        0x90..=0x9f => Shape::Operands(0, Writes(1)),
        0x38 => {
            code.byte()?;
            Shape::Operands(0, Reads(16))
        }
        0x3a => {
            code.byte()?;
            Shape::Operands(1, Reads(16))
        }
        0x80..=0x8f => Shape::Branch(4),
        0xa4 | 0xac | 0xba => Shape::Operands(1, Reads(size)),
        0x70..=0x73 | 0xc2 | 0xc4..=0xc6 => Shape::Operands(1, Reads(16)),
        0x40..=0x4f | 0xa3 | 0xa5 | 0xab | 0xad | 0xaf | 0xb1 | 0xb3 | 0xbb..=0xbd | 0xc1 => {
            Shape::Operands(0, Reads(size))
        }
        0x2a | 0x6e => Shape::Operands(0, Reads(word)),
        0xb0 | 0xb6 | 0xbe | 0xc0 => Shape::Operands(0, Reads(1)),
        0xb7 | 0xbf => Shape::Operands(0, Reads(2)),
        0x10 | 0x51..=0x5f => Shape::Operands(0, Reads(scalar)),
        0x2e | 0x2f => Shape::Operands(0, Reads(if prefixes.narrow { 8 } else { 4 })),
        0x0d | 0x12..=0x1f | 0x28..=0x2d | 0x50 | 0x60..=0x7f | 0xb8 | 0xc3 | 0xc7 | 0xd0..=0xfe => {
            Shape::Operands(0, Reads(16))
        }
        _ => return None,
    })
}
