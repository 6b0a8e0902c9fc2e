//! The counter of the processor: its time stamp.

use core::arch::x86_64::_rdtsc;

/// The instructions that read it: `rdtsc`, `rdtscp`.
pub const READINGS: &[&[u8]] = &[&[0x0f, 0x31], &[0x0f, 0x01, 0xf9]];

/// The code of the signal by which the kernel reports an instruction that is not allowed.
pub const REPORTED: i32 = 0x80;

/// The reading that the signal interrupted, if it is one: its number among [`READINGS`].
///
/// # Safety
/// The context must be that of a handler for a reported instruction, which can be read then.
pub unsafe fn interrupted(context: &libc::ucontext_t) -> Option<usize> {
    let at = context.uc_mcontext.gregs[libc::REG_RIP as usize] as *const u8;
    READINGS.iter().position(|reading| {
        // SAFETY: the caller's promise: the processor has read the instruction. Bytes are compared
        // one by one, and the longer instruction is looked at only where it begins as one.
        reading.iter().enumerate().all(|(index, &byte)| unsafe { *at.add(index) } == byte)
    })
}

/// The interrupted code goes on behind the reading, which gave this value.
pub fn answer(context: &mut libc::ucontext_t, reading: usize, value: u64) {
    let registers = &mut context.uc_mcontext.gregs;
    registers[libc::REG_RAX as usize] = (value & 0xffff_ffff) as i64;
    registers[libc::REG_RDX as usize] = (value >> 32) as i64;
    if reading == 1 {
        // The number of the processor.
        registers[libc::REG_RCX as usize] = 0;
    }
    registers[libc::REG_RIP as usize] += READINGS[reading].len() as i64;
}

/// What it shows.
pub fn read() -> u64 {
    // SAFETY: every processor of this architecture has it, and the caller has allowed it.
    unsafe { _rdtsc() }
}
