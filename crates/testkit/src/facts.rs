//! Facts about abstract programs, as a static analysis of the compiled program would find them.
//! They are exact about control flow, and track registers without regard to order.

use raddle_model::facts::places::Ground;
use raddle_model::facts::{AbstractObjectKind, Act, Builder, Facts, FunctionId, Hold, NodeId, Object, Span, Spans};
use raddle_model::object::Patience;

use super::code::{Code, Instr, compile_apart};
use super::layout::Layout;
use super::program::{AbstractOp, AbstractPlace, AbstractProgram, Expr, REGISTERS, Reg};

/// Distance between the elements of an array of mutexes.
const STRIDE: u64 = 64;

/// The facts, and where the objects lie in every run.
#[must_use]
pub fn facts(program: &AbstractProgram) -> (Facts, Ground) {
    let (bodies, functions) = compile_apart(program);
    let codes: Vec<&Code> = bodies.iter().chain(&functions).collect();
    let mut lowering = Lowering {
        program,
        bodies: bodies.len(),
        builder: Builder::new(),
        ground: Ground::default(),
        taint: Taint::of(program, &codes, bodies.len()),
        rwlocks: 0,
        conds: 0,
        sems: 0,
        barriers: 0,
        onces: 0,
    };
    lowering.objects(&Layout::of(program));
    for number in 0..codes.len() {
        let name = if number < bodies.len() { format!("body{number}") } else { format!("f{}", number - bodies.len()) };
        lowering.builder.function(&name);
    }
    for (number, code) in codes.iter().enumerate() {
        lowering.function(number, code);
    }
    (lowering.builder.finish(0), lowering.ground)
}

/// Registers whose values depend on other threads, per piece of code.
struct Taint(Vec<[bool; REGISTERS]>);

impl Taint {
    fn of(program: &AbstractProgram, codes: &[&Code], bodies: usize) -> Self {
        let written: Vec<bool> =
            (0..program.vars.len()).map(|var| codes.iter().any(|code| writes(code, var))).collect();
        let mut taint = Taint(vec![[false; REGISTERS]; codes.len()]);
        loop {
            let before = taint.0.clone();
            for (number, code) in codes.iter().enumerate() {
                for instr in code.iter() {
                    taint.flow(number, instr, bodies, &written);
                }
            }
            if taint.0 == before {
                return taint;
            }
        }
    }

    fn flow(&mut self, code: usize, instr: &Instr, bodies: usize, written: &[bool]) {
        let (into, tainted) = match instr {
            Instr::Op(AbstractOp::Set(reg, value), _) => (Some(*reg), self.depends(code, value)),
            Instr::Op(AbstractOp::Read(reg, place), _) => {
                (Some(*reg), written[place.id] || self.depends(code, &place.index))
            }
            Instr::Op(AbstractOp::Create { body, arg, .. }, _) => {
                let tainted = self.depends(code, arg);
                self.0[*body][0] |= tainted;
                (None, false)
            }
            Instr::Call(function, argument) => {
                let tainted = self.depends(code, argument);
                self.0[bodies + function][0] |= tainted;
                (None, false)
            }
            Instr::Op(op, _) => (result(op), true),
            _ => (None, false),
        };
        if let Some(reg) = into {
            self.0[code][usize::from(reg) % REGISTERS] |= tainted;
        }
    }

    fn depends(&self, code: usize, expr: &Expr) -> bool {
        match expr {
            Expr::Const(_) => false,
            Expr::Reg(reg) => self.0[code][usize::from(*reg) % REGISTERS],
            Expr::Not(a) => self.depends(code, a),
            Expr::Add(a, b) | Expr::Mul(a, b) | Expr::Rem(a, b) | Expr::Eq(a, b) | Expr::Less(a, b) => {
                self.depends(code, a) || self.depends(code, b)
            }
        }
    }
}

fn writes(code: &Code, var: usize) -> bool {
    code.iter().any(|instr| match instr {
        Instr::Op(
            AbstractOp::Write(place, _)
            | AbstractOp::Store(place, ..)
            | AbstractOp::Rmw(_, place, ..)
            | AbstractOp::Cas { place, .. },
            _,
        ) => place.id == var,
        _ => false,
    })
}

