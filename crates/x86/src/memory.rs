//! Instructions that access memory by one ordinary operand: where it is, what they do to it, and
//! the same instruction with another operand. So a runtime can make the instruction itself.
//!
//! Known are those that compilers use for atomic variables of up to 16 bytes, with general
//! registers. Left out are vector instructions, string instructions, those that use the stack,
//! jumps, and bit offsets in registers (which reach beyond their operand).

use crate::LONGEST;

/// Where an operand of memory is: `base + index * scale + displacement`, in a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperandPlace {
    /// The segment register, if it has a base address of its own.
    pub segment: Option<OperandSegment>,
    /// Number of the register.
    pub base: Option<u8>,
    /// Number of the register, and the log2 of what it is multiplied by.
    pub index: Option<(u8, u8)>,
    /// What is added, signed.
    pub displacement: i32,
    /// Whether it is relative to the next instruction.
    pub relative: bool,
}

/// Segments that do not begin at 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperandSegment {
    /// Thread-local storage.
    Fs,
    /// The other one.
    Gs,
}

/// What an instruction does to its operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryUse {
    /// Reads it.
    Load,
    /// Writes it.
    Store,
    /// Reads it, and writes what follows from that.
    Update,
    /// Writes it if it holds what is in the accumulator, which is loaded otherwise.
    CompareExchange,
}

/// An instruction with an operand in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryInstruction {
    /// Bytes of the instruction.
    pub length: u8,
    /// Where the operand is.
    pub place: OperandPlace,
    /// log2 of the operand's bytes.
    pub log_size: u8,
    /// What is done to it.
    pub access: MemoryUse,
    /// Whether it is atomic: with the prefix LOCK, or an exchange.
    pub is_locked: bool,
    /// Whether it is an exchange with this register.
    pub exchanges: Option<u8>,
    /// Whether it changes nothing in memory, by its constant: compilers use such ones as fences.
    pub is_neutral: bool,
    prefixes: Prefixes,
    opcode: [u8; 2],
    opcode_len: u8,
    middle: u8,
    constant: [u8; 4],
    constant_len: u8,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Prefixes {
    narrow: bool,
    locked: bool,
    rex: Option<u8>,
    segment: Option<OperandSegment>,
}

/// What is known of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recognised {
    /// It accesses memory.
    Memory(MemoryInstruction),
    /// It is a fence, of this many bytes.
    Fence(u8),
}

/// The first instruction of these bytes, if it accesses memory in a way that is known, or is a
/// fence.
#[must_use]
pub fn memory_instruction(bytes: &[u8]) -> Option<Recognised> {
    let code = &bytes[..bytes.len().min(LONGEST)];
    let mut at = 0;
    let mut next = || {
        let byte = code.get(at).copied();
        at += 1;
        byte
    };
    let mut prefixes = Prefixes::default();
    let mut opcode = next()?;
    loop {
        match opcode {
            0x66 => prefixes.narrow = true,
            0xf0 => prefixes.locked = true,
            0x64 => prefixes.segment = Some(OperandSegment::Fs),
            0x65 => prefixes.segment = Some(OperandSegment::Gs),
            0x26 | 0x2e | 0x36 | 0x3e => {}
            _ => break,
        }
        opcode = next()?;
    }
    if opcode & 0xf0 == 0x40 {
        prefixes.rex = Some(opcode & 15);
        opcode = next()?;
    }
    let is_extended = opcode == 0x0f;
    let second = if is_extended { next()? } else { 0 };
    let operands = next()?;
    let (mode, middle, low) = (operands >> 6, operands >> 3 & 7, operands & 7);
    if is_extended && second == 0xae && mode == 3 && middle >= 5 {
        return u8::try_from(at).ok().map(Recognised::Fence);
    }
    if mode == 3 {
        return None;
    }
    let rex = prefixes.rex.unwrap_or(0);
    let mut place = OperandPlace {
        segment: prefixes.segment,
        base: Some(low | (rex & 1) << 3),
        index: None,
        displacement: 0,
        relative: false,
    };
    if low == 4 {
        let sib = next()?;
        let index = sib >> 3 & 7 | (rex & 2) << 2;
        place.index = (index != 4).then_some((index, sib >> 6));
        place.base = if mode == 0 && sib & 7 == 5 { None } else { Some(sib & 7 | (rex & 1) << 3) };
    } else if mode == 0 && low == 5 {
        (place.base, place.relative) = (None, true);
    }
    let displacement = match mode {
        0 if place.base.is_none() => 4,
        0 => 0,
        1 => 1,
        _ => 4,
    };
    place.displacement = match displacement {
        1 => i32::from(next()?.cast_signed()),
        4 => i32::from_le_bytes([next()?, next()?, next()?, next()?]),
        _ => 0,
    };
    let known = if is_extended { extended(second, middle, prefixes) } else { ordinary(opcode, middle, prefixes) };
    let Known { access, log_size, constant: constant_len, exchanges } = known?;
    let mut constant = [0; 4];
    for byte in constant.iter_mut().take(usize::from(constant_len)) {
        *byte = next()?;
    }
    let number = match constant_len {
        1 => i32::from(constant[0].cast_signed()),
        _ => i32::from_le_bytes(constant),
    };
    // Or, add, subtract and exclusive or of nothing; and of everything.
    let is_neutral = !is_extended
        && matches!(opcode, 0x80 | 0x81 | 0x83)
        && match middle {
            0 | 1 | 5 | 6 => number == 0,
            4 => number == -1,
            _ => false,
        };
    Some(Recognised::Memory(MemoryInstruction {
        length: u8::try_from(at).ok()?,
        place,
        log_size,
        access,
        is_locked: prefixes.locked || exchanges,
        exchanges: exchanges.then_some(middle | (rex & 4) << 1),
        is_neutral,
        prefixes,
        opcode: if is_extended { [0x0f, second] } else { [opcode, 0] },
        opcode_len: 1 + u8::from(is_extended),
        middle,
        constant,
        constant_len,
    }))
}

