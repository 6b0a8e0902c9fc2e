//! Which objects pointers may lead to (inclusion-based, by byte offset), and which functions calls may reach.
//!
//! Offsets that are not known, or too many to tell apart, make one unknown offset.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use crate::ir::{FuncId, InstId, Op, Program, Value};
use crate::library::{Known, known};

/// Some offset.
pub const SOMEWHERE: i64 = i64::MIN;
/// Offsets into one object that one pointer may have before they are lumped together.
const MAX_OFFSETS: usize = 12;

/// An abstract object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Object {
    /// Whatever code that is not analysed knows.
    Unknown,
    /// A global variable.
    Global(usize),
    /// A function.
    Func(FuncId),
    /// What an instruction of a function allocates on the stack.
    Stack(FuncId, InstId),
    /// What a call allocates on the heap.
    Heap(FuncId, InstId),
}

/// Where a pointer may lead to.
pub type Targets = BTreeSet<(Object, i64)>;

/// Contents of memory, values and results of functions.
#[derive(Debug, Default)]
pub struct Points {
    insts: Vec<Vec<Targets>>,
    args: Vec<Vec<Targets>>,
    returns: Vec<Targets>,
    memory: FxHashMap<Object, std::collections::BTreeMap<i64, Targets>>,
    /// Functions that run at the program's end.
    pub at_exit: BTreeSet<FuncId>,
    changed: bool,
}