/// The register that receives what a synchronising operation says.
fn result(op: &AbstractOp) -> Option<Reg> {
    match op {
        AbstractOp::Load(reg, ..)
        | AbstractOp::Rmw(reg, ..)
        | AbstractOp::ReadBlock(reg, _)
        | AbstractOp::Cas { got: reg, .. }
        | AbstractOp::Await(reg, ..)
        | AbstractOp::LockIf(reg, ..)
        | AbstractOp::ReadLock(reg, ..)
        | AbstractOp::WriteLock(reg, ..)
        | AbstractOp::Wait(reg, ..)
        | AbstractOp::SemWait(reg, ..)
        | AbstractOp::Barrier(reg, _)
        | AbstractOp::Choose(reg, _) => Some(*reg),
        _ => None,
    }
}

struct Lowering<'a> {
    program: &'a AbstractProgram,
    /// Pieces of code that are bodies; functions follow.
    bodies: usize,
    builder: Builder,
    ground: Ground,
    taint: Taint,
    /// First object of each sort; variables and mutexes come first.
    rwlocks: u32,
    conds: u32,
    sems: u32,
    barriers: u32,
    onces: u32,
}

impl Lowering<'_> {
    fn objects(&mut self, layout: &Layout) {
        let program = self.program;
        for (id, var) in program.vars.iter().enumerate() {
            self.object(format!("v{id}"), 4 * var.len.max(1) as u64, layout.address(layout.cell(id, 0)));
        }
        for (id, mutex) in program.mutexes.iter().enumerate() {
            self.object(format!("m{id}"), STRIDE * mutex.len.max(1) as u64, layout.mutex(id, 0));
        }
        self.rwlocks = self.sort('l', program.rwlocks, |id| layout.rwlock(id));
        self.conds = self.sort('c', program.conds, |id| layout.cond(id));
        self.sems = self.sort('s', program.sems.len(), |id| layout.sem(id));
        self.barriers = self.sort('b', program.barriers.len(), |id| layout.barrier(id));
        self.onces = self.sort('o', program.onces, |id| layout.once(id));
    }

    fn sort(&mut self, letter: char, count: usize, address: impl Fn(usize) -> u64) -> u32 {
        let first = self.ground.address.len() as u32;
        for id in 0..count {
            self.object(format!("{letter}{id}"), STRIDE, address(id));
        }
        first
    }

    fn object(&mut self, name: String, size: u64, address: u64) {
        self.builder.object(Object { name, kind: AbstractObjectKind::Global, size: Some(size), site: None });
        self.ground.address.push(Some(address));
    }

    fn elements(&self, object: usize, len: usize, width: u64, bytes: u64, index: &Expr) -> Spans {
        let span = |element: u64| Span { object: object as u32, from: element * width, to: element * width + bytes };
        let list = match index {
            Expr::Const(index) => vec![span(index.rem_euclid(len.max(1) as i32) as u64)],
            _ => (0..len.max(1) as u64).map(span).collect(),
        };
        Spans { list, any: false }
    }

    fn var(&self, place: &AbstractPlace) -> Spans {
        self.elements(place.id, self.program.vars[place.id].len, 4, 4, &place.index)
    }

    fn mutex(&self, place: &AbstractPlace) -> Spans {
        let object = self.program.vars.len() + place.id;
        self.elements(object, self.program.mutexes[place.id].len, STRIDE, 1, &place.index)
    }

    /// One node per instruction, in order behind the entry, so that jumps are easily found.
    fn function(&mut self, number: usize, code: &Code) {
        let function = number as FunctionId;
        let nodes: Vec<NodeId> = code.iter().map(|_| self.builder.node(function, Act::Nothing, 0)).collect();
        let entry = self.builder.entry(function);
        self.builder.edge(entry, nodes[0]);
        for (at, instr) in code.iter().enumerate() {
            let node = nodes[at];
            let next = nodes.get(at + 1).copied();
            match instr {
                Instr::Jump(target) => self.builder.edge(node, nodes[*target]),
                Instr::Unless(condition, target) => {
                    self.builder.edge(node, nodes[at + 1]);
                    self.builder.edge(node, nodes[*target]);
                    if self.taint.depends(number, condition) {
                        self.builder.taint(node);
                    }
                }
                Instr::OnceBegin { once, done, pc } => {
                    self.set(node, self.sync(self.onces, *once), *pc);
                    let branch = self.builder.node(function, Act::Nothing, 0);
                    self.builder.taint(branch);
                    self.builder.edge(node, branch);
                    self.builder.edge(branch, nodes[at + 1]);
                    self.builder.edge(branch, nodes[*done]);
                    continue;
                }
                Instr::OnceEnd { once, pc } => self.set(node, self.sync(self.onces, *once), *pc),
                Instr::SemInit { sem, pc, .. } => self.set(node, self.sync(self.sems, *sem), *pc),
                Instr::BarrierInit { barrier, pc, .. } => self.set(node, self.sync(self.barriers, *barrier), *pc),
                Instr::Call(callee, _) => {
                    let targets = vec![(self.bodies + callee) as FunctionId];
                    self.set(node, Act::Call { targets }, 0);
                }
                Instr::End { pc } => self.set(node, Act::End, *pc),
                Instr::Enter(_) | Instr::Leave => {}
                Instr::Op(op, pc) => {
                    let (act, operand) = self.operation(op, code, &nodes);
                    self.set(node, act, *pc);
                    let tainted = operand.is_some_and(|operand| self.taint.depends(number, operand));
                    if tainted {
                        self.builder.taint(node);
                    }
                    if self.attempt(function, op, at, code, &nodes) {
                        continue;
                    }
                }
            }
            let falls_through = !matches!(instr, Instr::Jump(_) | Instr::Unless(..) | Instr::End { .. } | Instr::Leave);
            if let Some(next) = next.filter(|_| falls_through) {
                self.builder.edge(node, next);
            }
        }
    }

    fn set(&mut self, node: NodeId, act: Act, site: u64) {
        let node = self.builder.node_mut(node);
        (node.act, node.site) = (act, site);
    }

    fn object_of(&self, first: u32, number: usize) -> Spans {
        Spans::one(Span { object: first + number as u32, from: 0, to: 1 })
    }

    fn sync(&self, first: u32, number: usize) -> Act {
        Act::Sync { at: self.object_of(first, number) }
    }

    /// An attempt to lock whose result is tested at once: the lock is held in one of the two
    /// branches.
    fn attempt(&mut self, function: FunctionId, op: &AbstractOp, at: usize, code: &Code, nodes: &[NodeId]) -> bool {
        let (got, lock, hold) = match op {
            AbstractOp::LockIf(got, place, Patience::Try | Patience::Timed) => {
                (got, self.mutex(place), Hold::Exclusive)
            }
            AbstractOp::ReadLock(got, id, Patience::Try | Patience::Timed) => {
                (got, self.object_of(self.rwlocks, *id), Hold::Shared)
            }
            AbstractOp::WriteLock(got, id, Patience::Try | Patience::Timed) => {
                (got, self.object_of(self.rwlocks, *id), Hold::Exclusive)
            }
            _ => return false,
        };
        let Some(Instr::Unless(Expr::Reg(tested), otherwise)) = code.get(at + 1) else { return false };
        if tested != got {
            return false;
        }
        let branch = self.builder.node(function, Act::Nothing, 0);
        let holds = self.builder.node(function, Act::Holds { lock, hold }, 0);
        self.builder.taint(branch);
        self.builder.edge(nodes[at], branch);
        self.builder.edge(branch, holds);
        self.builder.edge(holds, nodes[at + 2]);
        self.builder.edge(branch, nodes[*otherwise]);
        true
    }

    fn anywhere(write: bool, atomic: bool) -> Act {
        Act::Access { at: Spans { list: Vec::new(), any: true }, write, atomic }
    }

    /// What an operation does, and the expression that decides on what.
    fn operation<'o>(&self, op: &'o AbstractOp, code: &Code, nodes: &[NodeId]) -> (Act, Option<&'o Expr>) {
        let access = |place: &AbstractPlace, write, atomic| Act::Access { at: self.var(place), write, atomic };
        let acquire = |lock, hold, patience| Act::Acquire { lock, hold, may_fail: patience != Patience::Block };
        match op {
            AbstractOp::Set(..) | AbstractOp::Return => (Act::Nothing, None),
            AbstractOp::Read(_, place) => (access(place, false, false), Some(&place.index)),
            AbstractOp::Write(place, _) => (access(place, true, false), Some(&place.index)),
            AbstractOp::Load(_, place, _) | AbstractOp::Await(_, place, ..) => {
                (access(place, false, true), Some(&place.index))
            }
            AbstractOp::Store(place, ..) | AbstractOp::Rmw(_, place, ..) | AbstractOp::Cas { place, .. } => {
                (access(place, true, true), Some(&place.index))
            }
            AbstractOp::Fence(_)
            | AbstractOp::Choose(..)
            | AbstractOp::HandlerBegin
            | AbstractOp::HandlerReturn
            | AbstractOp::SectionBegin
            | AbstractOp::SectionEnd => (Act::Sync { at: Spans::default() }, None),
            AbstractOp::Lock(place) => {
                (acquire(self.mutex(place), Hold::Exclusive, Patience::Block), Some(&place.index))
            }
            AbstractOp::LockIf(_, place, patience) => {
                (acquire(self.mutex(place), Hold::Exclusive, *patience), Some(&place.index))
            }
            AbstractOp::Unlock(place) => (Act::Release { lock: self.mutex(place) }, Some(&place.index)),
            AbstractOp::ReadLock(_, id, patience) => {
                (acquire(self.object_of(self.rwlocks, *id), Hold::Shared, *patience), None)
            }
            AbstractOp::WriteLock(_, id, patience) => {
                (acquire(self.object_of(self.rwlocks, *id), Hold::Exclusive, *patience), None)
            }
            AbstractOp::RwUnlock(id) => (Act::Release { lock: self.object_of(self.rwlocks, *id) }, None),
            AbstractOp::Wait(_, cond, place, _) => {
                let (cond, mutex) = (self.object_of(self.conds, *cond), self.mutex(place));
                (Act::Wait { cond, mutex }, Some(&place.index))
            }
            AbstractOp::Signal(id) | AbstractOp::Broadcast(id) => (self.sync(self.conds, *id), None),
            AbstractOp::SemWait(_, id, _) | AbstractOp::SemPost(id) => (self.sync(self.sems, *id), None),
            AbstractOp::Barrier(_, id) => (self.sync(self.barriers, *id), None),
            AbstractOp::Create { body, .. } => (Act::Create { bodies: vec![*body as FunctionId], once: false }, None),
            AbstractOp::Join(slot) => (Act::Join { created_at: only_create(code, nodes, *slot) }, None),
            AbstractOp::Assert(condition) | AbstractOp::Assume(condition) => (Act::Nothing, Some(condition)),
            AbstractOp::Allocate { .. } | AbstractOp::Forget(_) => (Act::Nothing, None),
            // Which block it is, is not followed.
            AbstractOp::ReadBlock(..) | AbstractOp::Fetch(..) => (Self::anywhere(false, false), None),
            AbstractOp::WriteBlock(..) | AbstractOp::Share(..) | AbstractOp::Free(_) => {
                (Self::anywhere(true, false), None)
            }
            AbstractOp::Swap(..) => (Self::anywhere(true, true), None),
        }
    }
}

/// The one place that fills a slot.
fn only_create(code: &Code, nodes: &[NodeId], slot: u8) -> Option<NodeId> {
    let fills = |instr: &Instr| matches!(instr, Instr::Op(AbstractOp::Create { slot: own, .. }, _) if *own == slot);
    let mut places = code.iter().zip(nodes).filter(|(instr, _)| fills(instr)).map(|(_, &node)| node);
    places.next().filter(|_| places.next().is_none())
}
