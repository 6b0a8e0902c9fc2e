//! Lowers the program with its points-to sets to facts.

use std::collections::BTreeMap;

use raddle_model::facts::{
    AbstractObjectKind, Act, Builder, Facts, FunctionId, Hold, NodeId, Object as FactObject, ObjectId, SourcePlace,
    Span, Spans,
};

use crate::ir::{FuncId, Inst, InstId, InstOp, InstOperand, Loc, WholeProgram};
use crate::library::{KnownFunction, buffers, known};
use crate::points::{AbstractObject, PointsTo, PointsToSet, UNKNOWN_OFFSET, cxx_bodies};
use crate::taint::Taint;

/// Computes the facts; `None` if the program has no main function.
pub fn lower(program: &WholeProgram, points: &PointsTo, taint: &Taint) -> Option<Facts> {
    let mut lowering = Lowering {
        program,
        points,
        taint,
        builder: Builder::new(),
        functions: BTreeMap::new(),
        objects: BTreeMap::new(),
        sites: BTreeMap::new(),
        creates: BTreeMap::new(),
        joins: Vec::new(),
    };
    for (number, func) in program.funcs.iter().enumerate().filter(|(_, func)| !func.insts.is_empty()) {
        let function = lowering.builder.function(&func.name);
        lowering.functions.insert(number, function);
    }
    let main = program.funcs.iter().position(|func| func.name == "main" && !func.insts.is_empty())?;
    for number in 0..program.funcs.len() {
        if !program.funcs[number].insts.is_empty() {
            lowering.function(number, number == main);
        }
    }
    lowering.resolve_joins();
    let main = lowering.functions[&main];
    Some(lowering.builder.finish(main))
}

struct Lowering<'a> {
    program: &'a WholeProgram,
    points: &'a PointsTo,
    taint: &'a Taint,
    builder: Builder,
    functions: BTreeMap<FuncId, FunctionId>,
    objects: BTreeMap<AbstractObject, ObjectId>,
    sites: BTreeMap<Loc, u64>,
    /// Nodes that create threads, by where they store the handle.
    creates: BTreeMap<(AbstractObject, i64), Vec<NodeId>>,
    /// Nodes that join, with the memory from which they load the handle.
    joins: Vec<(NodeId, PointsToSet)>,
}

