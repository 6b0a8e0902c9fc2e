//! Abstract multithreaded programs: the cases on which strategies are compared with brute force,
//! and which can be printed as C.
//!
//! Values are 32-bit integers. Each thread has its own registers, all 0 at the start; register 0
//! holds the argument that it was created with. Only the statements that name a variable, a lock, …
//! can be seen by other threads.

use raddle_model::object::Patience;
use raddle_vocab::{MemOrder, MutexKind};

/// Number of a register.
pub type Reg = u8;
/// How many registers a thread has.
pub const REGISTERS: usize = 16;
/// How many threads a body can have created and not forgotten.
pub const HANDLES: usize = 32;
/// Number of a pointer to a heap block.
pub type Pointer = u8;
/// How many of them a thread has, all null at the start.
pub const POINTERS: usize = 8;

/// A value computed from registers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expr {
    /// A number.
    Const(i32),
    /// What a register holds.
    Reg(Reg),
    /// Sum, wrapping around.
    Add(Box<Expr>, Box<Expr>),
    /// Product, wrapping around.
    Mul(Box<Expr>, Box<Expr>),
    /// Remainder; 0 if the divisor is not positive.
    Rem(Box<Expr>, Box<Expr>),
    /// 1 if equal, else 0.
    Eq(Box<Expr>, Box<Expr>),
    /// 1 if less, else 0.
    Less(Box<Expr>, Box<Expr>),
    /// 1 if 0, else 0.
    Not(Box<Expr>),
}

/// An element of an array of variables or mutexes; the index counts modulo the length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AbstractPlace {
    /// Which array.
    pub id: usize,
    /// Which element.
    pub index: Expr,
}

impl AbstractPlace {
    /// The first (or only) element.
    #[must_use]
    pub fn of(id: usize) -> Self {
        AbstractPlace { id, index: Expr::Const(0) }
    }
}

/// What a read-modify-write does to the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RmwOp {
    /// Adds.
    Add,
    /// Replaces.
    Exchange,
    /// Sets bits.
    Or,
}

/// A statement that is not made of others. `got` registers receive 1 if the operation succeeded,
/// else 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AbstractOp {
    /// Computes; invisible to other threads.
    Set(Reg, Expr),
    /// Plain read.
    Read(Reg, AbstractPlace),
    /// Plain write.
    Write(AbstractPlace, Expr),
    /// Atomic read.
    Load(Reg, AbstractPlace, MemOrder),
    /// Atomic write.
    Store(AbstractPlace, Expr, MemOrder),
    /// Atomic read-modify-write; the register receives the old value.
    Rmw(Reg, AbstractPlace, RmwOp, Expr, MemOrder),
    /// Atomic strong compare-exchange.
    Cas {
        /// Receives 1 on success.
        got: Reg,
        /// Where.
        place: AbstractPlace,
        /// Expected value.
        expected: Expr,
        /// New value.
        desired: Expr,
        /// Order of both the success and the failure.
        order: MemOrder,
    },
    /// Reads atomically again and again until the condition on the register holds: busy waiting,
    /// folded.
    Await(Reg, AbstractPlace, Expr, MemOrder),
    /// Fence.
    Fence(MemOrder),
    /// Locks a mutex.
    Lock(AbstractPlace),
    /// Tries to, or for some time.
    LockIf(Reg, AbstractPlace, Patience),
    /// Unlocks a mutex.
    Unlock(AbstractPlace),
    /// Locks an rwlock for reading.
    ReadLock(Reg, usize, Patience),
    /// Locks an rwlock for writing.
    WriteLock(Reg, usize, Patience),
    /// Unlocks an rwlock.
    RwUnlock(usize),
    /// Waits on a condition variable with a mutex; a timed wait sets the register to 0 if it timed
    /// out. `Patience::Try` is treated as `Timed`.
    Wait(Reg, usize, AbstractPlace, Patience),
    /// Signals.
    Signal(usize),
    /// Signals to all.
    Broadcast(usize),
    /// Takes from a semaphore.
    SemWait(Reg, usize, Patience),
    /// Gives to a semaphore.
    SemPost(usize),
    /// Arrives at a barrier and leaves it; the register receives 1 for the serial thread.
    Barrier(Reg, usize),
    /// Starts a thread that runs the body with the argument; the handle goes to the slot.
    Create {
        /// Slot of this thread's table of handles.
        slot: u8,
        /// Which body.
        body: usize,
        /// Argument.
        arg: Expr,
    },
    /// Waits for the end of the thread in the slot. Without a thread there: does nothing.
    Join(u8),
    /// The register receives one of the numbers below this one; every one of them is explored.
    Choose(Reg, u16),
    /// Begins an atomic section: no other thread makes an access before its end.
    SectionBegin,
    /// Ends it.
    SectionEnd,
    /// The thread delivers a signal to main: it suspends main until [`AbstractOp::HandlerReturn`].
    /// What is between is the handler.
    HandlerBegin,
    /// Main goes on.
    HandlerReturn,
    /// Allocates a heap block, which holds one integer; its thread may use a large one again once
    /// it is freed.
    Allocate {
        /// Receives its address.
        into: Pointer,
        /// Whether it is large.
        large: bool,
    },
    /// Frees the block, if the pointer is not null. The pointer stays as it is.
    Free(Pointer),
    /// Plain read of a block; 0 if the pointer is null.
    ReadBlock(Reg, Pointer),
    /// Plain write of a block, if the pointer is not null.
    WriteBlock(Pointer, Expr),
    /// Plain read of a shared pointer.
    Fetch(Pointer, usize),
    /// Plain write of a shared pointer: the thread's own, or null.
    Share(usize, Option<Pointer>),
    /// Atomic exchange of a shared pointer and the thread's own.
    Swap(Pointer, usize, MemOrder),
    /// The pointer is null from now on.
    Forget(Pointer),
    /// Fails unless the expression is not 0.
    Assert(Expr),
    /// Ends the run without result unless the expression is not 0.
    Assume(Expr),
    /// Leaves the body.
    Return,
}

