//! Just enough of the x86-64 instruction set to tell which bytes of a stack, and which registers,
//! are dead: the function will not read them before it has written them. Every instruction that is
//! not known counts as a read. So for the code that C and C++ compilers produce, nothing is called
//! dead by mistake. Beside that, what an instruction does to its operand in memory.

#![no_std]
#![forbid(unsafe_code)]

mod decode;
mod memory;

pub use decode::{LONGEST, decode};
pub use memory::{MemoryInstruction, MemoryUse, OperandPlace, OperandSegment, Recognised, memory_instruction};
use raddle_liveness::{Instruction, InstructionSet};

/// The instruction set.
#[derive(Debug)]
pub struct X86;

impl InstructionSet for X86 {
    type Bytes = [u8; LONGEST];

    const STACK_POINTER: u8 = decode::STACK_POINTER;
    const FRAME_POINTER: u8 = decode::FRAME_POINTER;
    /// rdi
    const FIRST_ARGUMENT: u32 = 1 << 7;
    const SHORT_LIVED: u32 = decode::SHORT_LIVED;
    const CALL_PUSHES: i32 = 8;

    fn decode(bytes: &[u8; LONGEST]) -> Option<Instruction> {
        decode(bytes)
    }
}
