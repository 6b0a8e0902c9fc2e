//! Points-to analysis (Andersen's, inclusion-based, by byte offset), and the call graph.
//!
//! Offsets that are unknown, or too many, are merged into one unknown offset.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use crate::ir::{FuncId, InstId, InstOp, InstOperand, WholeProgram};
use crate::library::{KnownFunction, known};

/// An unknown offset.
pub const UNKNOWN_OFFSET: i64 = i64::MIN;
/// Offsets into one object that one pointer may have before they are merged.
const MAX_OFFSETS: usize = 12;

/// An abstract object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AbstractObject {
    /// Everything that code outside of the analysis may know.
    Unknown,
    /// A global variable.
    Global(usize),
    /// A function.
    Func(FuncId),
    /// A stack variable, by the instruction that allocates it.
    Stack(FuncId, InstId),
    /// A heap block, by the call that allocates it.
    Heap(FuncId, InstId),
}

/// The objects and offsets that a pointer may point to.
pub type PointsToSet = BTreeSet<(AbstractObject, i64)>;

/// Points-to sets of values, memory and results of functions.
#[derive(Debug, Default)]
pub struct PointsTo {
    insts: Vec<Vec<PointsToSet>>,
    args: Vec<Vec<PointsToSet>>,
    returns: Vec<PointsToSet>,
    memory: FxHashMap<AbstractObject, std::collections::BTreeMap<i64, PointsToSet>>,
    /// Functions that run at the program's end.
    pub at_exit: BTreeSet<FuncId>,
    changed: bool,
}

impl PointsTo {
    /// Analyses a whole program.
    pub fn of(program: &WholeProgram) -> Self {
        let mut points = PointsTo {
            insts: program.funcs.iter().map(|func| vec![PointsToSet::new(); func.insts.len()]).collect(),
            args: program.funcs.iter().map(|func| vec![PointsToSet::new(); func.params]).collect(),
            returns: vec![PointsToSet::new(); program.funcs.len()],
            ..PointsTo::default()
        };
        for (number, global) in program.globals.iter().enumerate() {
            for &(at, value) in &global.init {
                let targets = points.eval(0, value);
                points.store(&[(AbstractObject::Global(number), at as i64)].into(), &targets);
            }
        }
        if let Some(main) = program.funcs.iter().position(|func| func.name == "main")
            && let [.., argv] = points.args[main].as_mut_slice()
        {
            argv.insert((AbstractObject::Unknown, UNKNOWN_OFFSET));
        }
        loop {
            points.changed = false;
            for func in 0..program.funcs.len() {
                for inst in 0..program.funcs[func].insts.len() {
                    points.transfer(program, func, inst);
                }
            }
            if !points.changed {
                return points;
            }
        }
    }

    /// The points-to set of a value.
    pub fn eval(&self, func: FuncId, value: InstOperand) -> PointsToSet {
        match value {
            InstOperand::Inst(inst) => self.insts[func].get(inst).cloned().unwrap_or_default(),
            InstOperand::Arg(arg) => self.args[func].get(arg).cloned().unwrap_or_default(),
            InstOperand::Global(global, at) => [(AbstractObject::Global(global), at.unwrap_or(UNKNOWN_OFFSET))].into(),
            InstOperand::Func(target) => [(AbstractObject::Func(target), 0)].into(),
            InstOperand::Int(_) | InstOperand::Plain => PointsToSet::new(),
            InstOperand::Unknown => [(AbstractObject::Unknown, UNKNOWN_OFFSET)].into(),
        }
    }

    /// All pointers that an object may hold.
    pub fn contents(&self, object: AbstractObject) -> impl Iterator<Item = &(AbstractObject, i64)> {
        self.memory.get(&object).into_iter().flat_map(|cells| cells.values().flatten())
    }

    /// Functions that a call may reach.
    pub fn callees(&self, func: FuncId, callee: InstOperand) -> (Vec<FuncId>, bool) {
        let targets = self.eval(func, callee);
        let funcs = targets.iter().filter_map(|(object, _)| match object {
            AbstractObject::Func(target) => Some(*target),
            _ => None,
        });
        (funcs.collect(), targets.iter().any(|(object, _)| *object == AbstractObject::Unknown))
    }

