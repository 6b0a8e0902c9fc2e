//! The program that is analysed: the relevant part of LLVM's representation as plain data.

/// Number of a function.
pub type FuncId = usize;
/// Number of a global variable.
pub type GlobalId = usize;
/// Number of an instruction within its function.
pub type InstId = usize;

/// An operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstOperand {
    /// The result of an instruction of the same function.
    Inst(InstId),
    /// A parameter.
    Arg(usize),
    /// A global variable with a byte offset; `None` if the offset is unknown.
    Global(GlobalId, Option<i64>),
    /// A function.
    Func(FuncId),
    /// A number.
    Int(i64),
    /// Null, undefined, or a constant without pointers.
    Plain,
    /// An operand that the analysis does not model.
    Unknown,
}

/// A location in the source: number of the file, line, column. Line 0: unknown.
pub type Loc = (u32, u32, u32);

/// What an instruction does.
#[derive(Clone, Debug)]
pub enum InstOp {
    /// A local variable with its size in bytes.
    Alloca(u64),
    /// Reads `size` bytes.
    Load { ptr: InstOperand, size: u64, atomic: bool },
    /// Writes `size` bytes.
    Store { ptr: InstOperand, value: InstOperand, size: u64, atomic: bool },
    /// Atomic read-modify-write, compare-exchange included.
    Rmw { ptr: InstOperand, value: InstOperand, size: u64 },
    /// A fence.
    Fence,
    /// Pointer arithmetic: base, constant offset, and whether a variable offset is added.
    Gep { base: InstOperand, offset: i64, variable: bool, indices: Vec<InstOperand> },
    /// Comparison for (in)equality.
    Compare { equal: bool, left: InstOperand, right: InstOperand },
    /// Phi, select, cast, extract, freeze: the result depends on all operands and may be any
    /// pointer among them.
    Merge(Vec<InstOperand>),
    /// A number computed from the operands.
    Compute(Vec<InstOperand>),
    /// A call. A call that can throw ends its block and continues in one of two others.
    Call { callee: InstOperand, args: Vec<InstOperand>, asm: bool, to: Vec<usize> },
    /// A branch or switch on a value; `None` if it is unconditional.
    Branch { on: Option<InstOperand>, to: Vec<usize> },
    /// Leaves the function.
    Return(Option<InstOperand>),
    /// Leaves the function by an exception.
    Resume,
    /// Cannot be reached.
    Unreachable,
    /// An instruction without a relevant effect.
    Other(Vec<InstOperand>),
}

/// An instruction.
#[derive(Clone, Debug)]
pub struct Inst {
    /// What it does.
    pub op: InstOp,
    /// Its location in the source.
    pub loc: Loc,
    /// Number of its block.
    pub block: usize,
    /// Whether the result is a pointer, or may hold one.
    pub pointer: bool,
}

/// A function.
#[derive(Clone, Debug)]
pub struct Func {
    /// Its symbol.
    pub name: String,
    /// Its code; empty if it is defined elsewhere.
    pub insts: Vec<Inst>,
    /// First instruction of each block.
    pub blocks: Vec<InstId>,
    /// How many parameters.
    pub params: usize,
    /// Whether other units can see the name.
    pub external: bool,
}

/// A global variable.
#[derive(Clone, Debug)]
pub struct GlobalVariable {
    /// Its symbol.
    pub name: String,
    /// Its size in bytes.
    pub size: u64,
    /// Pointers in its initial value.
    pub init: Vec<(u64, InstOperand)>,
    /// Whether each thread has its own.
    pub thread_local: bool,
    /// Whether it never changes.
    pub constant: bool,
    /// Whether it is defined here.
    pub defined: bool,
    /// Whether other units can see the name.
    pub external: bool,
}

/// All translation units.
#[derive(Clone, Debug, Default)]
pub struct WholeProgram {
    /// Functions.
    pub funcs: Vec<Func>,
    /// Global variables.
    pub globals: Vec<GlobalVariable>,
    /// Paths of source files.
    pub files: Vec<String>,
}
