//! Functions with any number of arguments: their stubs, and the list of arguments behind the named
//! ones (the `va_list` of the System V calling convention).

/// The arguments that were not taken yet.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ArgumentList {
    /// Offset of the next argument in the saved general registers.
    general: u32,
    /// Offset of the next argument in the saved vector registers.
    vector: u32,
    /// The next argument on the stack.
    stack: usize,
    /// Where the registers are saved.
    saved: usize,
}

/// Bytes of the saved general registers.
const GENERAL: u32 = 48;
/// Bytes of all saved registers.
const ALL: u32 = GENERAL + 8 * 16;

impl ArgumentList {
    /// The next integer or pointer.
    pub fn integer(&mut self) -> u64 {
        if self.general < GENERAL {
            self.general += 8;
            return load(self.saved + self.general as usize - 8);
        }
        self.on_stack(8)
    }

    /// Passes over a floating-point number.
    pub fn skip_double(&mut self) {
        if self.vector < ALL {
            self.vector += 16;
        } else {
            self.on_stack(8);
        }
    }

    /// Passes over a `long double`, which is always on the stack.
    pub fn skip_long_double(&mut self) {
        self.stack = self.stack.next_multiple_of(16);
        self.on_stack(16);
    }

    fn on_stack(&mut self, bytes: usize) -> u64 {
        self.stack += bytes;
        load(self.stack - bytes)
    }
}

/// A word of the argument area.
fn load(address: usize) -> u64 {
    // SAFETY: the program passes as many arguments as its format string asks for; `address` lies in
    // the area that the list describes.
    unsafe { *(address as *const u64) }
}

/// What the stub of a function with any number of arguments leaves on its stack.
#[repr(C, align(16))]
pub struct VariadicCall {
    /// The general registers: the first of them hold the named arguments.
    pub named: [usize; 6],
    /// The vector registers.
    vectors: [[u64; 2]; 8],
    /// The arguments behind the named ones.
    pub list: ArgumentList,
    unused: [u64; 2],
    /// The return address.
    pub pc: u64,
}

/// Exports a C function with any number of arguments: `variadic!(printf, 1 => print)`, where
/// `print` takes a [`VariadicCall`] and `1` is the number of named arguments.
macro_rules! variadic {
    ($name:ident, $named:literal => $body:path) => {
        const _: () = {
            /// Stub: saves all registers that can hold arguments.
            #[unsafe(export_name = stringify!($name))]
            #[unsafe(naked)]
            pub unsafe extern "C" fn stub() {
                core::arch::naked_asm!(
                    ".cfi_startproc",
                    "mov qword ptr [rip + {e}], rbx",
                    "mov qword ptr [rip + {e} + 8], rbp",
                    "mov qword ptr [rip + {e} + 16], r12",
                    "mov qword ptr [rip + {e} + 24], r13",
                    "mov qword ptr [rip + {e} + 32], r14",
                    "mov qword ptr [rip + {e} + 40], r15",
                    "mov qword ptr [rip + {e} + 48], rsp",
                    $crate::arch::entry::keep_arguments!(any),
                    "sub rsp, 216",
                    ".cfi_adjust_cfa_offset 216",
                    "mov [rsp], rdi",
                    "mov [rsp + 8], rsi",
                    "mov [rsp + 16], rdx",
                    "mov [rsp + 24], rcx",
                    "mov [rsp + 32], r8",
                    "mov [rsp + 40], r9",
                    "movaps [rsp + 48], xmm0",
                    "movaps [rsp + 64], xmm1",
                    "movaps [rsp + 80], xmm2",
                    "movaps [rsp + 96], xmm3",
                    "movaps [rsp + 112], xmm4",
                    "movaps [rsp + 128], xmm5",
                    "movaps [rsp + 144], xmm6",
                    "movaps [rsp + 160], xmm7",
                    concat!("mov dword ptr [rsp + 176], ", stringify!($named), " * 8"),
                    "mov dword ptr [rsp + 180], 48",
                    "lea rax, [rsp + 224]",
                    "mov [rsp + 184], rax",
                    "mov [rsp + 192], rsp",
                    "mov rdi, rsp",
                    "call {body}",
                    "add rsp, 216",
                    ".cfi_adjust_cfa_offset -216",
                    "ret",
                    ".cfi_endproc",
                    e = sym $crate::arch::entry::ENTERED,
                    body = sym $body,
                )
            }
        };
    };
}
pub(crate) use variadic;

const _: () = {
    assert!(core::mem::offset_of!(VariadicCall, list) == 176);
    assert!(core::mem::offset_of!(VariadicCall, pc) == 216);
};