    fn load(&self, from: &PointsToSet) -> PointsToSet {
        let mut all = PointsToSet::new();
        for &(object, at) in from {
            if object == AbstractObject::Unknown {
                all.insert((AbstractObject::Unknown, UNKNOWN_OFFSET));
            }
            for (&cell, targets) in self.memory.get(&object).into_iter().flatten() {
                if cell == at || cell == UNKNOWN_OFFSET || at == UNKNOWN_OFFSET {
                    all.extend(targets);
                }
            }
        }
        all
    }

    fn store(&mut self, to: &PointsToSet, what: &PointsToSet) {
        if what.is_empty() {
            return;
        }
        for &(object, at) in to {
            let cell = self.memory.entry(object).or_default().entry(at).or_default();
            self.changed |= add(cell, what);
        }
    }

    fn set(&mut self, func: FuncId, inst: InstId, targets: &PointsToSet) {
        self.changed |= add(&mut self.insts[func][inst], targets);
    }

    fn transfer(&mut self, program: &WholeProgram, func: FuncId, inst: InstId) {
        match &program.funcs[func].insts[inst].op {
            InstOp::Alloca(_) => self.set(func, inst, &[(AbstractObject::Stack(func, inst), 0)].into()),
            InstOp::Load { ptr, .. } if program.funcs[func].insts[inst].pointer => {
                let targets = self.load(&self.eval(func, *ptr));
                self.set(func, inst, &targets);
            }
            InstOp::Store { ptr, value, .. } => {
                let (to, what) = (self.eval(func, *ptr), self.eval(func, *value));
                self.store(&to, &what);
            }
            InstOp::Rmw { ptr, value, .. } => {
                let (to, what) = (self.eval(func, *ptr), self.eval(func, *value));
                let old = self.load(&to);
                self.store(&to, &what);
                self.set(func, inst, &old);
            }
            InstOp::Gep { base, offset, variable, .. } => {
                let moved = self.eval(func, *base).into_iter().map(|(object, at)| {
                    let known = !variable
                        && at != UNKNOWN_OFFSET
                        && !matches!(object, AbstractObject::Func(_) | AbstractObject::Unknown);
                    let to = at.wrapping_add(*offset);
                    let inside = known && to >= 0 && (to as u64) <= size_of(program, object);
                    (object, if inside { to } else { UNKNOWN_OFFSET })
                });
                let moved = moved.collect();
                self.set(func, inst, &moved);
            }
            InstOp::Merge(values) => {
                let all = values.iter().flat_map(|&value| self.eval(func, value)).collect();
                self.set(func, inst, &all);
            }
            InstOp::Return(Some(value)) => {
                let targets = self.eval(func, *value);
                self.changed |= add(&mut self.returns[func], &targets);
            }
            InstOp::Call { callee, args, .. } => self.call(program, func, inst, *callee, args),
            _ => {}
        }
    }

    fn call(&mut self, program: &WholeProgram, func: FuncId, inst: InstId, callee: InstOperand, args: &[InstOperand]) {
        let (targets, unknown) = self.callees(func, callee);
        if unknown {
            self.set(func, inst, &[(AbstractObject::Unknown, UNKNOWN_OFFSET)].into());
        }
        for target in targets {
            if program.funcs[target].insts.is_empty() {
                self.library(program, func, inst, &program.funcs[target].name, args);
            } else {
                self.bind(func, target, args);
                let returned = self.returns[target].clone();
                self.set(func, inst, &returned);
            }
        }
    }

    fn bind(&mut self, func: FuncId, target: FuncId, args: &[InstOperand]) {
        for (number, &arg) in args.iter().enumerate().take(self.args[target].len()) {
            let what = self.eval(func, arg);
            self.changed |= add(&mut self.args[target][number], &what);
        }
    }

