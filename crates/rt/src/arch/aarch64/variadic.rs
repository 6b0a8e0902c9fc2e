//! Functions with any number of arguments: their stubs, and the list of arguments behind the named
//! ones (the `va_list` of AAPCS64).

/// The arguments that were not taken yet.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ArgumentList {
    /// The next argument on the stack.
    stack: usize,
    /// Behind the saved general registers.
    general_end: usize,
    /// Behind the saved vector registers.
    vector_end: usize,
    /// Distance of the next argument from the end of the saved general registers; 0 if none is
    /// left.
    general: i32,
    /// Likewise of the saved vector registers.
    vector: i32,
}

impl ArgumentList {
    /// The next integer or pointer.
    pub fn integer(&mut self) -> u64 {
        if self.general < 0 {
            let at = self.general_end.wrapping_add_signed(self.general as isize);
            self.general += 8;
            return load(at);
        }
        self.on_stack(8)
    }

    /// Passes over a floating-point number.
    pub fn skip_double(&mut self) {
        if self.vector < 0 {
            self.vector += 16;
        } else {
            self.on_stack(8);
        }
    }

    /// Passes over a `long double`, which has 16 bytes.
    pub fn skip_long_double(&mut self) {
        if self.vector < 0 {
            self.vector += 16;
        } else {
            self.stack = self.stack.next_multiple_of(16);
            self.on_stack(16);
        }
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
    frame_pointer: usize,
    /// The return address.
    pub pc: u64,
    /// The general registers: the first of them hold the named arguments.
    pub named: [usize; 6],
    /// The last two of them.
    more: [usize; 2],
    /// The vector registers.
    vectors: [[u64; 2]; 8],
    /// The arguments behind the named ones.
    pub list: ArgumentList,
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
                    $crate::arch::entry::keep_registers!(),
                    $crate::arch::entry::keep_arguments!(any),
                    "stp x29, x30, [sp, #-240]!",
                    ".cfi_def_cfa_offset 240",
                    ".cfi_offset x29, -240",
                    ".cfi_offset x30, -232",
                    "mov x29, sp",
                    "stp x0, x1, [sp, #16]",
                    "stp x2, x3, [sp, #32]",
                    "stp x4, x5, [sp, #48]",
                    "stp x6, x7, [sp, #64]",
                    "stp q0, q1, [sp, #80]",
                    "stp q2, q3, [sp, #112]",
                    "stp q4, q5, [sp, #144]",
                    "stp q6, q7, [sp, #176]",
                    // The arguments on the stack, and behind the two kinds of registers.
                    "add x9, sp, #240",
                    "add x10, sp, #80",
                    "stp x9, x10, [sp, #208]",
                    "add x9, sp, #208",
                    "str x9, [sp, #224]",
                    concat!("mov w9, #-(8 - ", stringify!($named), ") * 8"),
                    "mov w10, #-128",
                    "stp w9, w10, [sp, #232]",
                    "mov x0, sp",
                    "bl {body}",
                    "ldp x29, x30, [sp], #240",
                    ".cfi_def_cfa_offset 0",
                    ".cfi_restore x29",
                    ".cfi_restore x30",
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
    assert!(core::mem::offset_of!(VariadicCall, named) == 16);
    assert!(core::mem::offset_of!(VariadicCall, vectors) == 80);
    assert!(core::mem::offset_of!(VariadicCall, list) == 208);
    assert!(core::mem::offset_of!(ArgumentList, vector_end) == 16);
    assert!(core::mem::offset_of!(ArgumentList, general) == 24);
    assert!(size_of::<VariadicCall>() == 240);
};
