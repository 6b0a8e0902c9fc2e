//! Loads and stores.

use raddle_liveness::{Instruction, KnownValue, OperandAccess, StackEffect, StackOperand};

use crate::decode::{NOTHING, STACK_POINTER, base, bits, register, signed};

/// What an instruction does to memory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Load,
    Store,
    /// Both, or what is not known.
    Both,
}

/// How an address is made.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Address {
    /// At a distance; the register stays.
    Offset(i32),
    /// At a distance, which is added to the register.
    Before(i32),
    /// At the register, to which a distance is added then.
    After(i32),
    /// At a distance that another register holds.
    Register(u32),
    /// At the register, to which another one or a number that is not looked at is added then.
    AfterUnknown(u32),
}

/// A load or store: registers as masks, the vector registers left out.
struct Access {
    direction: Direction,
    address: Address,
    bytes: u8,
    /// What is loaded or stored.
    data: u32,
    /// Other registers that are read, and others that are written.
    reads: u32,
    writes: u32,
    /// The registers into which eight bytes each are copied.
    loads: [Option<u8>; 2],
    known: KnownValue,
}

impl Access {
    const fn new(direction: Direction, address: Address, bytes: u8) -> Access {
        let (loads, known) = ([None; 2], KnownValue::Nothing);
        Access { direction, address, bytes, data: 0, reads: 0, writes: 0, loads, known }
    }

    /// The instruction, whose address begins with this register.
    fn on(self, from: u32) -> Instruction {
        let base_register = 1u32 << from;
        let (distance, moves, others) = match self.address {
            Address::Offset(by) => (Some(by), None, 0),
            Address::Before(by) => (Some(by), Some(by), 0),
            Address::After(by) => (Some(0), Some(by), 0),
            Address::Register(other) => (None, None, other),
            Address::AfterUnknown(other) => (Some(0), Some(i32::MIN), other),
        };
        let stores = self.direction != Direction::Load;
        let loads = self.direction != Direction::Store;
        let reads = base_register | others | self.reads | if stores { self.data } else { 0 };
        let mut writes = self.writes | if loads { self.data } else { 0 };
        let mut stack = StackEffect::None;
        if let Some(by) = moves {
            if from == u32::from(STACK_POINTER) {
                stack = if by == i32::MIN { StackEffect::Unknown } else { StackEffect::Move(by) };
            } else {
                writes |= base_register;
            }
        }
        let access = match (distance, self.direction) {
            (None, _) => OperandAccess::Indexes,
            (_, Direction::Store) => OperandAccess::Writes(self.bytes),
            (_, Direction::Load | Direction::Both) => OperandAccess::Reads(self.bytes),
        };
        let operand = base(from).map(|base| StackOperand { base, displacement: distance.unwrap_or(0), access });
        // The frame pointer and the link register are saved as a pair: nothing gets a pointer by
        // that.
        let is_saved = self.direction == Direction::Store && from == u32::from(STACK_POINTER);
        let saved = if is_saved { 1 << 29 | 1 << 30 } else { 0 };
        Instruction {
            operand,
            stack,
            loads: self.loads[0].filter(|_| distance.is_some()),
            loads_next: self.loads[1],
            reads,
            writes: writes & !reads,
            values: reads & !base_register & !saved | if stores { self.data & !saved } else { 0 },
            changes: writes,
            only_reads: self.direction == Direction::Load,
            known: if distance.is_some() { self.known } else { KnownValue::Nothing },
            ..NOTHING
        }
    }
}

/// Loads and stores; `None` for those that are not known.
pub(crate) fn decode(word: u32) -> Option<Instruction> {
    let from = bits(word, 5, 5);
    let is_vector = bits(word, 26, 1) == 1;
    match (bits(word, 28, 2), bits(word, 24, 2)) {
        // Vector structures, one behind the other
        (0b00, 0b00 | 0b01) if is_vector && bits(word, 31, 1) == 0 => Some(structures(word).on(from)),
        (0b00, 0b00) if !is_vector => Some(exclusive(word)?.on(from)),
        // From the code itself
        (0b01, 0b00) => {
            let is_prefetch = bits(word, 30, 2) == 3 && !is_vector;
            let to = if is_vector || is_prefetch { 0 } else { register(word, 0) };
            Some(Instruction { writes: to, changes: to, ..NOTHING })
        }
        (0b10, _) => Some(pair(word, is_vector).on(from)),
        (0b11, _) => Some(single(word, is_vector)?.on(from)),
        // LDAPR and STLR with a distance
        (0b01, 0b01) if !is_vector && bits(word, 21, 1) == 0 && bits(word, 10, 2) == 0 => {
            Some(one(word, Address::Offset(signed(word, 12, 9))).on(from))
        }
        _ => None,
    }
}

/// LDP, STP and their relatives.
fn pair(word: u32, is_vector: bool) -> Access {
    let (opcode, is_load) = (bits(word, 30, 2), bits(word, 22, 1) == 1);
    let (scale, is_wide) = match (is_vector, opcode) {
        (true, opcode) => (4 << opcode.min(2), false),
        (false, 2) => (8, true),
        (false, _) => (4, false),
    };
    let distance = signed(word, 15, 7) * scale;
    let address = match bits(word, 23, 2) {
        1 => Address::After(distance),
        3 => Address::Before(distance),
        _ => Address::Offset(distance),
    };
    let direction = if is_load { Direction::Load } else { Direction::Store };
    let mut access = Access::new(direction, address, 2 * scale as u8);
    if !is_vector {
        access.data = register(word, 0) | register(word, 10);
        if is_load && is_wide {
            access.loads = [Some(bits(word, 0, 5) as u8), Some(bits(word, 10, 5) as u8)];
        }
    }
    access
}

