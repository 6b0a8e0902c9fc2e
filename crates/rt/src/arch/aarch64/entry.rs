//! How the program enters the runtime: small assembly stubs. They pass the caller's return address
//! to the real function as one more argument, because reading it later is unreliable. For
//! operations they also store the registers, for the detection of spin loops.

use core::cell::UnsafeCell;

/// Registers that outlive calls.
pub const SAVED: usize = 19;

/// Callee-saved registers and stack pointer of the program at its last call of an operation. With
/// the stack, this is all that a loop can carry from one round to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Registers {
    /// x19 to x29, d8 to d15
    pub saved: [u64; SAVED],
    /// Stack pointer.
    pub sp: u64,
    /// Of programs that are observed under an emulator, which are for x86-64: 0.
    pub rest: u64,
}

impl Registers {
    /// Of no call.
    pub const NONE: Registers = Registers { saved: [0; SAVED], sp: 0, rest: 0 };

    /// Which of the registers is the frame pointer (x29), in code that keeps one.
    pub const FRAME_POINTER: usize = 10;

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
    values: [u64; 8],
}

impl CallArguments {
    /// Of no call.
    pub const NONE: CallArguments = CallArguments { pc: 0, count: 0, values: [0; 8] };

    /// The arguments, if they are known: not where a stub is for functions of any kind.
    pub fn values(&self) -> Option<&[u64]> {
        self.values.get(..self.count as usize)
    }
}

/// What the stubs store.
#[repr(C)]
struct EnteredState {
    saved: [u64; SAVED],
    sp: u64,
    arguments: CallArguments,
    /// The address that the call returns to. Unlike that of the arguments it is not taken away.
    link: u64,
}

const _: () = {
    assert!(core::mem::offset_of!(EnteredState, sp) == 152);
    assert!(core::mem::offset_of!(EnteredState, arguments) == 160);
    assert!(core::mem::offset_of!(CallArguments, count) == 8);
    assert!(core::mem::offset_of!(CallArguments, values) == 16);
    assert!(core::mem::offset_of!(EnteredState, link) == 240);
};

/// Where the stubs store [`Registers`] and [`CallArguments`].
#[repr(transparent)]
pub struct Entered(UnsafeCell<EnteredState>);

// SAFETY: rule 4 of the crate: only the running fiber enters and reads it.
unsafe impl Sync for Entered {}

/// Registers at the last entry.
pub static ENTERED: Entered =
    Entered(UnsafeCell::new(EnteredState { saved: [0; SAVED], sp: 0, arguments: CallArguments::NONE, link: 0 }));

/// Whether plain reads are operations, too. Written once, before the program has threads.
pub static READS_ARE_OPERATIONS: core::sync::atomic::AtomicBool = core::sync::atomic::AtomicBool::new(false);

/// The registers with which the program last called an operation.
pub fn registers() -> Registers {
    // SAFETY: rule 4 of the crate.
    let EnteredState { saved, sp, .. } = unsafe { &*ENTERED.0.get() };
    Registers { saved: *saved, sp: *sp, rest: 0 }
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
    // SAFETY: rule 4 of the crate.
    unsafe { (*ENTERED.0.get()).link }
}

/// The instruction that passes the return address behind this many other arguments.
macro_rules! pass_pc {
    (0) => {
        "mov x0, x30"
    };
    (1) => {
        "mov x1, x30"
    };
    (2) => {
        "mov x2, x30"
    };
    (3) => {
        "mov x3, x30"
    };
    (4) => {
        "mov x4, x30"
    };
    (5) => {
        "mov x5, x30"
    };
    // A number of 16 bytes is passed in two registers, of which the first is even.
    (wide) => {
        "mov x5, x30"
    };
    // No argument: the function asks for `return_address`.
    (many) => {
        ""
    };
    (unknown) => {
        ""
    };
}
pub(crate) use pass_pc;

/// Instructions that store the registers that outlive calls; x16 holds the place behind that.
macro_rules! keep_registers {
    () => {
        "adrp x16, {e}\nadd x16, x16, :lo12:{e}\n\
         stp x19, x20, [x16]\nstp x21, x22, [x16, #16]\nstp x23, x24, [x16, #32]\n\
         stp x25, x26, [x16, #48]\nstp x27, x28, [x16, #64]\nstr x29, [x16, #80]\n\
         stp d8, d9, [x16, #88]\nstp d10, d11, [x16, #104]\nstp d12, d13, [x16, #120]\n\
         stp d14, d15, [x16, #136]\nmov x17, sp\nstp x17, x30, [x16, #152]\nstr x30, [x16, #240]"
    };
}
pub(crate) use keep_registers;

