//! Machine code: how it is decoded, and the forms of stubs.

pub use raddle_x86::{LONGEST, X86 as Set, decode};

/// Numbers of the registers in [`Registers::saved`](super::entry::Registers::saved), for those that
/// the decoder knows.
pub const NUMBERS: [Option<u8>; 6] = [Some(3), Some(5), Some(12), Some(13), Some(14), Some(15)];

/// A return address as it is on the stack.
pub fn plain_address(word: u64) -> u64 {
    word
}

/// Whether the instruction there is one that no processor has, on purpose (UD0, UD1, UD2).
pub fn is_never_valid(pc: u64) -> bool {
    // SAFETY: an instruction that was just executed.
    let bytes = unsafe { *(pc as usize as *const [u8; 2]) };
    matches!(bytes, [0x0f, 0x0b | 0xb9 | 0xff])
}

/// Whether the call that returns there called a function by a pointer, and not one of another
/// library by name: neither directly nor through a slot at a fixed distance. Code that is no such
/// call can look like one, so a plausible direct call comes first.
pub fn is_behind_call_by_pointer(pc: u64) -> bool {
    const MOST: usize = 7;
    const NEAR: i32 = 1 << 26;
    if pc < 1 << 16 {
        return false;
    }
    // SAFETY: a return address: code that was just executed lies before it.
    let bytes = unsafe { *((pc as usize - MOST) as *const [u8; MOST]) };
    let [.., 0xe8, a, b, c, d] = bytes else { return ends_in_call_by_pointer(&bytes) };
    let distance = i32::from_le_bytes([a, b, c, d]);
    !(-NEAR..NEAR).contains(&distance) && ends_in_call_by_pointer(&bytes)
}

/// Forms of `call` with a register, or with memory that is not at a distance from the instruction.
fn ends_in_call_by_pointer(bytes: &[u8; 7]) -> bool {
    const SIB: u8 = 4;
    let is_call = |operands: u8| operands >> 3 & 7 == 2;
    let is_plain = |operands: u8| operands & 7 != SIB;
    match *bytes {
        [.., 0xff, operands] if is_call(operands) && matches!(operands >> 6, 0 | 3) => {
            operands >> 6 == 3 || is_plain(operands) && operands & 7 != 5
        }
        [.., 0xff, operands, _] if is_call(operands) && operands >> 6 == 1 => is_plain(operands),
        [.., 0xff, operands, _] if is_call(operands) && operands >> 6 == 0 => !is_plain(operands),
        [.., 0xff, operands, _, _] if is_call(operands) && operands >> 6 == 1 => !is_plain(operands),
        [.., 0xff, operands, _, _, _, _] if is_call(operands) && operands >> 6 == 2 => is_plain(operands),
        [0xff, operands, ..] if is_call(operands) && operands >> 6 == 2 => !is_plain(operands),
        _ => false,
    }
}

/// The slot by which a stub jumps: an entry of the procedure linkage table, or a hook.
pub fn slot_of_stub(entry: u64, code_at: impl Fn(u64) -> Option<[u8; LONGEST]>) -> Option<u64> {
    let bytes = code_at(entry)?;
    let mut at = if bytes.starts_with(&[0xf3, 0x0f, 0x1e, 0xfa]) { 4 } else { 0 };
    at += usize::from(bytes[at] == 0xf2);
    if bytes[at..at + 2] != [0xff, 0x25] {
        return None;
    }
    let distance = i32::from_le_bytes(bytes[at + 2..at + 6].try_into().ok()?);
    Some(entry.wrapping_add(at as u64 + 6).wrapping_add_signed(i64::from(distance)))
}
