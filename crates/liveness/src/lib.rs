//! Which bytes of a stack, and which registers, a function will not read any more, from its machine
//! code. A crate for each processor decodes its instructions.
#![no_std]
#![forbid(unsafe_code)]

mod facts;
mod instruction;
mod walk;

pub use instruction::{
    Base, Comparison, ControlFlow, Flags, Instruction, KnownValue, OperandAccess, StackEffect, StackOperand,
};
pub use walk::{CodePlace, CodeReader, Fate, FrameEnd, InstructionSet, Scratch, Storage, fate, frame_end};
