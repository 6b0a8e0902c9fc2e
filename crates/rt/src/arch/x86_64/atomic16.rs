//! Atomic access to 16 bytes.

/// Compare-exchange of 16 bytes, the only atomic instruction of that width; returns what the memory
/// held.
///
/// # Safety
/// The address must be a multiple of 16 and of memory that may be written.
pub unsafe fn exchange_16_if(address: u64, old: u128, new: u128) -> u128 {
    let (low, high): (u64, u64);
    // SAFETY: the caller's promise. The compiler keeps rbx for itself, so it is swapped in and out.
    unsafe {
        core::arch::asm!(
            "xchg rsi, rbx",
            "lock cmpxchg16b [rdi]",
            "mov rbx, rsi",
            in("rdi") address,
            inout("rsi") new as u64 => _,
            in("rcx") (new >> 64) as u64,
            inout("rax") old as u64 => low,
            inout("rdx") (old >> 64) as u64 => high,
            options(nostack),
        );
    }
    u128::from(low) | u128::from(high) << 64
}
