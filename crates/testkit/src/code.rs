//! Programs as flat code with jumps, so that a thread's position is a number.

use super::program::{AbstractOp, AbstractProgram, Expr, REGISTERS, Stmt};

/// One instruction.
#[derive(Clone, Debug)]
pub(super) enum Instr {
    /// An operation, with the number that stands for its place in the program.
    Op(AbstractOp, u64),
    /// Goes on elsewhere.
    Jump(usize),
    /// Goes on elsewhere if the expression is 0.
    Unless(Expr, usize),
    /// `OnceBegin`; if a thread has finished already, goes on at the target.
    OnceBegin { once: usize, done: usize, pc: u64 },
    /// `OnceEnd`.
    OnceEnd { once: usize, pc: u64 },
    /// Only in main, before everything else.
    SemInit { sem: usize, value: u32, pc: u64 },
    /// Only in main, before everything else.
    BarrierInit { barrier: usize, count: u32, pc: u64 },
    /// Begins a function that was put in, with the argument.
    Enter(Expr),
    /// Ends it.
    Leave,
    /// Calls a function that was not put in: never in code that is run.
    Call(usize, Expr),
    /// End of the body.
    End { pc: u64 },
}

/// Code of one body.
pub(super) type Code = Vec<Instr>;

/// Flattens every body, with the functions that it calls put in. Places are numbered from 1 through
/// the whole program, in the order of the text; functions come after the bodies.
pub(super) fn compile(program: &AbstractProgram) -> Vec<Code> {
    Flattener::new(program, true).bodies()
}

/// Bodies and functions by themselves, with [`Instr::Call`] where they call.
pub(super) fn compile_apart(program: &AbstractProgram) -> (Vec<Code>, Vec<Code>) {
    let flattener = Flattener::new(program, false);
    let functions = (0..program.functions.len()).map(|function| {
        let mut code = Code::new();
        flattener.function(function, &mut code);
        code
    });
    (flattener.bodies(), functions.collect())
}

struct Flattener<'a> {
    program: &'a AbstractProgram,
    /// The last place before each function.
    bases: Vec<u64>,
    /// Whether to put functions in where they are called.
    inline: bool,
}

impl<'a> Flattener<'a> {
    fn new(program: &'a AbstractProgram, inline: bool) -> Self {
        let inits = program.sems.len() + program.barriers.len();
        let mut pc = (inits + program.bodies.iter().map(|body| places(body) + 1).sum::<usize>()) as u64;
        let mut bases = Vec::new();
        for function in &program.functions {
            bases.push(pc);
            pc += places(function) as u64 + 1;
        }
        Flattener { program, bases, inline }
    }

    fn bodies(&self) -> Vec<Code> {
        let mut pc = 0;
        let mut bodies = Vec::new();
        for (number, body) in self.program.bodies.iter().enumerate() {
            let mut code = Code::new();
            if number == 0 {
                initialise(self.program, &mut code, &mut pc);
            }
            let mut returns = Vec::new();
            self.flatten(body, &mut code, &mut pc, &mut returns);
            pc += 1;
            land(&mut code, &returns);
            code.push(Instr::End { pc });
            bodies.push(code);
        }
        bodies
    }

    fn function(&self, function: usize, code: &mut Code) {
        let mut pc = self.bases[function];
        let mut returns = Vec::new();
        self.flatten(&self.program.functions[function], code, &mut pc, &mut returns);
        land(code, &returns);
        code.push(Instr::Leave);
    }

    /// `returns` collects the jumps that leave the innermost body or once.
    fn flatten(&self, body: &[Stmt], code: &mut Code, pc: &mut u64, returns: &mut Vec<usize>) {
        for stmt in body {
            *pc += 1;
            match stmt {
                Stmt::Op(AbstractOp::Return) => {
                    returns.push(code.len());
                    code.push(Instr::Jump(0));
                }
                Stmt::Op(op) => code.push(Instr::Op(op.clone(), *pc)),
                Stmt::If(condition, then, otherwise) => {
                    let branch = code.len();
                    code.push(Instr::Jump(0));
                    self.flatten(then, code, pc, returns);
                    let end_of_then = code.len();
                    code.push(Instr::Jump(0));
                    code[branch] = Instr::Unless(condition.clone(), code.len());
                    self.flatten(otherwise, code, pc, returns);
                    code[end_of_then] = Instr::Jump(code.len());
                }
                Stmt::While(condition, body) => {
                    let head = code.len();
                    code.push(Instr::Jump(0));
                    self.flatten(body, code, pc, returns);
                    code.push(Instr::Jump(head));
                    code[head] = Instr::Unless(condition.clone(), code.len());
                }
                Stmt::Once(once, body) => {
                    let (begin, place) = (code.len(), *pc);
                    code.push(Instr::Jump(0));
                    let mut returns = Vec::new();
                    self.flatten(body, code, pc, &mut returns);
                    land(code, &returns);
                    code.push(Instr::OnceEnd { once: *once, pc: place });
                    code[begin] = Instr::OnceBegin { once: *once, done: code.len(), pc: place };
                }
                Stmt::Call(function, _) if *function >= self.bases.len() => {}
                Stmt::Call(function, argument) if self.inline => {
                    code.push(Instr::Enter(argument.clone()));
                    self.function(*function, code);
                }
                Stmt::Call(function, argument) => code.push(Instr::Call(*function, argument.clone())),
            }
        }
    }
}

/// How many places a block has.
fn places(block: &[Stmt]) -> usize {
    let inner = |stmt: &Stmt| match stmt {
        Stmt::Op(_) | Stmt::Call(..) => 1,
        Stmt::If(_, then, otherwise) => 1 + places(then) + places(otherwise),
        Stmt::While(_, body) | Stmt::Once(_, body) => 1 + places(body),
    };
    block.iter().map(inner).sum()
}

/// Semaphores and barriers have no static initialisers.
fn initialise(program: &AbstractProgram, code: &mut Code, pc: &mut u64) {
    for (sem, &value) in program.sems.iter().enumerate() {
        *pc += 1;
        code.push(Instr::SemInit { sem, value, pc: *pc });
    }
    for (barrier, &count) in program.barriers.iter().enumerate() {
        *pc += 1;
        code.push(Instr::BarrierInit { barrier, count, pc: *pc });
    }
}

/// Lets the jumps lead to the end of the code so far.
fn land(code: &mut Code, jumps: &[usize]) {
    let end = code.len();
    for &jump in jumps {
        code[jump] = Instr::Jump(end);
    }
}

/// The value of an expression.
pub(super) fn eval(expr: &Expr, regs: &[i32; REGISTERS]) -> i32 {
    match expr {
        Expr::Const(value) => *value,
        Expr::Reg(reg) => regs[usize::from(*reg) % REGISTERS],
        Expr::Add(a, b) => eval(a, regs).wrapping_add(eval(b, regs)),
        Expr::Mul(a, b) => eval(a, regs).wrapping_mul(eval(b, regs)),
        Expr::Rem(a, b) => match eval(b, regs) {
            divisor if divisor > 0 => eval(a, regs).wrapping_rem(divisor),
            _ => 0,
        },
        Expr::Eq(a, b) => i32::from(eval(a, regs) == eval(b, regs)),
        Expr::Less(a, b) => i32::from(eval(a, regs) < eval(b, regs)),
        Expr::Not(a) => i32::from(eval(a, regs) == 0),
    }
}
