//! Escape and taint analysis: which objects threads share, and which values depend on other
//! threads.
//!
//! Only data flow is tracked. A value that is assigned in a branch that depends on other threads is
//! not marked: after such a branch, the users of the facts assume everything that the thread may
//! do.

use std::collections::BTreeSet;

use crate::ir::{FuncId, InstOp, InstOperand, WholeProgram};
use crate::library::{KnownFunction, buffers, known};
use crate::points::{AbstractObject, PointsTo, cxx_bodies};

/// Results of the analysis.
#[derive(Debug)]
pub struct Taint {
    /// Objects that more than one thread may know.
    pub shared: BTreeSet<AbstractObject>,
    insts: Vec<Vec<bool>>,
    args: Vec<Vec<bool>>,
    returns: Vec<bool>,
    /// Objects whose content depends on other threads.
    memory: BTreeSet<AbstractObject>,
    changed: bool,
}

impl Taint {
    /// Analyses a program.
    pub fn of(program: &WholeProgram, points: &PointsTo) -> Self {
        let (shared, bodies) = shared(program, points);
        let mut taint = Taint {
            memory: written_late(program, points, &bodies).intersection(&shared).copied().collect(),
            shared,
            insts: program.funcs.iter().map(|func| vec![false; func.insts.len()]).collect(),
            args: program.funcs.iter().map(|func| vec![false; func.params]).collect(),
            returns: vec![false; program.funcs.len()],
            changed: false,
        };
        taint.memory.insert(AbstractObject::Unknown);
        loop {
            taint.changed = false;
            for func in 0..program.funcs.len() {
                for inst in 0..program.funcs[func].insts.len() {
                    let result = taint.transfer(program, points, func, inst);
                    taint.changed |= result && !std::mem::replace(&mut taint.insts[func][inst], true);
                }
            }
            if !taint.changed {
                return taint;
            }
        }
    }

    /// Whether a value depends on other threads.
    pub fn value(&self, func: FuncId, value: InstOperand) -> bool {
        match value {
            InstOperand::Inst(inst) => self.insts[func].get(inst).copied().unwrap_or(true),
            InstOperand::Arg(arg) => self.args[func].get(arg).copied().unwrap_or(true),
            InstOperand::Unknown => true,
            InstOperand::Global(..) | InstOperand::Func(_) | InstOperand::Int(_) | InstOperand::Plain => false,
        }
    }

    fn any(&self, func: FuncId, values: &[InstOperand]) -> bool {
        values.iter().any(|&value| self.value(func, value))
    }

    fn store(&mut self, points: &PointsTo, func: FuncId, ptr: InstOperand) {
        for (object, _) in points.eval(func, ptr) {
            self.changed |= self.memory.insert(object);
        }
    }

    fn holds(&self, points: &PointsTo, func: FuncId, ptr: InstOperand) -> bool {
        points.eval(func, ptr).iter().any(|(object, _)| self.memory.contains(object))
    }

    fn transfer(&mut self, program: &WholeProgram, points: &PointsTo, func: FuncId, inst: usize) -> bool {
        match &program.funcs[func].insts[inst].op {
            InstOp::Load { ptr, atomic, .. } => *atomic || self.value(func, *ptr) || self.holds(points, func, *ptr),
            InstOp::Store { ptr, value, .. } => {
                if self.value(func, *value) || self.value(func, *ptr) {
                    self.store(points, func, *ptr);
                }
                false
            }
            InstOp::Rmw { .. } => true,
            InstOp::Gep { base, indices, .. } => self.value(func, *base) || self.any(func, indices),
            InstOp::Compare { left, right, .. } => self.any(func, &[*left, *right]),
            InstOp::Merge(values) | InstOp::Compute(values) | InstOp::Other(values) => self.any(func, values),
            InstOp::Return(Some(value)) => {
                if self.value(func, *value) {
                    self.changed |= !std::mem::replace(&mut self.returns[func], true);
                }
                false
            }
            InstOp::Call { callee, args, .. } => self.call(program, points, func, *callee, args),
            _ => false,
        }
    }

    fn call(
        &mut self,
        program: &WholeProgram,
        points: &PointsTo,
        func: FuncId,
        callee: InstOperand,
        args: &[InstOperand],
    ) -> bool {
        let (targets, unknown) = points.callees(func, callee);
        let mut result = unknown || self.value(func, callee);
        for target in targets {
            if program.funcs[target].insts.is_empty() {
                result |= self.library(program, points, func, &program.funcs[target].name, args);
                continue;
            }
            self.pass(func, target, args);
            result |= self.returns[target];
        }
        result
    }

