//! Stubs that stand for functions of the C library. Each acts first and then continues as the
//! function, with all the arguments that it was given.

/// Stubs that there are.
pub const STUBS: usize = 1024;
/// Distance between them.
const STRIDE: usize = 16;

/// What a stub leaves on its stack.
#[repr(C, align(16))]
pub struct ImportedCall {
    /// The general registers that can hold arguments.
    pub arguments: [usize; 6],
    vectors_used: usize,
    unused: usize,
    vectors: [[u64; 2]; 8],
    /// Number of the stub.
    pub index: usize,
    /// The return address.
    pub pc: u64,
}

const _: () = {
    assert!(core::mem::offset_of!(ImportedCall, vectors) == 64);
    assert!(core::mem::offset_of!(ImportedCall, index) == 192);
    assert!(core::mem::offset_of!(ImportedCall, pc) == 200);
};

/// The address of a stub.
pub fn stub(index: usize) -> usize {
    stubs as *const () as usize + index * STRIDE
}

/// Whether the address is that of a stub.
pub fn is_stub(address: usize) -> bool {
    (stub(0)..stub(STUBS)).contains(&address)
}

/// All stubs, one behind the other: each pushes its number.
#[unsafe(naked)]
unsafe extern "C" fn stubs() {
    core::arch::naked_asm!(
        ".set .Lraddle_stub, 0",
        ".rept 1024",
        ".balign 16",
        ".byte 0x68",
        ".long .Lraddle_stub",
        "jmp {common}",
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
        ".cfi_def_cfa_offset 16",
        "mov qword ptr [rip + {e}], rbx",
        "mov qword ptr [rip + {e} + 8], rbp",
        "mov qword ptr [rip + {e} + 16], r12",
        "mov qword ptr [rip + {e} + 24], r13",
        "mov qword ptr [rip + {e} + 32], r14",
        "mov qword ptr [rip + {e} + 40], r15",
        "lea r11, [rsp + 8]",
        "mov qword ptr [rip + {e} + 48], r11",
        "mov r11, [rsp + 8]",
        "mov qword ptr [rip + {e} + 56], r11",
        crate::arch::entry::keep_arguments!(any),
        "sub rsp, 192",
        ".cfi_adjust_cfa_offset 192",
        "mov [rsp], rdi",
        "mov [rsp + 8], rsi",
        "mov [rsp + 16], rdx",
        "mov [rsp + 24], rcx",
        "mov [rsp + 32], r8",
        "mov [rsp + 40], r9",
        "mov [rsp + 48], rax",
        "movaps [rsp + 64], xmm0",
        "movaps [rsp + 80], xmm1",
        "movaps [rsp + 96], xmm2",
        "movaps [rsp + 112], xmm3",
        "movaps [rsp + 128], xmm4",
        "movaps [rsp + 144], xmm5",
        "movaps [rsp + 160], xmm6",
        "movaps [rsp + 176], xmm7",
        "mov rdi, rsp",
        "call {act}",
        "mov r11, rax",
        "mov rdi, [rsp]",
        "mov rsi, [rsp + 8]",
        "mov rdx, [rsp + 16]",
        "mov rcx, [rsp + 24]",
        "mov r8, [rsp + 32]",
        "mov r9, [rsp + 40]",
        "mov rax, [rsp + 48]",
        "movaps xmm0, [rsp + 64]",
        "movaps xmm1, [rsp + 80]",
        "movaps xmm2, [rsp + 96]",
        "movaps xmm3, [rsp + 112]",
        "movaps xmm4, [rsp + 128]",
        "movaps xmm5, [rsp + 144]",
        "movaps xmm6, [rsp + 160]",
        "movaps xmm7, [rsp + 176]",
        "add rsp, 200",
        ".cfi_adjust_cfa_offset -200",
        "jmp r11",
        ".cfi_endproc",
        e = sym crate::arch::entry::ENTERED,
        act = sym crate::library::imports::act,
    )
}