impl Points {
    /// Solves a whole program.
    pub fn of(program: &Program) -> Self {
        let mut points = Points {
            insts: program.funcs.iter().map(|func| vec![Targets::new(); func.insts.len()]).collect(),
            args: program.funcs.iter().map(|func| vec![Targets::new(); func.params]).collect(),
            returns: vec![Targets::new(); program.funcs.len()],
            ..Points::default()
        };
        for (number, global) in program.globals.iter().enumerate() {
            for &(at, value) in &global.init {
                let targets = points.eval(0, value);
                points.store(&[(Object::Global(number), at as i64)].into(), &targets);
            }
        }
        if let Some(main) = program.funcs.iter().position(|func| func.name == "main")
            && let [.., argv] = points.args[main].as_mut_slice()
        {
            argv.insert((Object::Unknown, SOMEWHERE));
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

    /// Where a value may lead to.
    pub fn eval(&self, func: FuncId, value: Value) -> Targets {
        match value {
            Value::Inst(inst) => self.insts[func].get(inst).cloned().unwrap_or_default(),
            Value::Arg(arg) => self.args[func].get(arg).cloned().unwrap_or_default(),
            Value::Global(global, at) => [(Object::Global(global), at.unwrap_or(SOMEWHERE))].into(),
            Value::Func(target) => [(Object::Func(target), 0)].into(),
            Value::Int(_) | Value::Plain => Targets::new(),
            Value::Unknown => [(Object::Unknown, SOMEWHERE)].into(),
        }
    }

    /// All pointers that an object may hold.
    pub fn contents(&self, object: Object) -> impl Iterator<Item = &(Object, i64)> {
        self.memory.get(&object).into_iter().flat_map(|cells| cells.values().flatten())
    }

    /// Functions that a call may reach.
    pub fn callees(&self, func: FuncId, callee: Value) -> (Vec<FuncId>, bool) {
        let targets = self.eval(func, callee);
        let funcs = targets.iter().filter_map(|(object, _)| match object {
            Object::Func(target) => Some(*target),
            _ => None,
        });
        (funcs.collect(), targets.iter().any(|(object, _)| *object == Object::Unknown))
    }

    fn load(&self, from: &Targets) -> Targets {
        let mut all = Targets::new();
        for &(object, at) in from {
            if object == Object::Unknown {
                all.insert((Object::Unknown, SOMEWHERE));
            }
            for (&cell, targets) in self.memory.get(&object).into_iter().flatten() {
                if cell == at || cell == SOMEWHERE || at == SOMEWHERE {
                    all.extend(targets);
                }
            }
        }
        all
    }

    fn store(&mut self, to: &Targets, what: &Targets) {
        if what.is_empty() {
            return;
        }
        for &(object, at) in to {
            let cell = self.memory.entry(object).or_default().entry(at).or_default();
            self.changed |= add(cell, what);
        }
    }

    fn set(&mut self, func: FuncId, inst: InstId, targets: &Targets) {
        self.changed |= add(&mut self.insts[func][inst], targets);
    }

    fn transfer(&mut self, program: &Program, func: FuncId, inst: InstId) {
        match &program.funcs[func].insts[inst].op {
            Op::Alloca(_) => self.set(func, inst, &[(Object::Stack(func, inst), 0)].into()),
            Op::Load { ptr, .. } if program.funcs[func].insts[inst].pointer => {
                let targets = self.load(&self.eval(func, *ptr));
                self.set(func, inst, &targets);
            }
            Op::Store { ptr, value, .. } => {
                let (to, what) = (self.eval(func, *ptr), self.eval(func, *value));
                self.store(&to, &what);
            }
            Op::Rmw { ptr, value, .. } => {
                let (to, what) = (self.eval(func, *ptr), self.eval(func, *value));
                let old = self.load(&to);
                self.store(&to, &what);
                self.set(func, inst, &old);
            }
            Op::Gep { base, offset, variable, .. } => {
                let moved = self.eval(func, *base).into_iter().map(|(object, at)| {
                    let known = !variable && at != SOMEWHERE && !matches!(object, Object::Func(_) | Object::Unknown);
                    let to = at.wrapping_add(*offset);
                    let inside = known && to >= 0 && (to as u64) <= size_of(program, object);
                    (object, if inside { to } else { SOMEWHERE })
                });
                let moved = moved.collect();
                self.set(func, inst, &moved);
            }
            Op::Merge(values) => {
                let all = values.iter().flat_map(|&value| self.eval(func, value)).collect();
                self.set(func, inst, &all);
            }
            Op::Return(Some(value)) => {
                let targets = self.eval(func, *value);
                self.changed |= add(&mut self.returns[func], &targets);
            }
            Op::Call { callee, args, .. } => self.call(program, func, inst, *callee, args),
            _ => {}
        }
    }

    fn call(&mut self, program: &Program, func: FuncId, inst: InstId, callee: Value, args: &[Value]) {
        let (targets, unknown) = self.callees(func, callee);
        if unknown {
            self.set(func, inst, &[(Object::Unknown, SOMEWHERE)].into());
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

    fn bind(&mut self, func: FuncId, target: FuncId, args: &[Value]) {
        for (number, &arg) in args.iter().enumerate().take(self.args[target].len()) {
            let what = self.eval(func, arg);
            self.changed |= add(&mut self.args[target][number], &what);
        }
    }

    fn library(&mut self, program: &Program, func: FuncId, inst: InstId, name: &str, args: &[Value]) {
        let arg = |points: &Self, number: usize| args.get(number).map_or_else(Targets::new, |&v| points.eval(func, v));
        match known(name) {
            Some(Known::Alloc) => self.set(func, inst, &[(Object::Heap(func, inst), 0)].into()),
            Some(Known::Realloc) => {
                let mut all = arg(self, 0);
                let inside: Targets = all.iter().flat_map(|&(object, _)| self.contents(object)).copied().collect();
                self.store(&[(Object::Heap(func, inst), SOMEWHERE)].into(), &inside);
                all.insert((Object::Heap(func, inst), 0));
                self.set(func, inst, &all);
            }
            Some(Known::Copy) => {
                let (to, from) = (arg(self, 0), arg(self, 1));
                let what: Targets = from.iter().flat_map(|&(object, _)| self.contents(object)).copied().collect();
                let wide: Targets = to.iter().map(|&(object, _)| (object, SOMEWHERE)).collect();
                self.store(&wide, &what);
                self.set(func, inst, &to);
            }
            Some(Known::Fill) => {
                let to = arg(self, 0);
                self.set(func, inst, &to);
            }
            Some(Known::Create) => {
                let entries = self.callees(func, args.get(2).copied().unwrap_or(Value::Plain)).0;
                for entry in entries {
                    self.bind(func, entry, &args[3..]);
                }
            }
            Some(Known::CxxCreate) => {
                // The state object's virtual `_M_run` gets the object itself.
                let states = self.load(&arg(self, 0));
                for body in cxx_bodies(program) {
                    if let Some(own) = self.args[body].first_mut() {
                        self.changed |= add(own, &states);
                    }
                }
            }
            Some(Known::Join) => {
                let to = arg(self, 1);
                let all: Targets = self.returns.iter().flatten().copied().collect();
                self.store(&to, &all);
            }
            Some(Known::AtExit) => {
                let entries = self.callees(func, args.first().copied().unwrap_or(Value::Plain)).0;
                for entry in entries {
                    self.at_exit.insert(entry);
                    self.bind(func, entry, args.get(1..2).unwrap_or(&[]));
                }
            }
            Some(_) => {}
            None => {
                // What it learns of, it may store anything in, and give back.
                let unknown: Targets = [(Object::Unknown, SOMEWHERE)].into();
                for number in 0..args.len() {
                    let reached = arg(self, number);
                    self.store(&unknown, &reached);
                    let wide: Targets = reached.iter().map(|&(object, _)| (object, SOMEWHERE)).collect();
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
pub fn cxx_bodies(program: &Program) -> Vec<FuncId> {
    let is_body = |name: &str| name.contains("_State_impl") && name.contains("6_M_runEv");
    let funcs = program.funcs.iter().enumerate();
    funcs.filter(|(_, func)| !func.insts.is_empty() && is_body(&func.name)).map(|(number, _)| number).collect()
}

/// Bytes of an object.
pub fn size_of(program: &Program, object: Object) -> u64 {
    match object {
        Object::Global(global) => program.globals[global].size,
        Object::Stack(func, inst) => match program.funcs[func].insts[inst].op {
            Op::Alloca(size) => size,
            _ => u64::MAX,
        },
        Object::Unknown | Object::Func(_) | Object::Heap(..) => 4096,
    }
}

/// Adds targets, lumping offsets together where they become too many; whether anything is new.
fn add(set: &mut Targets, more: &Targets) -> bool {
    let mut changed = false;
    for &(object, at) in more {
        if set.contains(&(object, SOMEWHERE)) || !set.insert((object, at)) {
            continue;
        }
        changed = true;
        if at == SOMEWHERE || set.range((object, i64::MIN)..=(object, i64::MAX)).count() > MAX_OFFSETS {
            set.retain(|&(other, _)| other != object);
            set.insert((object, SOMEWHERE));
        }
    }
    changed
}