    fn pass(&mut self, func: FuncId, target: FuncId, args: &[InstOperand]) {
        for (number, &arg) in args.iter().enumerate().take(self.args[target].len()) {
            if self.value(func, arg) {
                self.changed |= !std::mem::replace(&mut self.args[target][number], true);
            }
        }
    }

    fn library(
        &mut self,
        program: &WholeProgram,
        points: &PointsTo,
        func: FuncId,
        name: &str,
        args: &[InstOperand],
    ) -> bool {
        let reads = |taint: &Self| args.iter().any(|&arg| taint.value(func, arg) || taint.holds(points, func, arg));
        let what = known(name);
        // The result of a thread may depend on any thread.
        if reads(self) || matches!(what, Some(KnownFunction::World | KnownFunction::Join)) {
            buffers(name).written(args).for_each(|to| self.store(points, func, to));
        }
        match what {
            Some(KnownFunction::Copy | KnownFunction::Fill) => args.first().is_some_and(|&to| self.value(func, to)),
            Some(
                KnownFunction::Alloc
                | KnownFunction::Nothing
                | KnownFunction::Io
                | KnownFunction::AtExit
                | KnownFunction::Exit
                | KnownFunction::ThreadExit,
            ) => buffers(name).read != 0 && known(name) == Some(KnownFunction::Alloc) && reads(self),
            Some(KnownFunction::Read | KnownFunction::Parse | KnownFunction::Realloc) => reads(self),
            Some(KnownFunction::Create) => {
                let entries = points.callees(func, args.get(2).copied().unwrap_or(InstOperand::Plain)).0;
                for entry in entries.into_iter().filter(|&entry| !program.funcs[entry].insts.is_empty()) {
                    self.pass(func, entry, &args[3..]);
                }
                false
            }
            // These always return success, and a thread handle depends on no other thread.
            Some(
                KnownFunction::Lock
                | KnownFunction::Unlock
                | KnownFunction::ReadLock
                | KnownFunction::WriteLock
                | KnownFunction::CxxCreate,
            ) => false,
            Some(KnownFunction::Join | KnownFunction::Free) => false,
            Some(KnownFunction::Sync) => matches!(name, "sem_trywait" | "sem_timedwait" | "pthread_barrier_wait"),
            Some(KnownFunction::Wait) => name != "pthread_cond_wait",
            Some(
                KnownFunction::World
                | KnownFunction::TryLock
                | KnownFunction::TryReadLock
                | KnownFunction::TryWriteLock
                | KnownFunction::Once,
            )
            | None => true,
        }
    }
}

/// Objects that several threads may know, and the start functions of threads.
fn shared(program: &WholeProgram, points: &PointsTo) -> (BTreeSet<AbstractObject>, BTreeSet<FuncId>) {
    let mut shared: BTreeSet<AbstractObject> = [AbstractObject::Unknown].into();
    let mut bodies = BTreeSet::new();
    for (number, global) in program.globals.iter().enumerate() {
        if !global.thread_local {
            shared.insert(AbstractObject::Global(number));
        }
    }
    for (func, function) in program.funcs.iter().enumerate() {
        for inst in &function.insts {
            let InstOp::Call { callee, args, .. } = &inst.op else { continue };
            let arg = |number: usize| args.get(number).copied().unwrap_or(InstOperand::Plain);
            for target in points.callees(func, *callee).0 {
                let passed = match known(&program.funcs[target].name) {
                    Some(KnownFunction::Create) if program.funcs[target].insts.is_empty() => {
                        bodies.extend(points.callees(func, arg(2)).0);
                        arg(3)
                    }
                    Some(KnownFunction::CxxCreate) => {
                        bodies.extend(cxx_bodies(program));
                        arg(0)
                    }
                    _ => continue,
                };
                shared.extend(points.eval(func, passed).iter().map(|&(object, _)| object));
            }
        }
    }
    // The thread that joins knows what a thread returns.
    for &body in &bodies {
        for inst in &program.funcs[body].insts {
            if let InstOp::Return(Some(value)) = inst.op {
                shared.extend(points.eval(body, value).iter().map(|&(object, _)| object));
            }
        }
    }
    let mut work: Vec<AbstractObject> = shared.iter().copied().collect();
    while let Some(object) = work.pop() {
        for &(inner, _) in points.contents(object) {
            if shared.insert(inner) {
                work.push(inner);
            }
        }
    }
    (shared, bodies)
}

