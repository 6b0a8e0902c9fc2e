//! How the program enters the runtime: small assembly stubs. They pass the caller's return address
//! to the real function as one more argument, because reading it later is unreliable. For
//! operations they also store the registers, for the detection of spin loops.

use core::cell::UnsafeCell;

/// Callee-saved registers and stack pointer of the program at its last call of an operation. With
/// the stack, this is all that a loop can carry from one round to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Registers {
    /// rbx, rbp, r12, r13, r14, r15
    pub saved: [u64; 6],
    /// Stack pointer right after the call instruction.
    pub sp: u64,
    /// Hash of the other registers and of what is below the stack pointer, if the program did not
    /// call the operation but makes it by an instruction; 0 otherwise.
    pub rest: u64,
}

impl Registers {
    /// Of no call.
    pub const NONE: Registers = Registers { saved: [0; 6], sp: 0, rest: 0 };

    /// Which of the registers is the frame pointer (rbp), in code that keeps one.
    pub const FRAME_POINTER: usize = 1;

    /// The frame pointer.
    pub fn frame_pointer(&self) -> usize {
        self.saved[Registers::FRAME_POINTER] as usize
    }
}

/// What a call was given in registers, beside the registers that outlive it.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallArguments {
    /// Where it returns to.
    pub pc: u64,
    count: u64,
    values: [u64; 6],
}

impl CallArguments {
    /// Of no call.
    pub const NONE: CallArguments = CallArguments { pc: 0, count: 0, values: [0; 6] };

    /// The arguments, if they are known: not where a stub is for functions of any kind.
    pub fn values(&self) -> Option<&[u64]> {
        self.values.get(..self.count as usize)
    }
}

/// What the stubs store.
#[repr(C)]
struct EnteredState {
    saved: [u64; 6],
    sp: u64,
    arguments: CallArguments,
}

/// In the place of the number of arguments: the program has not called. The other bits are those of
/// [`Registers::rest`].
const FROM_CODE: u64 = 1 << 63;

const _: () = {
    assert!(core::mem::offset_of!(EnteredState, arguments) == 56);
    assert!(core::mem::offset_of!(CallArguments, count) == 8);
    assert!(core::mem::offset_of!(CallArguments, values) == 16);
};

/// Where the stubs store [`Registers`] and [`CallArguments`].
#[repr(transparent)]
pub struct Entered(UnsafeCell<EnteredState>);

// SAFETY: rule 4 of the crate: only the running fiber enters and reads it.
unsafe impl Sync for Entered {}

/// Registers at the last entry.
pub static ENTERED: Entered =
    Entered(UnsafeCell::new(EnteredState { saved: [0; 6], sp: 0, arguments: CallArguments::NONE }));

/// Whether plain reads are operations, too. Written once, before the program has threads.
pub static READS_ARE_OPERATIONS: core::sync::atomic::AtomicBool = core::sync::atomic::AtomicBool::new(false);

/// The registers with which the program last called an operation.
pub fn registers() -> Registers {
    // SAFETY: rule 4 of the crate.
    let EnteredState { saved, sp, arguments } = unsafe { &*ENTERED.0.get() };
    let rest = if arguments.count & FROM_CODE != 0 { arguments.count } else { 0 };
    Registers { saved: *saved, sp: *sp, rest }
}

impl Entered {
    /// The program has these registers, and makes an operation without a call.
    pub fn come_from_code(&self, Registers { saved, sp, rest }: Registers) {
        let arguments = CallArguments { pc: 0, count: rest | FROM_CODE, values: [0; 6] };
        // SAFETY: rule 4 of the crate.
        unsafe { *self.0.get() = EnteredState { saved, sp, arguments } };
    }
}

/// Whether the program has called an operation since [`take_call`] or [`forget_call`]. Then
/// [`registers`] are those of the running thread.
#[inline(always)]
pub fn has_called() -> bool {
    // SAFETY: rule 4 of the crate.
    unsafe { (*ENTERED.0.get()).arguments.pc != 0 }
}

/// What that call was given is not asked for.
#[inline(always)]
pub fn forget_call() {
    // SAFETY: rule 4 of the crate.
    unsafe { (*ENTERED.0.get()).arguments.pc = 0 };
}

/// What that call was given, if this was not asked before.
pub fn take_call() -> Option<CallArguments> {
    // SAFETY: rule 4 of the crate.
    let arguments = unsafe { &mut (*ENTERED.0.get()).arguments };
    let call = Some(*arguments).filter(|call| call.pc != 0);
    arguments.pc = 0;
    call
}

/// The return address of the last call of an operation, for functions whose arguments leave no
/// register for it. Valid only at the start of the function, because other threads enter the
/// runtime, too.
pub fn return_address() -> u64 {
    // SAFETY: the stub stored the stack pointer at which the call instruction has just put the
    // address.
    unsafe { *(registers().sp as *const u64) }
}