    fn library(&mut self, program: &WholeProgram, func: FuncId, inst: InstId, name: &str, args: &[InstOperand]) {
        let arg =
            |points: &Self, number: usize| args.get(number).map_or_else(PointsToSet::new, |&v| points.eval(func, v));
        match known(name) {
            Some(KnownFunction::Alloc) => self.set(func, inst, &[(AbstractObject::Heap(func, inst), 0)].into()),
            Some(KnownFunction::Realloc) => {
                let mut all = arg(self, 0);
                let inside: PointsToSet = all.iter().flat_map(|&(object, _)| self.contents(object)).copied().collect();
                self.store(&[(AbstractObject::Heap(func, inst), UNKNOWN_OFFSET)].into(), &inside);
                all.insert((AbstractObject::Heap(func, inst), 0));
                self.set(func, inst, &all);
            }
            Some(KnownFunction::Copy) => {
                let (to, from) = (arg(self, 0), arg(self, 1));
                let what: PointsToSet = from.iter().flat_map(|&(object, _)| self.contents(object)).copied().collect();
                let wide: PointsToSet = to.iter().map(|&(object, _)| (object, UNKNOWN_OFFSET)).collect();
                self.store(&wide, &what);
                self.set(func, inst, &to);
            }
            Some(KnownFunction::Fill) => {
                let to = arg(self, 0);
                self.set(func, inst, &to);
            }
            Some(KnownFunction::Parse) => {
                let (from, to) = (arg(self, 0), arg(self, 1));
                let within: PointsToSet = from.iter().map(|&(object, _)| (object, UNKNOWN_OFFSET)).collect();
                self.store(&to, &within);
            }
            Some(KnownFunction::Create) => {
                let entries = self.callees(func, args.get(2).copied().unwrap_or(InstOperand::Plain)).0;
                for entry in entries {
                    self.bind(func, entry, &args[3..]);
                }
            }
            Some(KnownFunction::CxxCreate) => {
                // The state object's virtual `_M_run` gets the object itself.
                let states = self.load(&arg(self, 0));
                for body in cxx_bodies(program) {
                    if let Some(own) = self.args[body].first_mut() {
                        self.changed |= add(own, &states);
                    }
                }
            }
            Some(KnownFunction::Join) => {
                let to = arg(self, 1);
                let all: PointsToSet = self.returns.iter().flatten().copied().collect();
                self.store(&to, &all);
            }
            Some(KnownFunction::AtExit) => {
                let entries = self.callees(func, args.first().copied().unwrap_or(InstOperand::Plain)).0;
                for entry in entries {
                    self.at_exit.insert(entry);
                    self.bind(func, entry, args.get(1..2).unwrap_or(&[]));
                }
            }
            Some(_) => {}
            None => {
                // An unknown function may store anything in the objects that it knows, and return
                // them.
                let unknown: PointsToSet = [(AbstractObject::Unknown, UNKNOWN_OFFSET)].into();
                for number in 0..args.len() {
                    let reached = arg(self, number);
                    self.store(&unknown, &reached);
                    let wide: PointsToSet = reached.iter().map(|&(object, _)| (object, UNKNOWN_OFFSET)).collect();
                    self.store(&wide, &unknown);
                }
                let mut result = self.load(&unknown);
                result.extend(unknown);
                self.set(func, inst, &result);
            }
        }
    }
}

/// Bodies of the threads that `std::thread` can start.
pub fn cxx_bodies(program: &WholeProgram) -> Vec<FuncId> {
    let is_body = |name: &str| name.contains("_State_impl") && name.contains("6_M_runEv");
    let funcs = program.funcs.iter().enumerate();
    funcs.filter(|(_, func)| !func.insts.is_empty() && is_body(&func.name)).map(|(number, _)| number).collect()
}

/// Bytes of an object.
pub fn size_of(program: &WholeProgram, object: AbstractObject) -> u64 {
    match object {
        AbstractObject::Global(global) => program.globals[global].size,
        AbstractObject::Stack(func, inst) => match program.funcs[func].insts[inst].op {
            InstOp::Alloca(size) => size,
            _ => u64::MAX,
        },
        AbstractObject::Unknown | AbstractObject::Func(_) | AbstractObject::Heap(..) => 4096,
    }
}

/// Adds targets, merging offsets if there are too many. Returns whether the set changed.
fn add(set: &mut PointsToSet, more: &PointsToSet) -> bool {
    let mut changed = false;
    for &(object, at) in more {
        if set.contains(&(object, UNKNOWN_OFFSET)) || !set.insert((object, at)) {
            continue;
        }
        changed = true;
        if at == UNKNOWN_OFFSET || set.range((object, i64::MIN)..=(object, i64::MAX)).count() > MAX_OFFSETS {
            set.retain(|&(other, _)| other != object);
            set.insert((object, UNKNOWN_OFFSET));
        }
    }
    changed
}