/// Loads and stores of one register.
fn single(word: u32, is_vector: bool) -> Option<Access> {
    let size = bits(word, 30, 2);
    // The widest vector registers are told by a bit of the opcode.
    let scale = if is_vector && bits(word, 23, 1) == 1 { 4 } else { size };
    let address = if bits(word, 24, 1) == 1 {
        Address::Offset((bits(word, 10, 12) << scale).cast_signed())
    } else if bits(word, 21, 1) == 0 {
        match bits(word, 10, 2) {
            1 => Address::After(signed(word, 12, 9)),
            3 => Address::Before(signed(word, 12, 9)),
            _ => Address::Offset(signed(word, 12, 9)),
        }
    } else {
        match bits(word, 10, 2) {
            2 => Address::Register(register(word, 16)),
            // Atomic operations on memory
            0 if !is_vector => return Some(atomic(word)),
            _ => return None,
        }
    };
    Some(if is_vector { vector(word, address, scale) } else { one(word, address) })
}

fn vector(word: u32, address: Address, scale: u32) -> Access {
    let direction = if bits(word, 22, 1) == 1 { Direction::Load } else { Direction::Store };
    Access::new(direction, address, 1 << scale)
}

fn one(word: u32, address: Address) -> Access {
    let (size, opcode) = (bits(word, 30, 2), bits(word, 22, 2));
    let bytes = 1u8 << size;
    let number = bits(word, 0, 5) as u8;
    if opcode == 0 {
        let known = if number == 31 && size >= 2 { KnownValue::Slot(0) } else { KnownValue::Nothing };
        return Access { data: register(word, 0), known, ..Access::new(Direction::Store, address, bytes) };
    }
    // PRFM
    if size == 3 && opcode == 2 {
        return Access::new(Direction::Load, address, 0);
    }
    let mut access = Access { data: register(word, 0), ..Access::new(Direction::Load, address, bytes) };
    match (size, opcode) {
        (3, 1) => {
            access.loads[0] = Some(number);
            access.known = KnownValue::Load(number);
        }
        (2, _) if number != 31 => access.known = KnownValue::Load(number),
        _ => {}
    }
    access
}

/// LDADD, SWP and their relatives; LDAPR.
fn atomic(word: u32) -> Access {
    let bytes = 1u8 << bits(word, 30, 2);
    let is_plain_load = bits(word, 12, 4) == 0b1100;
    let direction = if is_plain_load { Direction::Load } else { Direction::Both };
    let mut access = Access::new(direction, Address::Offset(0), bytes);
    if is_plain_load {
        access.data = register(word, 0);
    } else {
        (access.reads, access.writes) = (register(word, 16), register(word, 0));
    }
    access
}

/// Exclusive and ordered accesses, and compare-and-swap.
fn exclusive(word: u32) -> Option<Access> {
    let size = bits(word, 30, 2);
    let (is_ordered, is_load, is_pair) = (bits(word, 23, 1) == 1, bits(word, 22, 1) == 1, bits(word, 21, 1) == 1);
    let (data, second, status) = (register(word, 0), register(word, 10), register(word, 16));
    let at = Address::Offset(0);
    Some(match (is_ordered, is_pair) {
        // CASP, which has bit 31 clear, and CAS: the first register is read and overwritten.
        (false, true) if size < 2 => {
            // Each register stands for a pair.
            let pair = |mask: u32| mask | mask << 1;
            Access { reads: pair(status) | pair(data), writes: pair(status), ..Access::new(Direction::Both, at, 16) }
        }
        (true, true) => Access { reads: status | data, writes: status, ..Access::new(Direction::Both, at, 1 << size) },
        // LDXR, LDXP
        (false, _) if is_load => {
            let (data, bytes) = if is_pair { (data | second, 2 << size) } else { (data, 1 << size) };
            Access { data, ..Access::new(Direction::Load, at, bytes) }
        }
        // STXR, STXP: they may fail.
        (false, _) => {
            let data = if is_pair { data | second } else { data };
            let bytes = if is_pair { 2 << size } else { 1 << size };
            Access { reads: data, writes: status, ..Access::new(Direction::Both, at, bytes) }
        }
        // LDAR, STLR
        (true, false) => {
            let direction = if is_load { Direction::Load } else { Direction::Store };
            Access { data, ..Access::new(direction, at, 1 << size) }
        }
    })
}

/// LD1 to LD4 and ST1 to ST4: at most 64 bytes. Only the distance from the register matters.
fn structures(word: u32) -> Access {
    /// Of four registers.
    const MOST: u8 = 64;
    let direction = if bits(word, 22, 1) == 1 { Direction::Load } else { Direction::Both };
    let address = if bits(word, 23, 1) == 1 {
        let other = register(word, 16);
        Address::AfterUnknown(other)
    } else {
        Address::Offset(0)
    };
    Access::new(direction, address, MOST)
}