/// The register of the argument that follows this many others.
macro_rules! register {
    (0) => {
        "rdi"
    };
    (1) => {
        "rsi"
    };
    (2) => {
        "rdx"
    };
    (3) => {
        "rcx"
    };
    (4) => {
        "r8"
    };
    (5) => {
        "r9"
    };
    // An address, a number of 16 bytes and one that is not wide.
    (wide) => {
        "r8"
    };
    // No argument: the function asks for `return_address`.
    (many) => {
        "r11"
    };
    (unknown) => {
        "r11"
    };
}
pub(crate) use register;

/// Instructions that store the [`CallArguments`] of a call with so many arguments; `any` if the
/// stub is for functions of any kind.
macro_rules! keep_arguments {
    (0) => {
        "mov qword ptr [rip + {e} + 64], 0"
    };
    // The function announces what it holds.
    (unknown) => {
        "mov qword ptr [rip + {e} + 64], 0"
    };
    (1) => {
        "mov qword ptr [rip + {e} + 64], 1\nmov qword ptr [rip + {e} + 72], rdi"
    };
    (2) => {
        "mov qword ptr [rip + {e} + 64], 2\nmov qword ptr [rip + {e} + 72], rdi\n\
         mov qword ptr [rip + {e} + 80], rsi"
    };
    (3) => {
        "mov qword ptr [rip + {e} + 64], 3\nmov qword ptr [rip + {e} + 72], rdi\n\
         mov qword ptr [rip + {e} + 80], rsi\nmov qword ptr [rip + {e} + 88], rdx"
    };
    (4) => {
        "mov qword ptr [rip + {e} + 64], 4\nmov qword ptr [rip + {e} + 72], rdi\n\
         mov qword ptr [rip + {e} + 80], rsi\nmov qword ptr [rip + {e} + 88], rdx\n\
         mov qword ptr [rip + {e} + 96], rcx"
    };
    (wide) => {
        $crate::arch::entry::keep_arguments!(4)
    };
    (5) => {
        "mov qword ptr [rip + {e} + 64], 5\nmov qword ptr [rip + {e} + 72], rdi\n\
         mov qword ptr [rip + {e} + 80], rsi\nmov qword ptr [rip + {e} + 88], rdx\n\
         mov qword ptr [rip + {e} + 96], rcx\nmov qword ptr [rip + {e} + 104], r8"
    };
    (many) => {
        "mov qword ptr [rip + {e} + 64], 6\nmov qword ptr [rip + {e} + 72], rdi\n\
         mov qword ptr [rip + {e} + 80], rsi\nmov qword ptr [rip + {e} + 88], rdx\n\
         mov qword ptr [rip + {e} + 96], rcx\nmov qword ptr [rip + {e} + 104], r8\n\
         mov qword ptr [rip + {e} + 112], r9"
    };
    (any) => {
        "mov qword ptr [rip + {e} + 64], 7"
    };
}
pub(crate) use keep_arguments;

/// Exports a C function that is an operation: `export!(pthread_mutex_lock, 1 => lock)`, where
/// `lock` takes the C arguments and then the return address. `many` stands for the number of
/// arguments if there are more than five, `unknown` if that depends on the call, `wide` for an
/// address, a number of 16 bytes and one that is not wide.
macro_rules! export {
    ($name:ident, $count:tt => $body:path) => {
        $crate::arch::entry::export!(named stringify!($name), $count => $body);
    };
    (named $name:expr, $count:tt => $body:path) => {
        const _: () = {
            /// Stub: jumps to the function that implements it.
            #[unsafe(export_name = $name)]
            #[unsafe(naked)]
            pub unsafe extern "C" fn stub() {
                core::arch::naked_asm!(
                    "mov qword ptr [rip + {e}], rbx",
                    "mov qword ptr [rip + {e} + 8], rbp",
                    "mov qword ptr [rip + {e} + 16], r12",
                    "mov qword ptr [rip + {e} + 24], r13",
                    "mov qword ptr [rip + {e} + 32], r14",
                    "mov qword ptr [rip + {e} + 40], r15",
                    "mov qword ptr [rip + {e} + 48], rsp",
                    $crate::arch::entry::keep_arguments!($count),
                    concat!("mov ", $crate::arch::entry::register!($count), ", qword ptr [rsp]"),
                    concat!("mov qword ptr [rip + {e} + 56], ", $crate::arch::entry::register!($count)),
                    "jmp {body}",
                    e = sym $crate::arch::entry::ENTERED,
                    body = sym $body,
                )
            }
        };
    };
}
pub(crate) use export;

/// Exports a C function that is no operation but needs its return address: cheaper than [`export`].
macro_rules! hook {
    ($name:ident, 0 => $body:path) => { $crate::arch::entry::hook!(@ $name, "rdi", $body); };
    ($name:ident, 1 => $body:path) => { $crate::arch::entry::hook!(@ $name, "rsi", $body); };
    ($name:ident, 2 => $body:path) => { $crate::arch::entry::hook!(@ $name, "rdx", $body); };
    ($name:ident, 3 => $body:path) => { $crate::arch::entry::hook!(@ $name, "rcx", $body); };
    ($name:ident, 4 => $body:path) => { $crate::arch::entry::hook!(@ $name, "r8", $body); };
    (@ $name:ident, $register:literal, $body:path) => {
        /// Stub: jumps to the function that implements it.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            core::arch::naked_asm!(concat!("mov ", $register, ", qword ptr [rsp]"), "jmp {body}", body = sym $body)
        }
    };
}
pub(crate) use hook;

