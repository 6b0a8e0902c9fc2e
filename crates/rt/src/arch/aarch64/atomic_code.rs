//! Instructions of a program without hooks that the runtime makes in the program's place: none, as
//! no program for this processor is observed.

use super::code::LONGEST;
use crate::observed::sites::Does;

/// Bytes of a stand-in.
pub const STAND_IN: usize = 32;

/// An instruction that the runtime can make: there is none.
#[derive(Clone, Copy, Debug)]
pub enum AtomicInstruction {}

impl AtomicInstruction {
    /// None.
    pub fn decode(_bytes: &[u8; LONGEST]) -> Option<Self> {
        None
    }

    /// Bytes of the instruction.
    pub fn length(&self) -> u64 {
        match *self {}
    }

    /// What it does.
    pub fn does(&self) -> Does {
        match *self {}
    }

    /// Whether it is atomic by itself.
    pub fn is_locked(&self) -> bool {
        match *self {}
    }

    /// log2 of the bytes of its operand.
    pub fn log_size(&self) -> u8 {
        match *self {}
    }

    /// Whether its operand is addressed by the frame pointer.
    pub fn is_in_frame(&self) -> bool {
        match *self {}
    }

    /// Where its operand is.
    pub fn address(&self, _context: &libc::ucontext_t) -> u64 {
        match *self {}
    }

    /// What a compare-exchange expects.
    pub fn expected(&self, _context: &libc::ucontext_t) -> u64 {
        match *self {}
    }

    /// Writes the stand-in for it.
    ///
    /// # Safety
    /// There is no such instruction.
    pub unsafe fn write_stand_in(&self, _at: usize, _slot: usize) {
        match *self {}
    }
}

/// Lets the thread go on behind the instruction.
pub fn set_program_counter(context: &mut libc::ucontext_t, pc: u64) {
    context.uc_mcontext.pc = pc;
}

/// There is no compare-exchange.
pub fn has_exchanged(_context: &libc::ucontext_t) -> bool {
    false
}

/// Makes a stand-in.
///
/// # Safety
/// There is none.
pub unsafe fn make(_stand_in: usize, _context: &mut libc::ucontext_t) {}

/// The thread enters the runtime from the middle of its code.
pub fn enter(_context: &libc::ucontext_t) {}
