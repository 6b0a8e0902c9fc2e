//! Machine code: how it is decoded, and the forms of stubs.

pub use raddle_x86::{LONGEST, X86 as Set, decode};

/// Numbers of the registers in [`Registers::saved`](super::entry::Registers::saved), for those that the
/// decoder knows.
pub const NUMBERS: [Option<u8>; 6] = [Some(3), Some(5), Some(12), Some(13), Some(14), Some(15)];

/// A return address as it is on the stack.
pub fn plain_address(word: u64) -> u64 {
    word
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
