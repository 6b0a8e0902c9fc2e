//! Just enough of the x86-64 instruction set to tell which bytes of a stack frame, and which registers, are dead: those that the
//! function will not read before it has written them. Whatever is not understood counts as a read, so that *dead* is never said wrongly of what
//! compilers make of C and C++.
#![no_std]
#![forbid(unsafe_code)]

mod decode;
mod liveness;

pub use decode::{Access, Flow, Instruction, LONGEST, Operand, decode};
pub use liveness::{Code, Place, is_dead};
