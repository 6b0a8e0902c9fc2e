//! What is known of one instruction.

/// Where control goes after an instruction. Distances count from its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlFlow {
    /// To the next one.
    Next,
    /// To the next one, after a function.
    Call(i64),
    /// To the next one, after a function that a pointer names.
    CallByPointer,
    /// Elsewhere.
    Jump(i64),
    /// To the next one or elsewhere.
    Branch(i64),
    /// To the caller.
    Return,
    /// Nothing follows.
    End,
    /// Not known.
    Unknown,
}

/// What an instruction does to the bytes of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperandAccess {
    /// Reads at most this many of them, and perhaps writes them, too.
    Reads(u8),
    /// Writes this many of them and reads none.
    Writes(u8),
    /// Makes a pointer to the first of them.
    Points,
    /// Uses what lies at a distance from the first that is not known, before or behind.
    Indexes,
}

/// A register that addresses the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// The stack pointer.
    StackPointer,
    /// The register for it, where it is a frame pointer.
    FramePointer,
}

/// Memory at a distance from the stack pointer or the frame pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StackOperand {
    /// From where.
    pub base: Base,
    /// Distance of the first byte.
    pub displacement: i32,
    /// What happens there.
    pub access: OperandAccess,
}

/// What an instruction does to the stack pointer and the frame pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StackEffect {
    /// Nothing.
    None,
    /// Eight bytes are pushed.
    Push,
    /// Eight bytes are popped into this register.
    Pop(u8),
    /// The stack pointer moves by so many bytes.
    Move(i32),
    /// The stack pointer becomes the frame pointer plus so many bytes.
    ToFrame(i32),
    /// The frame pointer becomes the stack pointer plus so many bytes.
    FrameFromStack(i32),
    /// The frame is released and the caller's frame pointer popped.
    Leave,
    /// The stack pointer becomes something else.
    Unknown,
}

/// A number that an instruction puts somewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnownValue {
    /// None.
    Nothing,
    /// The register holds this number, in its low four bytes at least.
    Register(u8, i32),
    /// The operand does.
    Slot(i32),
    /// The register holds the four bytes of the operand, or more of them.
    Load(u8),
}

/// What an instruction compares, so that a branch can tell whether it is equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// Nothing that is known.
    None,
    /// The low four bytes of a register with a number.
    Register(u8, i32),
    /// Four bytes of the operand with a number.
    Slot(i32),
    /// Two registers: all of their bytes, or four.
    Registers(u8, u8, bool),
}

/// What an instruction does to the flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flags {
    /// It neither reads nor changes them.
    Keeps,
    /// It changes all that computing changes, and reads none.
    Sets,
    /// Not known.
    Unknown,
}

/// An instruction, as far as it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// Bytes that it takes.
    pub length: usize,
    /// Where it goes.
    pub flow: ControlFlow,
    /// What it does to memory of the stack.
    pub operand: Option<StackOperand>,
    /// What it does to the pointers that address the stack.
    pub stack: StackEffect,
    /// The register into which it only copies eight bytes of its operand.
    pub loads: Option<u8>,
    /// The register into which it only copies the eight bytes behind them.
    pub loads_next: Option<u8>,
    /// General registers that it may read, a bit for each number; calls are taken to read none.
    pub reads: u32,
    /// General registers that it writes and does not read.
    pub writes: u32,
    /// Registers among those that it uses for more than an address: a pointer to the stack that is
    /// used so may get anywhere.
    pub values: u32,
    /// Registers that it may change, also if that is not said in `writes`; calls are taken to
    /// change all that do not outlive them.
    pub changes: u32,
    /// Whether it certainly does not write to its operand.
    pub only_reads: bool,
    /// Whether it changes its operand by a number, and does nothing else but set flags by the
    /// result. Bytes of the result depend on those bytes of the operand that are not above them.
    pub updates: bool,
    /// What it does to the flags.
    pub flags: Flags,
    /// What is known behind it.
    pub known: KnownValue,
    /// What it compares. A branch may compare something itself.
    pub comparison: Comparison,
    /// Of a branch: whether it is taken where values that were compared are equal, or where they
    /// are not.
    pub on_equal: Option<bool>,
}