/// Exports a hook of functions: an operation if some of them are atomic sections, otherwise
/// nothing. Stacks are unwound on demand, so entering a function needs no other bookkeeping.
macro_rules! function_hook {
    ($name:ident, $count:tt => $body:path) => {
        /// Stub: jumps to the function that implements it, if there are sections.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                "cmp byte ptr [rip + {is_operation}], 0",
                "jne 2f",
                "ret",
                "2:",
                "mov qword ptr [rip + {e}], rbx",
                "mov qword ptr [rip + {e} + 8], rbp",
                "mov qword ptr [rip + {e} + 16], r12",
                "mov qword ptr [rip + {e} + 24], r13",
                "mov qword ptr [rip + {e} + 32], r14",
                "mov qword ptr [rip + {e} + 40], r15",
                "mov qword ptr [rip + {e} + 48], rsp",
                $crate::arch::entry::keep_arguments!($count),
                concat!("mov ", $crate::arch::entry::register!($count), ", qword ptr [rsp]"),
                concat!("mov qword ptr [rip + {e} + 56], ", $crate::arch::entry::register!($count)),
                "jmp {body}",
                is_operation = sym $crate::interpose::annotations::section::HAS_FUNCTIONS,
                e = sym $crate::arch::entry::ENTERED,
                body = sym $body,
            )
        }
    };
}
pub(crate) use function_hook;

/// Exports the hook of a plain read: an operation at access granularity, otherwise as cheap as
/// [`hook`].
macro_rules! read_hook {
    ($name:ident => $body:path) => {
        /// Stub: jumps to the function that implements it.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                "mov rsi, qword ptr [rsp]",
                "cmp byte ptr [rip + {is_operation}], 0",
                "jne 2f",
                "jmp {body}",
                "2:",
                "mov qword ptr [rip + {e}], rbx",
                "mov qword ptr [rip + {e} + 8], rbp",
                "mov qword ptr [rip + {e} + 16], r12",
                "mov qword ptr [rip + {e} + 24], r13",
                "mov qword ptr [rip + {e} + 32], r14",
                "mov qword ptr [rip + {e} + 40], r15",
                "mov qword ptr [rip + {e} + 48], rsp",
                $crate::arch::entry::keep_arguments!(1),
                "mov qword ptr [rip + {e} + 56], rsi",
                "jmp {body}",
                is_operation = sym $crate::arch::entry::READS_ARE_OPERATIONS,
                e = sym $crate::arch::entry::ENTERED,
                body = sym $body,
            )
        }
    };
}
pub(crate) use read_hook;

/// Exports a C function that acts first and then continues as the C library's function, with all
/// the arguments that it was given, however many. `act` takes the first four integer arguments and
/// the return address; it returns the address to continue at.
macro_rules! intercept {
    ($name:ident => $act:path) => {
        /// Stub: keeps all registers that can hold arguments.
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
                "sub rsp, 184",
                ".cfi_adjust_cfa_offset 184",
                "mov [rsp], rdi",
                "mov [rsp + 8], rsi",
                "mov [rsp + 16], rdx",
                "mov [rsp + 24], rcx",
                "mov [rsp + 32], r8",
                "mov [rsp + 40], r9",
                "mov [rsp + 48], rax",
                "movups [rsp + 56], xmm0",
                "movups [rsp + 72], xmm1",
                "movups [rsp + 88], xmm2",
                "movups [rsp + 104], xmm3",
                "movups [rsp + 120], xmm4",
                "movups [rsp + 136], xmm5",
                "movups [rsp + 152], xmm6",
                "movups [rsp + 168], xmm7",
                "mov r8, [rsp + 184]",
                "call {act}",
                "mov r11, rax",
                "mov rdi, [rsp]",
                "mov rsi, [rsp + 8]",
                "mov rdx, [rsp + 16]",
                "mov rcx, [rsp + 24]",
                "mov r8, [rsp + 32]",
                "mov r9, [rsp + 40]",
                "mov rax, [rsp + 48]",
                "movups xmm0, [rsp + 56]",
                "movups xmm1, [rsp + 72]",
                "movups xmm2, [rsp + 88]",
                "movups xmm3, [rsp + 104]",
                "movups xmm4, [rsp + 120]",
                "movups xmm5, [rsp + 136]",
                "movups xmm6, [rsp + 152]",
                "movups xmm7, [rsp + 168]",
                "add rsp, 184",
                ".cfi_adjust_cfa_offset -184",
                "jmp r11",
                ".cfi_endproc",
                e = sym $crate::arch::entry::ENTERED,
                act = sym $act,
            )
        }
    };
}
pub(crate) use intercept;