impl Lowering<'_> {
    fn site(&mut self, loc: Loc) -> u64 {
        if loc.1 == 0 {
            return 0;
        }
        if let Some(&known) = self.sites.get(&loc) {
            return known;
        }
        let file = self.program.files[loc.0 as usize].clone();
        let facts = self.builder.facts_mut();
        facts.sites.push(SourcePlace { file, line: loc.1, column: loc.2 });
        let site = facts.sites.len() as u64;
        self.sites.insert(loc, site);
        site
    }

    fn object(&mut self, object: AbstractObject) -> ObjectId {
        if let Some(&known) = self.objects.get(&object) {
            return known;
        }
        let funcs = &self.program.funcs;
        let (name, kind, size, site) = match object {
            AbstractObject::Global(number) => {
                let global = &self.program.globals[number];
                let kind = if global.thread_local { AbstractObjectKind::Stack } else { AbstractObjectKind::Global };
                (global.name.clone(), kind, Some(global.size).filter(|&size| size > 0), None)
            }
            AbstractObject::Stack(func, inst) => {
                (format!("local {inst} of {}", funcs[func].name), AbstractObjectKind::Stack, None, None)
            }
            AbstractObject::Heap(func, inst) => {
                let loc = funcs[func].insts[inst].loc;
                let site = Some(self.site(loc)).filter(|&site| site != 0);
                (
                    format!("heap block of {} line {}", self.program.funcs[func].name, loc.1),
                    AbstractObjectKind::Heap,
                    None,
                    site,
                )
            }
            AbstractObject::Func(_) | AbstractObject::Unknown => {
                ("unknown".into(), AbstractObjectKind::Stack, None, None)
            }
        };
        let number = self.builder.object(FactObject { name, kind, size, site });
        self.objects.insert(object, number);
        number
    }

    /// The shared part of the objects that a pointer may point to.
    fn spans(&mut self, targets: &PointsToSet, size: u64) -> Spans {
        let mut spans = Spans::default();
        for &(object, at) in targets {
            match object {
                AbstractObject::Unknown => spans.any = true,
                AbstractObject::Func(_) => {}
                AbstractObject::Global(global) if self.program.globals[global].constant => {}
                _ if !self.taint.shared.contains(&object) => {}
                _ => {
                    let object = self.object(object);
                    let (from, to) = if at == UNKNOWN_OFFSET {
                        (0, u64::MAX)
                    } else {
                        (at as u64, (at as u64).saturating_add(size.max(1)))
                    };
                    spans.list.push(Span { object, from, to });
                }
            }
        }
        spans.list.sort_unstable();
        spans.list.dedup();
        spans
    }

    /// A synchronising object. It is kept even if only one thread knows it.
    fn sync_object(&mut self, func: FuncId, value: InstOperand) -> Spans {
        let targets = self.points.eval(func, value);
        if targets.is_empty() {
            return Spans::any();
        }
        let mut spans = Spans::default();
        for &(object, at) in &targets {
            match object {
                AbstractObject::Unknown | AbstractObject::Func(_) => spans.any = true,
                _ => {
                    let object = self.object(object);
                    let (from, to) = if at == UNKNOWN_OFFSET { (0, u64::MAX) } else { (at as u64, at as u64 + 1) };
                    spans.list.push(Span { object, from, to });
                }
            }
        }
        spans.list.sort_unstable();
        spans
    }

    fn function(&mut self, func: FuncId, is_main: bool) {
        let program = self.program;
        let function = self.functions[&func];
        let code = &program.funcs[func];
        let starts: Vec<NodeId> = code.blocks.iter().map(|_| self.builder.node(function, Act::Nothing, 0)).collect();
        let mut last = self.builder.entry(function);
        if is_main {
            last = self.constructors(function, last);
        }
        self.builder.edge(last, starts[0]);
        for (block, &first) in code.blocks.iter().enumerate() {
            let end = code.blocks.get(block + 1).copied().unwrap_or(code.insts.len());
            let mut last = starts[block];
            for inst in first..end {
                last = self.instruction(func, inst, last, &starts, is_main);
            }
        }
    }

    /// The functions that run before main.
    fn constructors(&mut self, function: FunctionId, last: NodeId) -> NodeId {
        let list = self.program.globals.iter().filter(|global| global.name == "llvm.global_ctors");
        let funcs = list.flat_map(|global| &global.init).filter_map(|(_, value)| match value {
            InstOperand::Func(func) => self.functions.get(func).copied(),
            _ => None,
        });
        let targets: Vec<FunctionId> = funcs.collect();
        targets.into_iter().fold(last, |last, target| {
            let call = self.builder.node(function, Act::Call { targets: vec![target] }, 0);
            self.builder.edge(last, call);
            call
        })
    }

    fn push(&mut self, func: FuncId, last: NodeId, act: Act, loc: Loc) -> NodeId {
        let site = self.site(loc);
        let node = self.builder.node(self.functions[&func], act, site);
        self.builder.edge(last, node);
        node
    }

    fn access(
        &mut self,
        func: FuncId,
        last: NodeId,
        ptr: InstOperand,
        size: u64,
        how: (bool, bool),
        loc: Loc,
    ) -> NodeId {
        let targets = self.points.eval(func, ptr);
        let mut at = self.spans(&targets, size);
        at.any |= targets.is_empty();
        if at.any {
            let text = format!("a pointer of unknown origin at {}", self.place(loc));
            let fallbacks = &mut self.builder.facts_mut().fallbacks;
            if !fallbacks.contains(&text) {
                fallbacks.push(text);
            }
        }
        let node = self.push(func, last, Act::Access { at, write: how.0, atomic: how.1 }, loc);
        if self.taint.value(func, ptr) {
            self.builder.taint(node);
        }
        node
    }

    fn place(&self, loc: Loc) -> String {
        match self.program.files.get(loc.0 as usize) {
            Some(file) if loc.1 > 0 => format!("{file}:{}", loc.1),
            _ => "unknown code".into(),
        }
    }

    /// Appends an instruction; returns the node after which the next one is appended.
    fn instruction(&mut self, func: FuncId, inst: InstId, last: NodeId, starts: &[NodeId], is_main: bool) -> NodeId {
        let program = self.program;
        let item = &program.funcs[func].insts[inst];
        let loc = item.loc;
        match &item.op {
            InstOp::Load { ptr, size, atomic } => self.access(func, last, *ptr, *size, (false, *atomic), loc),
            InstOp::Store { ptr, size, atomic, .. } => self.access(func, last, *ptr, *size, (true, *atomic), loc),
            InstOp::Rmw { ptr, size, .. } => self.access(func, last, *ptr, *size, (true, true), loc),
            InstOp::Fence => self.push(func, last, Act::Sync { at: Spans::default() }, loc),
            InstOp::Call { asm: true, .. } => self.anything(func, last, loc, "assembly"),
            InstOp::Call { callee, args, to, .. } => {
                let end = self.call(func, last, *callee, args, loc);
                to.iter().for_each(|&block| self.builder.edge(end, starts[block]));
                end
            }
            InstOp::Branch { .. } => {
                self.branch(func, inst, last, starts);
                last
            }
            InstOp::Return(_) if is_main => {
                let end = self.at_exit(func, last);
                self.push(func, end, Act::End, (0, 0, 0))
            }
            // A throw leaves the function.
            InstOp::Unreachable if inst > 0 && self.throws(func, inst - 1) => last,
            InstOp::Unreachable => self.push(func, last, Act::End, (0, 0, 0)),
            _ => last,
        }
    }

    /// Whether an instruction throws an exception.
    fn throws(&self, func: FuncId, inst: InstId) -> bool {
        match &self.program.funcs[func].insts[inst].op {
            InstOp::Call { callee: InstOperand::Func(target), .. } => is_throw(&self.program.funcs[*target].name),
            _ => false,
        }
    }

    fn anything(&mut self, func: FuncId, last: NodeId, loc: Loc, why: &str) -> NodeId {
        let place = self.place(loc);
        let fallbacks = &mut self.builder.facts_mut().fallbacks;
        let text = format!("{why} at {place}");
        if !fallbacks.contains(&text) {
            fallbacks.push(text);
        }
        self.push(func, last, Act::Anything { why: why.into() }, loc)
    }

    fn branch(&mut self, func: FuncId, branch: InstId, last: NodeId, starts: &[NodeId]) {
        let InstOp::Branch { on, to } = &self.program.funcs[func].insts[branch].op else { return };
        let on = *on;
        let fork = self.push(func, last, Act::Nothing, (0, 0, 0));
        if on.is_some_and(|on| self.taint.value(func, on)) {
            self.builder.taint(fork);
        }
        let attempt = on.and_then(|on| self.attempt(func, on, false, branch));
        for (number, &block) in to.iter().enumerate() {
            match &attempt {
                // The first successor is taken if the condition holds.
                Some((lock, hold, on_true)) if to.len() == 2 && (number == 0) == *on_true => {
                    let act = Act::Holds { lock: lock.clone(), hold: *hold };
                    let holds = self.push(func, fork, act, (0, 0, 0));
                    self.builder.edge(holds, starts[block]);
                }
                _ => self.builder.edge(fork, starts[block]),
            }
        }
    }

    /// If the value says whether a try-lock succeeded: the lock, and whether the value is true (not
    /// 0) on success. `negated`: the value is compared with 0 an odd number of times.
    fn attempt(
        &mut self,
        func: FuncId,
        value: InstOperand,
        negated: bool,
        branch: InstId,
    ) -> Option<(Spans, Hold, bool)> {
        let InstOperand::Inst(inst) = value else { return None };
        match &self.program.funcs[func].insts[inst].op {
            InstOp::Compare { equal, left, right: InstOperand::Int(0) | InstOperand::Plain } => {
                self.attempt(func, *left, negated ^ *equal, branch)
            }
            InstOp::Merge(values) => match values.as_slice() {
                [value] => self.attempt(func, *value, negated, branch),
                _ => None,
            },
            InstOp::Call { callee: InstOperand::Func(target), args, .. } => {
                // Only if no other operation on the lock can be in between.
                let code = &self.program.funcs[func].insts;
                let between = code.get(inst + 1..branch)?;
                let quiet = |item: &Inst| match &item.op {
                    InstOp::Call { callee: InstOperand::Func(other), .. } => {
                        self.program.funcs[*other].name.starts_with("llvm.")
                    }
                    InstOp::Call { .. } => false,
                    _ => true,
                };
                if code[inst].block != code[branch].block || !between.iter().all(quiet) {
                    return None;
                }
                let hold = match known(&self.program.funcs[*target].name)? {
                    KnownFunction::TryLock | KnownFunction::TryWriteLock => Hold::Exclusive,
                    KnownFunction::TryReadLock => Hold::Shared,
                    _ => return None,
                };
                // 0 is success: the value is true on success if it was negated.
                Some((self.sync_object(func, *args.first()?), hold, negated))
            }
            _ => None,
        }
    }

    fn at_exit(&mut self, func: FuncId, last: NodeId) -> NodeId {
        let targets: Vec<FunctionId> =
            self.points.at_exit.iter().filter_map(|f| self.functions.get(f).copied()).collect();
        if targets.is_empty() { last } else { self.push(func, last, Act::Call { targets }, (0, 0, 0)) }
    }

    fn call(&mut self, func: FuncId, last: NodeId, callee: InstOperand, args: &[InstOperand], loc: Loc) -> NodeId {
        let (targets, unknown) = self.points.callees(func, callee);
        let mut own: Vec<FunctionId> = targets.iter().filter_map(|f| self.functions.get(f).copied()).collect();
        own.sort_unstable();
        let library: Vec<FuncId> = targets.into_iter().filter(|f| !self.functions.contains_key(f)).collect();
        let mut ends = Vec::new();
        if !own.is_empty() {
            let call = self.push(func, last, Act::Call { targets: own.clone() }, loc);
            if self.taint.value(func, callee) {
                self.builder.taint(call);
            }
            ends.push(call);
        }
        for target in &library {
            let name = self.program.funcs[*target].name.clone();
            ends.push(self.library(func, last, &name, args, loc));
        }
        if unknown || own.is_empty() && library.is_empty() {
            ends.push(self.anything(func, last, loc, "a call of an unknown function"));
        }
        match ends.as_slice() {
            [only] => *only,
            _ => {
                let join = self.builder.node(self.functions[&func], Act::Nothing, 0);
                ends.iter().for_each(|&end| self.builder.edge(end, join));
                join
            }
        }
    }

    fn library(&mut self, func: FuncId, last: NodeId, name: &str, args: &[InstOperand], loc: Loc) -> NodeId {
        let first = args.first().copied().unwrap_or(InstOperand::Plain);
        let Some(what) = known(name) else { return self.anything(func, last, loc, &format!("a call of {name}")) };
        let tainted = self.taint.value(func, first);
        // What a thread returned is stored once it has ended.
        let last = if what == KnownFunction::Join { last } else { self.buffers(func, last, name, args, loc) };
        let act = match what {
            KnownFunction::Nothing
            | KnownFunction::Alloc
            | KnownFunction::World
            | KnownFunction::AtExit
            | KnownFunction::Read
            | KnownFunction::Parse
            | KnownFunction::Copy
            | KnownFunction::Fill
            | KnownFunction::Free
            | KnownFunction::Realloc => {
                return self.quiet(func, last, loc, what);
            }
            KnownFunction::Io => return self.push(func, last, Act::Sync { at: Spans::default() }, (0, 0, 0)),
            KnownFunction::Exit => {
                let end = if name == "exit" { self.at_exit(func, last) } else { last };
                // An exception continues at the other successors of the call.
                return self.push(func, end, if is_throw(name) { Act::Nothing } else { Act::End }, (0, 0, 0));
            }
            KnownFunction::ThreadExit => return self.push(func, last, Act::End, (0, 0, 0)),
            KnownFunction::Lock => self.acquire(func, first, Hold::Exclusive, false),
            KnownFunction::TryLock => self.acquire(func, first, Hold::Exclusive, true),
            KnownFunction::WriteLock => self.acquire(func, first, Hold::Exclusive, false),
            KnownFunction::TryWriteLock => self.acquire(func, first, Hold::Exclusive, true),
            KnownFunction::ReadLock => self.acquire(func, first, Hold::Shared, false),
            KnownFunction::TryReadLock => self.acquire(func, first, Hold::Shared, true),
            KnownFunction::Unlock => Act::Release { lock: self.sync_object(func, first) },
            KnownFunction::Wait => {
                let mutex = self.sync_object(func, args.get(1).copied().unwrap_or(InstOperand::Plain));
                Act::Wait { cond: self.sync_object(func, first), mutex }
            }
            KnownFunction::Sync => Act::Sync { at: self.sync_object(func, first) },
            KnownFunction::Create | KnownFunction::CxxCreate => return self.create(func, last, what, args, loc),
            KnownFunction::Join => {
                let node = self.push(func, last, Act::Join { created_at: None }, loc);
                if let InstOperand::Inst(inst) = first
                    && let InstOp::Load { ptr, .. } = self.program.funcs[func].insts[inst].op
                {
                    self.joins.push((node, self.points.eval(func, ptr)));
                }
                return self.buffers(func, node, name, args, loc);
            }
            KnownFunction::Once => return self.once(func, last, args, loc),
        };
        let node = self.push(func, last, act, loc);
        if tainted {
            self.builder.taint(node);
        }
        node
    }

    /// A call that makes no event. If it allocates, its location is that of the block.
    fn quiet(&mut self, func: FuncId, last: NodeId, loc: Loc, what: KnownFunction) -> NodeId {
        match what {
            KnownFunction::Alloc => {
                let at = Spans::default();
                self.push(func, last, Act::Access { at, write: true, atomic: false }, loc)
            }
            _ => last,
        }
    }

    fn acquire(&mut self, func: FuncId, lock: InstOperand, hold: Hold, may_fail: bool) -> Act {
        Act::Acquire { lock: self.sync_object(func, lock), hold, may_fail }
    }

    /// A library function's accesses to the memory of its arguments.
    fn buffers(&mut self, func: FuncId, last: NodeId, name: &str, args: &[InstOperand], loc: Loc) -> NodeId {
        let buffers = buffers(name);
        let last = buffers.read(args).fold(last, |last, arg| self.touch(func, last, arg, false, loc));
        buffers.written(args).fold(last, |last, arg| self.touch(func, last, arg, true, loc))
    }

    /// A library function's access to an argument's memory, of any size.
    fn touch(&mut self, func: FuncId, last: NodeId, arg: InstOperand, write: bool, loc: Loc) -> NodeId {
        let targets = self.points.eval(func, arg);
        if targets.is_empty() {
            return last;
        }
        let from = |&(object, at): &(AbstractObject, i64)| (object, at);
        let spans = self.spans(&targets.iter().map(from).collect(), u64::MAX);
        let node = self.push(func, last, Act::Access { at: spans, write, atomic: false }, loc);
        if self.taint.value(func, arg) {
            self.builder.taint(node);
        }
        node
    }

    fn create(&mut self, func: FuncId, last: NodeId, what: KnownFunction, args: &[InstOperand], loc: Loc) -> NodeId {
        let entries = match what {
            KnownFunction::CxxCreate => cxx_bodies(self.program),
            _ => self.points.callees(func, args.get(2).copied().unwrap_or(InstOperand::Plain)).0,
        };
        let bodies: Vec<FunctionId> = entries.iter().filter_map(|entry| self.functions.get(entry).copied()).collect();
        if bodies.len() < entries.len() || bodies.is_empty() {
            return self.anything(func, last, loc, "a thread that runs unknown code");
        }
        let node = self.push(func, last, Act::Create { bodies, once: false }, loc);
        for handle in self.points.eval(func, args.first().copied().unwrap_or(InstOperand::Plain)) {
            self.creates.entry(handle).or_default().push(node);
        }
        node
    }

    fn once(&mut self, func: FuncId, last: NodeId, args: &[InstOperand], loc: Loc) -> NodeId {
        let at = self.sync_object(func, args.first().copied().unwrap_or(InstOperand::Plain));
        let begin = self.push(func, last, Act::Sync { at: at.clone() }, loc);
        let fork = self.push(func, begin, Act::Nothing, (0, 0, 0));
        self.builder.taint(fork);
        let call = self.call(func, fork, args.get(1).copied().unwrap_or(InstOperand::Plain), &[], (0, 0, 0));
        let end = self.push(func, call, Act::Sync { at }, loc);
        let out = self.push(func, end, Act::Nothing, (0, 0, 0));
        self.builder.edge(fork, out);
        out
    }

    /// A join is resolved if its handle is loaded from memory that a single creation writes.
    fn resolve_joins(&mut self) {
        for (node, places) in std::mem::take(&mut self.joins) {
            let mut places = places.iter();
            let (Some(place), None) = (places.next(), places.next()) else { continue };
            let unknown = place.1 == UNKNOWN_OFFSET || self.creates.contains_key(&(place.0, UNKNOWN_OFFSET));
            if let Some([create]) = self.creates.get(place).map(Vec::as_slice).filter(|_| !unknown) {
                self.builder.node_mut(node).act = Act::Join { created_at: Some(*create) };
            }
        }
    }
}

/// Whether a function of the C++ library throws.
fn is_throw(name: &str) -> bool {
    matches!(name, "__cxa_throw" | "__cxa_rethrow") || name.starts_with("_ZSt") && name.contains("__throw_")
}