/// A statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stmt {
    /// A single operation.
    Op(AbstractOp),
    /// Branch.
    If(Expr, Vec<Stmt>, Vec<Stmt>),
    /// Loop while the expression is not 0.
    While(Expr, Vec<Stmt>),
    /// Runs the body exactly once among all threads (`pthread_once`).
    Once(usize, Vec<Stmt>),
    /// Calls a function with registers of its own, of which the first holds the argument. It may
    /// call only functions behind it.
    Call(usize, Expr),
}

impl From<AbstractOp> for Stmt {
    fn from(op: AbstractOp) -> Self {
        Stmt::Op(op)
    }
}

/// An array of shared integers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VarDecl {
    /// Elements.
    pub len: usize,
    /// Initial value of each.
    pub init: i32,
}

/// An array of mutexes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MutexDecl {
    /// Elements.
    pub len: usize,
    /// Their kind.
    pub kind: MutexKind,
}

/// A whole program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AbstractProgram {
    /// Shared integers.
    pub vars: Vec<VarDecl>,
    /// Mutexes.
    pub mutexes: Vec<MutexDecl>,
    /// How many rwlocks.
    pub rwlocks: usize,
    /// Whether their writers come before readers.
    pub writers_first: bool,
    /// How many condition variables.
    pub conds: usize,
    /// Semaphores, by initial value.
    pub sems: Vec<u32>,
    /// Barriers, by count.
    pub barriers: Vec<u32>,
    /// How many once controls.
    pub onces: usize,
    /// How many shared pointers to heap blocks.
    pub links: usize,
    /// Code of the threads; main runs the first.
    pub bodies: Vec<Vec<Stmt>>,
    /// Functions that they call.
    pub functions: Vec<Vec<Stmt>>,
    /// Whether there are atomic sections.
    pub sections: bool,
}

impl AbstractProgram {
    /// Whether the body is a signal handler, which interrupts main. It is started by other threads.
    #[must_use]
    pub fn is_handler(&self, body: usize) -> bool {
        matches!(self.bodies.get(body).and_then(|body| body.first()), Some(Stmt::Op(AbstractOp::HandlerBegin)))
    }

    /// Whether there are signal handlers.
    #[must_use]
    pub fn has_handlers(&self) -> bool {
        (1..self.bodies.len()).any(|body| self.is_handler(body))
    }

    /// A program with `vars` integers, `mutexes` normal mutexes and a main thread that creates one
    /// thread per body, in order, and joins them all.
    #[must_use]
    pub fn parallel(vars: usize, mutexes: usize, bodies: Vec<Vec<Stmt>>) -> Self {
        let slots = 0..bodies.len();
        let create =
            slots.clone().map(|i| AbstractOp::Create { slot: i as u8, body: i + 1, arg: Expr::Const(i as i32) });
        let main = create.chain(slots.clone().map(|i| AbstractOp::Join(i as u8))).map(Stmt::Op).collect();
        AbstractProgram {
            vars: vec![VarDecl { len: 1, init: 0 }; vars],
            mutexes: vec![MutexDecl { len: 1, kind: MutexKind::Normal }; mutexes],
            bodies: std::iter::once(main).chain(bodies).collect(),
            ..AbstractProgram::default()
        }
    }
}