struct Known {
    access: MemoryUse,
    log_size: u8,
    /// Bytes of constant behind the operand.
    constant: u8,
    exchanges: bool,
}

impl Prefixes {
    fn log_size(self) -> u8 {
        match (self.rex.unwrap_or(0) & 8 != 0, self.narrow) {
            (true, _) => 3,
            (false, true) => 1,
            (false, false) => 2,
        }
    }
}

fn known(access: MemoryUse, log_size: u8, constant: u8) -> Option<Known> {
    Some(Known { access, log_size, constant, exchanges: false })
}

/// Instructions of one byte of opcode.
fn ordinary(opcode: u8, middle: u8, prefixes: Prefixes) -> Option<Known> {
    use MemoryUse::{Load, Store, Update};
    let wide = prefixes.log_size();
    let size = if opcode & 1 == 0 { 0 } else { wide };
    let whole_constant = 1 << wide.min(2);
    match opcode {
        // Arithmetic and logic; the last one compares.
        0x00..=0x3f if opcode & 7 < 4 => {
            let writes = opcode & 7 < 2 && opcode >> 3 != 7;
            known(if writes { Update } else { Load }, size, 0)
        }
        0x63 => known(Load, 2, 0),
        0x69 => known(Load, wide, whole_constant),
        0x6b => known(Load, wide, 1),
        0x80 | 0x83 => known(if middle == 7 { Load } else { Update }, size, 1),
        0x81 => known(if middle == 7 { Load } else { Update }, size, whole_constant),
        0x84 | 0x85 | 0x8a | 0x8b => known(Load, size, 0),
        0x86 | 0x87 => Some(Known { access: Update, log_size: size, constant: 0, exchanges: true }),
        0x88 | 0x89 => known(Store, size, 0),
        0xc6 if middle == 0 => known(Store, 0, 1),
        0xc7 if middle == 0 => known(Store, wide, whole_constant),
        0xc0 | 0xc1 => known(Update, size, 1),
        0xd0..=0xd3 => known(Update, size, 0),
        0xf6 if middle < 2 => known(Load, 0, 1),
        0xf7 if middle < 2 => known(Load, wide, whole_constant),
        0xf6 | 0xf7 if middle < 4 => known(Update, size, 0),
        0xfe | 0xff if middle < 2 => known(Update, size, 0),
        _ => None,
    }
}

/// Instructions whose opcode begins with 0x0f.
fn extended(opcode: u8, middle: u8, prefixes: Prefixes) -> Option<Known> {
    use MemoryUse::{CompareExchange, Load, Store, Update};
    let wide = prefixes.log_size();
    let size = if opcode & 1 == 0 { 0 } else { wide };
    match opcode {
        0x40..=0x4f | 0xaf => known(Load, wide, 0),
        0x90..=0x9f => known(Store, 0, 0),
        0xb0 | 0xb1 => known(CompareExchange, size, 0),
        0xb6 | 0xbe => known(Load, 0, 0),
        0xb7 | 0xbf => known(Load, 1, 0),
        0xba if middle >= 4 => known(if middle == 4 { Load } else { Update }, wide, 1),
        0xc0 | 0xc1 => known(Update, size, 0),
        0xc7 if middle == 1 => known(CompareExchange, if wide == 3 { 4 } else { 3 }, 0),
        _ => None,
    }
}

