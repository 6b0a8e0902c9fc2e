//! Just enough of the x86-64 instruction set to tell which bytes of a stack, and which registers, are
//! dead: the function will not read them before it has written them. Every
//! instruction that is not known counts as a read. So for the code that C and C++ compilers
//! produce, nothing is called dead by mistake.
#![no_std]
#![forbid(unsafe_code)]

mod decode;
mod facts;
mod liveness;

pub use decode::{
    Base, Comparison, ControlFlow, Instruction, KnownValue, LONGEST, OperandAccess, StackEffect, StackOperand, decode,
};
pub use liveness::{CodePlace, CodeReader, Fate, FrameEnd, Scratch, Storage, fate, frame_end};