/// Short names for writing programs by hand.
pub mod build {
    use super::{AbstractOp, AbstractPlace, Expr, MemOrder, Patience, Reg, RmwOp, Stmt};

    /// A number.
    #[must_use]
    pub fn num(value: i32) -> Expr {
        Expr::Const(value)
    }

    /// What a register holds.
    #[must_use]
    pub fn reg(number: Reg) -> Expr {
        Expr::Reg(number)
    }

    /// Sum.
    #[must_use]
    pub fn add(a: Expr, b: Expr) -> Expr {
        Expr::Add(Box::new(a), Box::new(b))
    }

    /// Product.
    #[must_use]
    pub fn mul(a: Expr, b: Expr) -> Expr {
        Expr::Mul(Box::new(a), Box::new(b))
    }

    /// Remainder.
    #[must_use]
    pub fn rem(a: Expr, b: Expr) -> Expr {
        Expr::Rem(Box::new(a), Box::new(b))
    }

    /// Equality.
    #[must_use]
    pub fn eq(a: Expr, b: Expr) -> Expr {
        Expr::Eq(Box::new(a), Box::new(b))
    }

    /// Order.
    #[must_use]
    pub fn less(a: Expr, b: Expr) -> Expr {
        Expr::Less(Box::new(a), Box::new(b))
    }

    /// Negation.
    #[must_use]
    pub fn not(a: Expr) -> Expr {
        Expr::Not(Box::new(a))
    }

    /// An element of an array.
    #[must_use]
    pub fn at(id: usize, index: Expr) -> AbstractPlace {
        AbstractPlace { id, index }
    }

    /// Computes.
    #[must_use]
    pub fn set(into: Reg, value: Expr) -> Stmt {
        AbstractOp::Set(into, value).into()
    }

    /// Plain read of a single variable.
    #[must_use]
    pub fn read(into: Reg, var: usize) -> Stmt {
        AbstractOp::Read(into, AbstractPlace::of(var)).into()
    }

    /// Plain write of a single variable.
    #[must_use]
    pub fn write(var: usize, value: Expr) -> Stmt {
        AbstractOp::Write(AbstractPlace::of(var), value).into()
    }

    /// Sequentially consistent read.
    #[must_use]
    pub fn load(into: Reg, var: usize) -> Stmt {
        AbstractOp::Load(into, AbstractPlace::of(var), MemOrder::SeqCst).into()
    }

    /// Sequentially consistent write.
    #[must_use]
    pub fn store(var: usize, value: Expr) -> Stmt {
        AbstractOp::Store(AbstractPlace::of(var), value, MemOrder::SeqCst).into()
    }

    /// Sequentially consistent fetch-and-add.
    #[must_use]
    pub fn fetch_add(into: Reg, var: usize, value: Expr) -> Stmt {
        AbstractOp::Rmw(into, AbstractPlace::of(var), RmwOp::Add, value, MemOrder::SeqCst).into()
    }

    /// Sequentially consistent compare-exchange.
    #[must_use]
    pub fn cas(got: Reg, place: AbstractPlace, expected: Expr, desired: Expr) -> Stmt {
        AbstractOp::Cas { got, place, expected, desired, order: MemOrder::SeqCst }.into()
    }

    /// Busy waiting until the condition on the register holds.
    #[must_use]
    pub fn wait_until(into: Reg, var: usize, condition: Expr) -> Stmt {
        AbstractOp::Await(into, AbstractPlace::of(var), condition, MemOrder::SeqCst).into()
    }

    /// Locks a single mutex.
    #[must_use]
    pub fn lock(mutex: usize) -> Stmt {
        AbstractOp::Lock(AbstractPlace::of(mutex)).into()
    }

    /// Unlocks a single mutex.
    #[must_use]
    pub fn unlock(mutex: usize) -> Stmt {
        AbstractOp::Unlock(AbstractPlace::of(mutex)).into()
    }

    /// A critical section.
    #[must_use]
    pub fn locked(mutex: usize, body: Vec<Stmt>) -> Vec<Stmt> {
        std::iter::once(lock(mutex)).chain(body).chain([unlock(mutex)]).collect()
    }

    /// Waits on a condition variable with a single mutex.
    #[must_use]
    pub fn wait(cond: usize, mutex: usize) -> Stmt {
        AbstractOp::Wait(1, cond, AbstractPlace::of(mutex), Patience::Block).into()
    }

    /// Fails unless the expression is not 0.
    #[must_use]
    pub fn assert_that(condition: Expr) -> Stmt {
        AbstractOp::Assert(condition).into()
    }

    /// Branch without alternative.
    #[must_use]
    pub fn when(condition: Expr, then: Vec<Stmt>) -> Stmt {
        Stmt::If(condition, then, Vec::new())
    }
}
