//! Atomic access to 16 bytes.

/// Compare-exchange of 16 bytes, which every processor of this architecture can do; returns what
/// the memory held.
///
/// # Safety
/// The address must be a multiple of 16 and of memory that may be written.
pub unsafe fn exchange_16_if(address: u64, old: u128, new: u128) -> u128 {
    let (low, high): (u64, u64);
    // SAFETY: the caller's promise. A pair that was not stored back was not read as one, so what
    // was read is stored again if it is not the old value.
    unsafe {
        core::arch::asm!(
            "2: ldaxp {low}, {high}, [{address}]",
            "cmp {low}, {old_low}",
            "ccmp {high}, {old_high}, #0, eq",
            "csel {next_low}, {new_low}, {low}, eq",
            "csel {next_high}, {new_high}, {high}, eq",
            "stlxp {failed:w}, {next_low}, {next_high}, [{address}]",
            "cbnz {failed:w}, 2b",
            low = out(reg) low,
            high = out(reg) high,
            next_low = out(reg) _,
            next_high = out(reg) _,
            failed = out(reg) _,
            address = in(reg) address,
            old_low = in(reg) old as u64,
            old_high = in(reg) (old >> 64) as u64,
            new_low = in(reg) new as u64,
            new_high = in(reg) (new >> 64) as u64,
            options(nostack),
        );
    }
    u128::from(low) | u128::from(high) << 64
}