/// Instructions that store the arguments of a call with so many of them behind [`keep_registers`];
/// `any` if the stub is for functions of any kind.
macro_rules! keep_arguments {
    (0) => {
        "str xzr, [x16, #168]"
    };
    // The function announces what it holds.
    (unknown) => {
        "str xzr, [x16, #168]"
    };
    (1) => {
        "mov x17, #1\nstp x17, x0, [x16, #168]"
    };
    (2) => {
        "mov x17, #2\nstp x17, x0, [x16, #168]\nstr x1, [x16, #184]"
    };
    (3) => {
        "mov x17, #3\nstp x17, x0, [x16, #168]\nstp x1, x2, [x16, #184]"
    };
    (4) => {
        "mov x17, #4\nstp x17, x0, [x16, #168]\nstp x1, x2, [x16, #184]\nstr x3, [x16, #200]"
    };
    (5) => {
        "mov x17, #5\nstp x17, x0, [x16, #168]\nstp x1, x2, [x16, #184]\nstp x3, x4, [x16, #200]"
    };
    // What lies between the first argument and a wide one is not set.
    (wide) => {
        "mov x17, #4\nstp x17, x0, [x16, #168]\nstp x2, x3, [x16, #184]\nstr x4, [x16, #200]"
    };
    (many) => {
        "mov x17, #8\nstp x17, x0, [x16, #168]\nstp x1, x2, [x16, #184]\nstp x3, x4, [x16, #200]\n\
         stp x5, x6, [x16, #216]\nstr x7, [x16, #232]"
    };
    (any) => {
        "mov x17, #9\nstr x17, [x16, #168]"
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
                    $crate::arch::entry::keep_registers!(),
                    $crate::arch::entry::keep_arguments!($count),
                    $crate::arch::entry::pass_pc!($count),
                    "b {body}",
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
    ($name:ident, $count:tt => $body:path) => {
        /// Stub: jumps to the function that implements it.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            core::arch::naked_asm!($crate::arch::entry::pass_pc!($count), "b {body}", body = sym $body)
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
                "adrp x16, {is_operation}",
                "ldrb w16, [x16, :lo12:{is_operation}]",
                "cbnz w16, 2f",
                "ret",
                "2:",
                $crate::arch::entry::keep_registers!(),
                $crate::arch::entry::keep_arguments!($count),
                $crate::arch::entry::pass_pc!($count),
                "b {body}",
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
                "adrp x16, {is_operation}",
                "ldrb w16, [x16, :lo12:{is_operation}]",
                "cbnz w16, 2f",
                "mov x1, x30",
                "b {body}",
                "2:",
                $crate::arch::entry::keep_registers!(),
                $crate::arch::entry::keep_arguments!(1),
                "mov x1, x30",
                "b {body}",
                is_operation = sym $crate::arch::entry::READS_ARE_OPERATIONS,
                e = sym $crate::arch::entry::ENTERED,
                body = sym $body,
            )
        }
    };
}
pub(crate) use read_hook;

/// Instructions that call `act` while all registers that can hold arguments are kept on the stack;
/// they leave its result in x17. `first` prepares its arguments.
macro_rules! around_call {
    ($($first:literal),*) => {
        concat!(
            "stp x29, x30, [sp, #-224]!\n",
            ".cfi_def_cfa_offset 224\n.cfi_offset x29, -224\n.cfi_offset x30, -216\n",
            "mov x29, sp\n",
            "stp x0, x1, [sp, #16]\nstp x2, x3, [sp, #32]\nstp x4, x5, [sp, #48]\nstp x6, x7, [sp, #64]\n",
            "str x8, [sp, #80]\n",
            "stp q0, q1, [sp, #96]\nstp q2, q3, [sp, #128]\nstp q4, q5, [sp, #160]\nstp q6, q7, [sp, #192]\n",
            $($first, "\n",)*
            "bl {act}\n",
            "mov x17, x0\n",
            "ldp x0, x1, [sp, #16]\nldp x2, x3, [sp, #32]\nldp x4, x5, [sp, #48]\nldp x6, x7, [sp, #64]\n",
            "ldr x8, [sp, #80]\n",
            "ldp q0, q1, [sp, #96]\nldp q2, q3, [sp, #128]\nldp q4, q5, [sp, #160]\nldp q6, q7, [sp, #192]\n",
            "ldp x29, x30, [sp], #224\n",
            ".cfi_def_cfa_offset 0\n.cfi_restore x29\n.cfi_restore x30",
        )
    };
}
pub(crate) use around_call;

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
                $crate::arch::entry::keep_registers!(),
                $crate::arch::entry::keep_arguments!(any),
                $crate::arch::entry::around_call!("mov x4, x30"),
                "br x17",
                ".cfi_endproc",
                e = sym $crate::arch::entry::ENTERED,
                act = sym $act,
            )
        }
    };
}
pub(crate) use intercept;
