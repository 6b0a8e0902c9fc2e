//! Instructions of a program without hooks that the runtime makes in the program's place.
//!
//! The instruction is made by the processor, with the registers of the thread, in a *stand-in*: the
//! same instruction whose operand is a slot beside the code of all stand-ins. So flags and
//! registers are what the instruction makes them, and only its operand goes through the runtime's
//! hands.

use raddle_vocab::policy::mix;
use raddle_x86::{LONGEST, MemoryInstruction, MemoryUse, OperandSegment, Recognised, memory_instruction};

use super::entry::{ENTERED, Registers};
use super::signal;
use crate::observed::sites::Does;

/// Bytes of a stand-in: an instruction and a return.
pub const STAND_IN: usize = 32;

const _: () = assert!(LONGEST < STAND_IN);

/// Number of the stack pointer.
const STACK_POINTER: u8 = 4;
/// Number of the frame pointer.
const FRAME_POINTER: u8 = 5;

/// An instruction that the runtime can make.
#[derive(Clone, Copy, Debug)]
pub struct AtomicInstruction {
    memory: Option<MemoryInstruction>,
    length: u8,
}

impl AtomicInstruction {
    /// The one that these bytes begin with, if it can be made elsewhere.
    pub fn decode(bytes: &[u8; LONGEST]) -> Option<Self> {
        match memory_instruction(bytes)? {
            Recognised::Fence(length) => Some(AtomicInstruction { memory: None, length }),
            Recognised::Memory(memory) if memory.uses_stack_pointer() => None,
            Recognised::Memory(memory) => Some(AtomicInstruction { memory: Some(memory), length: memory.length }),
        }
    }

    /// Bytes of the instruction.
    pub fn length(&self) -> u64 {
        u64::from(self.length)
    }

    /// What it does. One with LOCK that changes nothing on top of the stack is a fence.
    pub fn does(&self) -> Does {
        let Some(memory) = &self.memory else { return Does::Fence };
        if memory.is_locked && memory.is_neutral && memory.place.base == Some(STACK_POINTER) {
            return Does::Fence;
        }
        match memory.access {
            MemoryUse::Load => Does::Load,
            MemoryUse::Store => Does::Store,
            MemoryUse::Update => Does::Update,
            MemoryUse::CompareExchange => Does::CompareExchange,
        }
    }

    /// Whether it is atomic by itself.
    pub fn is_locked(&self) -> bool {
        self.memory.is_some_and(|memory| memory.is_locked)
    }

    /// log2 of the bytes of its operand.
    pub fn log_size(&self) -> u8 {
        self.memory.map_or(0, |memory| memory.log_size)
    }

    /// Whether its operand is addressed by the frame pointer, as variables of unoptimised functions
    /// are.
    pub fn is_in_frame(&self) -> bool {
        self.memory.is_some_and(|memory| memory.place.base == Some(FRAME_POINTER))
    }

    /// Where its operand is, for a thread that is before it.
    pub fn address(&self, context: &libc::ucontext_t) -> u64 {
        let Some(memory) = &self.memory else { return 0 };
        let place = &memory.place;
        let mut address = i64::from(place.displacement).cast_unsigned();
        if place.relative {
            address = address.wrapping_add(signal::program_counter(context) + self.length());
        }
        if let Some(base) = place.base {
            address = address.wrapping_add(general(context, base));
        }
        if let Some((index, shift)) = place.index {
            address = address.wrapping_add(general(context, index) << shift);
        }
        address.wrapping_add(match place.segment {
            // The word at the thread pointer holds its own address.
            Some(OperandSegment::Fs) => super::tls::thread_pointer(),
            // Programs of this system have nothing there.
            Some(OperandSegment::Gs) | None => 0,
        })
    }

    /// What a compare-exchange expects, its low 8 bytes.
    pub fn expected(&self, context: &libc::ucontext_t) -> u64 {
        let low = general(context, 0);
        match self.memory.map(|memory| (memory.log_size, memory.is_pair())) {
            Some((3, true)) => low & 0xffff_ffff | general(context, 2) << 32,
            Some((log_size @ 0..=2, _)) => low & ((1 << (8 << log_size)) - 1),
            _ => low,
        }
    }

    /// Writes the stand-in for it.
    ///
    /// # Safety
    /// There is room, which may be written, within 2 GiB of the slot.
    pub unsafe fn write_stand_in(&self, at: usize, slot: usize) {
        const RETURN: u8 = 0xc3;
        let Some(memory) = &self.memory else { return };
        let (code, len) = memory.with_operand(|len| (slot.wrapping_sub(at + len)) as i32);
        // SAFETY: the caller's promise.
        unsafe {
            core::ptr::copy_nonoverlapping(code.as_ptr(), at as *mut u8, len);
            *((at + len) as *mut u8) = RETURN;
        }
    }
}