/// Objects that are written when there may be more than one thread.
fn written_late(program: &WholeProgram, points: &PointsTo, bodies: &BTreeSet<FuncId>) -> BTreeSet<AbstractObject> {
    let late = late_functions(program, points, bodies);
    let creates = creating_functions(program, points);
    let mut written = BTreeSet::new();
    for (func, function) in program.funcs.iter().enumerate() {
        let behind = behind_creation(program, points, func, &creates);
        for (number, inst) in function.insts.iter().enumerate() {
            if !late[func] && !behind[number] {
                continue;
            }
            for pointer in written_through(program, points, func, &inst.op) {
                written.extend(points.eval(func, pointer).into_iter().map(|(object, _)| object));
            }
        }
    }
    written
}

/// The pointers through which an instruction of `func` writes, or frees memory.
fn written_through(program: &WholeProgram, points: &PointsTo, func: FuncId, op: &InstOp) -> Vec<InstOperand> {
    match op {
        InstOp::Store { ptr, .. } | InstOp::Rmw { ptr, .. } => vec![*ptr],
        InstOp::Call { callee, args, .. } => {
            let targets = points.callees(func, *callee).0.into_iter().map(|target| &program.funcs[target]);
            let library = targets.filter(|target| target.insts.is_empty() && known(&target.name).is_some());
            library.flat_map(|target| buffers(&target.name).written(args).collect::<Vec<_>>()).collect()
        }
        _ => Vec::new(),
    }
}

/// Functions in which a thread may be created, directly or not.
fn creating_functions(program: &WholeProgram, points: &PointsTo) -> Vec<bool> {
    let mut creates: Vec<bool> = program
        .funcs
        .iter()
        .map(|func| {
            func.insts.is_empty()
                && matches!(known(&func.name), Some(KnownFunction::Create | KnownFunction::CxxCreate) | None)
        })
        .collect();
    loop {
        let mut changed = false;
        for (func, function) in program.funcs.iter().enumerate() {
            let calls = function.insts.iter().any(|inst| match &inst.op {
                InstOp::Call { callee, .. } => {
                    let (targets, unknown) = points.callees(func, *callee);
                    unknown || targets.iter().any(|&target| creates[target])
                }
                _ => false,
            });
            if calls && !creates[func] {
                creates[func] = true;
                changed = true;
            }
        }
        if !changed {
            return creates;
        }
    }
}

/// Instructions that may be executed after the creation of a thread in the same call of the
/// function.
fn behind_creation(program: &WholeProgram, points: &PointsTo, func: FuncId, creates: &[bool]) -> Vec<bool> {
    let function = &program.funcs[func];
    let mut behind = vec![false; function.insts.len()];
    let mut work = Vec::new();
    let end_of = |block: usize| function.blocks.get(block + 1).copied().unwrap_or(function.insts.len());
    for (number, inst) in function.insts.iter().enumerate() {
        if let InstOp::Call { callee, .. } = &inst.op {
            let (targets, unknown) = points.callees(func, *callee);
            if unknown || targets.iter().any(|&target| creates[target]) {
                work.push((number + 1, inst.block));
                if let InstOp::Call { to, .. } = &inst.op {
                    work.extend(to.iter().map(|&block| (function.blocks[block], block)));
                }
            }
        }
    }
    while let Some((from, block)) = work.pop() {
        let code = from..end_of(block);
        for (inst, behind) in function.insts[code.clone()].iter().zip(&mut behind[code]) {
            if std::mem::replace(behind, true) {
                break;
            }
            match &inst.op {
                InstOp::Branch { to, .. } | InstOp::Call { to, .. } => {
                    work.extend(to.iter().map(|&block| (function.blocks[block], block)));
                }
                _ => {}
            }
        }
    }
    behind
}

/// Functions that may run concurrently with another thread.
fn late_functions(program: &WholeProgram, points: &PointsTo, bodies: &BTreeSet<FuncId>) -> Vec<bool> {
    let creates = creating_functions(program, points);
    let mut late = vec![false; program.funcs.len()];
    bodies.iter().for_each(|&body| late[body] = true);
    points.at_exit.iter().for_each(|&func| late[func] = true);
    loop {
        let mut changed = false;
        for (func, function) in program.funcs.iter().enumerate() {
            let behind = behind_creation(program, points, func, &creates);
            for (inst, &behind) in function.insts.iter().zip(&behind) {
                let InstOp::Call { callee, args, .. } = &inst.op else { continue };
                if !late[func] && !behind {
                    continue;
                }
                let mut targets = points.callees(func, *callee).0;
                targets.extend(args.iter().flat_map(|&arg| points.callees(func, arg).0));
                for target in targets {
                    changed |= !std::mem::replace(&mut late[target], true);
                }
            }
        }
        if !changed {
            return late;
        }
    }
}
