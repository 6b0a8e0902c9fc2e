//! Stubs that stand for functions of the C library. Each acts first and then continues as the
//! function, with all the arguments that it was given.

/// Stubs that there are.
pub const STUBS: usize = 1024;
/// Distance between them.
const STRIDE: usize = 8;

/// What a stub leaves on its stack.
#[repr(C, align(16))]
pub struct ImportedCall {
    frame_pointer: usize,
    /// The return address.
    pub pc: u64,
    /// The general registers that can hold arguments.
    pub arguments: [usize; 8],
    result_pointer: usize,
    /// Number of the stub.
    pub index: usize,
    vectors: [[u64; 2]; 8],
}

const _: () = {
    assert!(core::mem::offset_of!(ImportedCall, arguments) == 16);
    assert!(core::mem::offset_of!(ImportedCall, index) == 88);
    assert!(core::mem::offset_of!(ImportedCall, vectors) == 96);
    assert!(size_of::<ImportedCall>() == 224);
};

/// The address of a stub.
pub fn stub(index: usize) -> usize {
    stubs as *const () as usize + index * STRIDE
}

/// Whether the address is that of a stub.
pub fn is_stub(address: usize) -> bool {
    (stub(0)..stub(STUBS)).contains(&address)
}

/// All stubs, one behind the other: each loads its number.
#[unsafe(naked)]
unsafe extern "C" fn stubs() {
    core::arch::naked_asm!(
        ".set .Lraddle_stub, 0",
        ".rept 1024",
        "movz x9, #.Lraddle_stub",
        "b {common}",
        ".set .Lraddle_stub, .Lraddle_stub + 1",
        ".endr",
        common = sym common,
    )
}

/// Keeps all registers that can hold arguments, and jumps to where
/// [`act`](crate::library::imports::act) says.
#[unsafe(naked)]
unsafe extern "C" fn common() {
    core::arch::naked_asm!(
        ".cfi_startproc",
        crate::arch::entry::keep_registers!(),
        crate::arch::entry::keep_arguments!(any),
        crate::arch::entry::around_call!("str x9, [sp, #88]", "mov x0, sp"),
        "br x17",
        ".cfi_endproc",
        e = sym crate::arch::entry::ENTERED,
        act = sym crate::library::imports::act,
    )
}
