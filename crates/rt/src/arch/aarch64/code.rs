//! Machine code: how it is decoded, and the forms of stubs.

pub use raddle_aarch64::{Aarch64 as Set, LONGEST, decode};

/// Numbers of the registers in [`Registers::saved`](super::entry::Registers::saved), for those that
/// the decoder knows: x19 to x29.
#[rustfmt::skip]
pub const NUMBERS: [Option<u8>; super::entry::SAVED] = [
    Some(19), Some(20), Some(21), Some(22), Some(23), Some(24), Some(25), Some(26), Some(27), Some(28), Some(29),
    None, None, None, None, None, None, None, None,
];

/// A return address as it is on the stack, where it may have been signed.
pub fn plain_address(word: u64) -> u64 {
    word & 0xffff_ffff_ffff
}

/// Whether the instruction there is one that no processor has, on purpose (`udf`).
pub fn is_never_valid(pc: u64) -> bool {
    // SAFETY: an instruction that was just executed.
    unsafe { *(pc as usize as *const u32) >> 16 == 0 }
}

/// Whether the call that returns there called a function by a pointer (`blr`).
pub fn is_behind_call_by_pointer(pc: u64) -> bool {
    const REGISTER: u32 = 0x3e0;
    if pc < 1 << 16 {
        return false;
    }
    // SAFETY: a return address: the call lies before it.
    let instruction = unsafe { *((pc as usize - 4) as *const u32) };
    instruction & !REGISTER == 0xd63f_0000
}

/// The slot by which a stub jumps: an entry of the procedure linkage table, or a hook. Both load
/// from a slot in the page of `adrp`, and jump.
pub fn slot_of_stub(entry: u64, code_at: impl Fn(u64) -> Option<[u8; LONGEST]>) -> Option<u64> {
    const BTI: u32 = 0xd503_245f;
    let word = |at: u64| code_at(at).map(u32::from_le_bytes);
    let start = if word(entry)? == BTI { entry + 4 } else { entry };
    let (page, load) = (word(start)?, word(start + 4)?);
    // adrp x16; ldr x16 or x17, [x16, #...]
    if page & 0x9f00_001f != 0x9000_0010 || load & 0xffc0_03fe != 0xf940_0210 {
        return None;
    }
    let third = word(start + 8)?;
    // br x16; or add x16, x16, #...; br x17
    let jumps = third == 0xd61f_0200 || third & 0xffc0_03ff == 0x9100_0210 && word(start + 12)? == 0xd61f_0220;
    let pages = i64::from((page >> 5 & 0x7_ffff) << 2 | page >> 29 & 3) << 43 >> 43;
    let at = (start & !0xfff).wrapping_add_signed(pages << 12).wrapping_add(u64::from(load >> 10 & 0xfff) * 8);
    jumps.then_some(at)
}