/// A general register, by its number.
fn general(context: &libc::ucontext_t, number: u8) -> u64 {
    use libc::{
        REG_R8, REG_R9, REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RAX, REG_RBP, REG_RBX, REG_RCX,
        REG_RDI, REG_RDX, REG_RSI, REG_RSP,
    };
    const REGISTERS: [i32; 16] = [
        REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI, REG_R8, REG_R9, REG_R10, REG_R11,
        REG_R12, REG_R13, REG_R14, REG_R15,
    ];
    context.uc_mcontext.gregs[REGISTERS[usize::from(number % 16)] as usize].cast_unsigned()
}

/// Lets the thread go on behind the instruction.
pub fn set_program_counter(context: &mut libc::ucontext_t, pc: u64) {
    context.uc_mcontext.gregs[libc::REG_RIP as usize] = pc.cast_signed();
}

/// Whether a compare-exchange has just found what it expected.
pub fn has_exchanged(context: &libc::ucontext_t) -> bool {
    const ZERO: i64 = 1 << 6;
    context.uc_mcontext.gregs[libc::REG_EFL as usize] & ZERO != 0
}

/// Makes the stand-in with the registers of the thread, which are changed as the instruction
/// changes them.
///
/// # Safety
/// The stand-in was written by [`AtomicInstruction::write_stand_in`].
pub unsafe fn make(stand_in: usize, context: &mut libc::ucontext_t) {
    // SAFETY: the caller's promise; the registers are those that the function expects.
    unsafe { with_registers(context.uc_mcontext.gregs.as_mut_ptr(), stand_in) };
}

/// Calls a stand-in with these registers, but for the stack pointer, and stores what they are
/// behind it.
#[unsafe(naked)]
unsafe extern "C" fn with_registers(registers: *mut i64, stand_in: usize) {
    core::arch::naked_asm!(
        "push rbx",
        "push rbp",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "push rdi",
        "push rsi",
        "push qword ptr [rdi + 136]",
        "popfq",
        "mov r8, [rdi]",
        "mov r9, [rdi + 8]",
        "mov r10, [rdi + 16]",
        "mov r11, [rdi + 24]",
        "mov r12, [rdi + 32]",
        "mov r13, [rdi + 40]",
        "mov r14, [rdi + 48]",
        "mov r15, [rdi + 56]",
        "mov rsi, [rdi + 72]",
        "mov rbp, [rdi + 80]",
        "mov rbx, [rdi + 88]",
        "mov rdx, [rdi + 96]",
        "mov rax, [rdi + 104]",
        "mov rcx, [rdi + 112]",
        "mov rdi, [rdi + 64]",
        "call qword ptr [rsp]",
        "xchg rdi, [rsp + 8]",
        "mov [rdi], r8",
        "mov [rdi + 8], r9",
        "mov [rdi + 16], r10",
        "mov [rdi + 24], r11",
        "mov [rdi + 32], r12",
        "mov [rdi + 40], r13",
        "mov [rdi + 48], r14",
        "mov [rdi + 56], r15",
        "mov [rdi + 72], rsi",
        "mov [rdi + 80], rbp",
        "mov [rdi + 88], rbx",
        "mov [rdi + 96], rdx",
        "mov [rdi + 104], rax",
        "mov [rdi + 112], rcx",
        "pushfq",
        "pop qword ptr [rdi + 136]",
        "mov rax, [rsp + 8]",
        "mov [rdi + 64], rax",
        "cld",
        "add rsp, 16",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbp",
        "pop rbx",
        "ret",
    )
}

const _: () = {
    assert!(libc::REG_R8 == 0 && libc::REG_R15 == 7 && libc::REG_RDI == 8 && libc::REG_RSI == 9);
    assert!(libc::REG_RBP == 10 && libc::REG_RBX == 11 && libc::REG_RDX == 12 && libc::REG_RAX == 13);
    assert!(libc::REG_RCX == 14 && libc::REG_EFL == 17);
};

/// The thread enters the runtime from the middle of its code. What a loop can carry in other
/// registers and below the stack pointer counts by its hash.
pub fn enter(context: &libc::ucontext_t) {
    let at = |register: i32| context.uc_mcontext.gregs[register as usize].cast_unsigned();
    let sp = signal::stack_pointer(context);
    let mut rest = 0;
    let mut add = |word: u64| rest = mix(rest ^ word);
    use libc::{REG_EFL, REG_R8, REG_R9, REG_R10, REG_R11, REG_RAX, REG_RCX, REG_RDI, REG_RDX, REG_RSI};
    for name in [REG_RAX, REG_RCX, REG_RDX, REG_RSI, REG_RDI, REG_R8, REG_R9, REG_R10, REG_R11, REG_EFL] {
        add(at(name));
    }
    // SAFETY: the red zone of the thread, on its own stack, and the vector registers that the
    // kernel has saved.
    unsafe {
        (1..=super::RED_ZONE / 8).for_each(|word| add(*((sp - 8 * word) as *const u64)));
        let float = signal::float_bytes(context);
        (float.start..float.end & !7).step_by(8).for_each(|word| add(*(word as *const u64)));
    }
    let saved = [libc::REG_RBX, libc::REG_RBP, libc::REG_R12, libc::REG_R13, libc::REG_R14, libc::REG_R15].map(at);
    ENTERED.come_from_code(Registers { saved, sp: sp as u64 - 8, rest });
}