impl MemoryInstruction {
    /// The same instruction without LOCK whose operand is `distance` bytes behind its own end, and
    /// its length.
    #[must_use]
    pub fn with_operand(&self, distance: impl FnOnce(usize) -> i32) -> ([u8; LONGEST], usize) {
        let mut code = [0; LONGEST];
        let mut len = 0;
        let mut put = |byte: u8| {
            code[len] = byte;
            len += 1;
        };
        if self.prefixes.narrow {
            put(0x66);
        }
        if let Some(rex) = self.prefixes.rex {
            // Without what extends the registers of the address.
            put(0x40 | rex & 0b1100);
        }
        self.opcode[..usize::from(self.opcode_len)].iter().for_each(|&byte| put(byte));
        put(self.middle << 3 | 5);
        let at = len;
        len += 4;
        let end = len + usize::from(self.constant_len);
        code[len..end].copy_from_slice(&self.constant[..usize::from(self.constant_len)]);
        code[at..at + 4].copy_from_slice(&distance(end).to_le_bytes());
        (code, end)
    }

    /// Whether it is a compare-exchange of two registers at once.
    #[must_use]
    pub fn is_pair(&self) -> bool {
        (self.opcode, self.opcode_len) == ([0x0f, 0xc7], 2)
    }

    /// Whether it uses the stack pointer other than for its address: then it cannot be made
    /// elsewhere.
    #[must_use]
    pub fn uses_stack_pointer(&self) -> bool {
        let has_register = !matches!(
            (self.opcode[0], self.opcode_len),
            (0x80 | 0x81 | 0x83 | 0xc6 | 0xc7 | 0xf6 | 0xf7 | 0xfe | 0xff | 0xc0 | 0xc1 | 0xd0..=0xd3, 1)
        );
        let is_group = self.opcode_len == 2 && matches!(self.opcode[1], 0xba | 0xc7 | 0x90..=0x9f);
        let register = self.middle | (self.prefixes.rex.unwrap_or(0) & 4) << 1;
        // As a register of one byte without REX, 4 is another one.
        has_register && !is_group && register == 4 && (self.log_size > 0 || self.prefixes.rex.is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(bytes: &[u8]) -> MemoryInstruction {
        match memory_instruction(bytes) {
            Some(Recognised::Memory(found)) => {
                assert_eq!(usize::from(found.length), bytes.len(), "{bytes:x?}");
                found
            }
            other => panic!("{bytes:x?}: {other:?}"),
        }
    }

    #[test]
    fn what_is_done_to_the_operand() {
        let cases: [(&[u8], MemoryUse, u8, bool); 17] = [
            // lock xadd %eax,0x2f08(%rip)
            (&[0xf0, 0x0f, 0xc1, 0x05, 8, 0x2f, 0, 0], MemoryUse::Update, 2, true),
            // lock cmpxchg %rdx,(%rdi)
            (&[0xf0, 0x48, 0x0f, 0xb1, 0x17], MemoryUse::CompareExchange, 3, true),
            // lock cmpxchg16b (%rdi)
            (&[0xf0, 0x48, 0x0f, 0xc7, 0x0f], MemoryUse::CompareExchange, 4, true),
            // xchg %al,(%rdx)
            (&[0x86, 0x02], MemoryUse::Update, 0, true),
            // lock addw $0x1234,0x8(%rsp)
            (&[0xf0, 0x66, 0x81, 0x44, 0x24, 8, 0x34, 0x12], MemoryUse::Update, 1, true),
            // lock btsl $3,(%rdi)
            (&[0xf0, 0x0f, 0xba, 0x2f, 3], MemoryUse::Update, 2, true),
            // mov 0x10(%rax,%r9,8),%rcx
            (&[0x4a, 0x8b, 0x4c, 0xc8, 0x10], MemoryUse::Load, 3, false),
            // mov %eax,(%rdi)
            (&[0x89, 0x07], MemoryUse::Store, 2, false),
            // movl $1,0x0(%rip)
            (&[0xc7, 0x05, 0, 0, 0, 0, 1, 0, 0, 0], MemoryUse::Store, 2, false),
            // movq $-1,(%rdi)
            (&[0x48, 0xc7, 0x07, 0xff, 0xff, 0xff, 0xff], MemoryUse::Store, 3, false),
            // movzbl 0xf(%rsp),%eax
            (&[0x0f, 0xb6, 0x44, 0x24, 0x0f], MemoryUse::Load, 0, false),
            // cmpl $0,(%rdi)
            (&[0x83, 0x3f, 0], MemoryUse::Load, 2, false),
            // cmp %eax,(%rdi), cmp (%rdi),%eax
            (&[0x39, 0x07], MemoryUse::Load, 2, false),
            (&[0x3b, 0x07], MemoryUse::Load, 2, false),
            // testb $1,(%rdi)
            (&[0xf6, 0x07, 1], MemoryUse::Load, 0, false),
            // incl (%rdi)
            (&[0xff, 0x07], MemoryUse::Update, 2, false),
            // mov %fs:0x28,%rax
            (&[0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0], MemoryUse::Load, 3, false),
        ];
        for (bytes, access, log_size, is_locked) in cases {
            let found = memory(bytes);
            assert_eq!((found.access, found.log_size, found.is_locked), (access, log_size, is_locked), "{bytes:x?}");
        }
    }

    #[test]
    fn where_the_operand_is() {
        let place = memory(&[0x4a, 0x8b, 0x4c, 0xc8, 0xf0]).place;
        let expected =
            OperandPlace { segment: None, base: Some(0), index: Some((9, 3)), displacement: -16, relative: false };
        assert_eq!(place, expected);
        let place = memory(&[0xf0, 0x0f, 0xc1, 0x05, 8, 0x2f, 0, 0]).place;
        assert_eq!((place.base, place.displacement, place.relative), (None, 0x2f08, true));
        let place = memory(&[0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0]).place;
        assert_eq!((place.segment, place.base, place.displacement), (Some(OperandSegment::Fs), None, 0x28));
        // mov (%r12),%eax and mov 0(%r13),%eax have the forms of rsp and rbp.
        assert_eq!(memory(&[0x41, 0x8b, 0x04, 0x24]).place.base, Some(12));
        assert_eq!(memory(&[0x41, 0x8b, 0x45, 0]).place.base, Some(13));
    }

    #[test]
    fn the_same_with_another_operand() {
        // lock xadd %r9d,0x10(%r12) becomes xadd %r9d,-3(%rip).
        let found = memory(&[0xf0, 0x45, 0x0f, 0xc1, 0x4c, 0x24, 0x10]);
        let (code, len) = found.with_operand(|len| {
            assert_eq!(len, 8);
            -3
        });
        assert_eq!(code[..len], [0x44, 0x0f, 0xc1, 0x0d, 0xfd, 0xff, 0xff, 0xff]);
        // lock addw $0x1234,0x8(%rsp)
        let found = memory(&[0xf0, 0x66, 0x81, 0x44, 0x24, 8, 0x34, 0x12]);
        let (code, len) = found.with_operand(|_| 0x1000);
        assert_eq!(code[..len], [0x66, 0x81, 0x05, 0, 0x10, 0, 0, 0x34, 0x12]);
    }

    #[test]
    fn fences_and_what_is_left_out() {
        assert_eq!(memory_instruction(&[0x0f, 0xae, 0xf0]), Some(Recognised::Fence(3)));
        // lock orq $0,(%rsp)
        assert!(memory(&[0xf0, 0x48, 0x83, 0x0c, 0x24, 0]).is_neutral);
        assert!(!memory(&[0xf0, 0x48, 0x83, 0x0c, 0x24, 1]).is_neutral);
        // mov %rsp,(%rdi) cannot be made elsewhere; mov %ah,(%rdi) can.
        assert!(memory(&[0x48, 0x89, 0x27]).uses_stack_pointer());
        assert!(!memory(&[0x88, 0x27]).uses_stack_pointer());
        assert!(!memory(&[0x83, 0x27, 1]).uses_stack_pointer());
        // Registers only; push, call and jump by memory; bts with a register; movsd; rep stos; a
        // 32-bit address.
        let others: [&[u8]; 8] = [
            &[0x89, 0xc8],
            &[0xff, 0x37],
            &[0xff, 0x17],
            &[0xff, 0x27],
            &[0xf0, 0x0f, 0xab, 0x07],
            &[0xf2, 0x0f, 0x10, 0x07],
            &[0xf3, 0x48, 0xab],
            &[0x67, 0x8b, 0x07],
        ];
        for bytes in others {
            assert_eq!(memory_instruction(bytes), None, "{bytes:x?}");
        }
        // Cut off.
        assert_eq!(memory_instruction(&[0xf0, 0x0f, 0xc1, 0x05, 8]), None);
    }
}
