//! Independent oracles. RC11: all paths of the threads, all reads-from and all modification orders,
//! with the axioms on matrices. SC and TSO: machines with and without store buffers.

use std::collections::{BTreeMap, BTreeSet};

use raddle_vocab::MemOrder;

use raddle_testkit::weak::{DATA, Ins, Lab, LabKind, MUTEXES, Stand, Val, WeakProgram, labels, locations};

/// An event: thread and number in it. The initial value of a location has no thread.
pub type Id = (i32, usize);

/// A graph: what each read reads, and the stores of each location.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    pub reads: BTreeMap<Id, Id>,
    pub stores: BTreeMap<usize, Vec<Id>>,
}

/// The graphs in which all threads end, and those in which some wait, each of these for the last
/// store.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Graphs {
    pub complete: BTreeSet<Key>,
    pub stuck: BTreeSet<Key>,
    /// Whether there is a graph with a data race. Then a program has no defined behaviour.
    pub is_racy: bool,
}

impl Graphs {
    /// Adds a graph, without its plain accesses.
    fn add(&mut self, key: Key, threads: &[Vec<Lab>], waiting: &[Id]) {
        // To a search plain accesses are no events.
        let name = |id: Id| {
            let before = |id: Id| threads[id.0 as usize][..id.1].iter().filter(|lab| !lab.plain).count();
            if id.0 < 0 { id } else { (id.0, before(id)) }
        };
        let is_plain = |id: Id| id.0 >= 0 && threads[id.0 as usize][id.1].plain;
        let reads = key.reads.iter().filter(|read| !is_plain(*read.0)).map(|(&read, &store)| (name(read), name(store)));
        let stores = key.stores.iter().filter(|stores| *stores.0 < DATA);
        let stores = stores.map(|(&loc, stores)| (loc, stores.iter().map(|&store| name(store)).collect()));
        let key = Key { reads: reads.collect(), stores: stores.collect() };
        let waiting: Vec<Id> = waiting.iter().map(|&id| name(id)).collect();
        let at_last = |id: &Id| key.stores.values().any(|stores| stores.last() == Some(&key.reads[id]));
        if waiting.is_empty() {
            self.complete.insert(key);
        } else if waiting.iter().all(at_last) {
            self.stuck.insert(key);
        }
    }
}

type Path = (Vec<Lab>, Vec<u64>, Stand);

fn paths(code: &[Ins], domain: &BTreeMap<usize, BTreeSet<u64>>) -> Vec<Path> {
    let (mut out, mut stack) = (Vec::new(), vec![Vec::new()]);
    while let Some(values) = stack.pop() {
        let (labels, stand) = labels(code, &values);
        if stand == Stand::Pending {
            for &value in &domain[&labels.last().unwrap().loc] {
                stack.push(values.iter().copied().chain([value]).collect());
            }
        } else {
            out.push((labels, values, stand));
        }
    }
    out
}

/// The values that a location may hold.
fn domain(program: &WeakProgram) -> BTreeMap<usize, BTreeSet<u64>> {
    let mut domain: BTreeMap<usize, BTreeSet<u64>> =
        locations(program).into_iter().map(|loc| (loc, BTreeSet::from([0]))).collect();
    let sums = |ins: &Ins| {
        let reg = |val: Val| matches!(val, Val::Reg(_, more) if more > 0);
        u64::from(match *ins {
            Ins::Add(..) | Ins::Post(_) => true,
            Ins::Write(_, val, _) | Ins::Swap(_, _, val, _) | Ins::Store(_, val) => reg(val),
            Ins::Cas(_, _, expected, new, ..) => reg(expected) || reg(new),
            _ => false,
        })
    };
    let greatest = |ins: &Ins| {
        let constant = |val: Val| if let Val::Const(value) = val { value } else { 0 };
        match *ins {
            Ins::Write(_, val, _) | Ins::Swap(_, _, val, _) | Ins::Store(_, val) => constant(val),
            Ins::Await(_, _, wanted, _) | Ins::AwaitUpdate(_, _, wanted, _) => wanted,
            Ins::Cas(_, _, expected, new, ..) => constant(expected).max(constant(new)),
            _ => 1,
        }
    };
    // No value that is read exceeds the greatest constant and one for each addition.
    let all = || program.iter().flatten();
    let bound = all().map(greatest).max().unwrap_or(0) + all().map(sums).sum::<u64>();
    for _ in 0..6 {
        let mut next = domain.clone();
        for code in program {
            for (labels, ..) in paths(code, &domain) {
                for lab in labels.iter().filter(|lab| lab.kind == LabKind::Write && lab.val <= bound) {
                    next.get_mut(&lab.loc).unwrap().insert(lab.val);
                }
            }
        }
        if next == domain {
            break;
        }
        domain = next;
    }
    domain
}

type Matrix = Vec<Vec<bool>>;

fn matrix(size: usize, is_in: impl Fn(usize, usize) -> bool) -> Matrix {
    (0..size).map(|a| (0..size).map(|b| is_in(a, b)).collect()).collect()
}

fn compose(one: &Matrix, other: &Matrix) -> Matrix {
    matrix(one.len(), |a, c| (0..one.len()).any(|b| one[a][b] && other[b][c]))
}

fn union(all: &[&Matrix]) -> Matrix {
    matrix(all[0].len(), |a, b| all.iter().any(|one| one[a][b]))
}

fn transitive(one: &Matrix) -> Matrix {
    let mut all = one.clone();
    for k in 0..all.len() {
        for i in 0..all.len() {
            for j in 0..all.len() {
                all[i][j] |= all[i][k] && all[k][j];
            }
        }
    }
    all
}

fn acyclic(one: &Matrix) -> bool {
    let all = transitive(one);
    (0..all.len()).all(|a| !all[a][a])
}

struct Events {
    ids: Vec<Id>,
    labs: Vec<Lab>,
}

impl Events {
    /// Those of threads, and the initial values.
    fn of(locs: &[usize], threads: &[Vec<Lab>]) -> Self {
        let (kind, order) = (LabKind::Write, MemOrder::Relaxed);
        let initial = |loc| Lab { kind, loc, val: 0, order, exclusive: false, plain: false, at: 0 };
        let mut ids: Vec<Id> = locs.iter().map(|&loc| (-1, loc)).collect();
        let mut labs: Vec<Lab> = locs.iter().map(|&loc| initial(loc)).collect();
        for (thread, labels) in threads.iter().enumerate() {
            ids.extend((0..labels.len()).map(|number| (thread as i32, number)));
            labs.extend(labels);
        }
        Events { ids, labs }
    }

    fn number(&self, id: Id) -> usize {
        self.ids.iter().position(|&other| other == id).unwrap()
    }

    fn loc(&self, a: usize) -> Option<usize> {
        (self.labs[a].kind != LabKind::Fence).then_some(self.labs[a].loc)
    }

    fn is(&self, a: usize, kind: LabKind) -> bool {
        self.labs[a].kind == kind
    }

    fn order(&self, a: usize) -> MemOrder {
        self.labs[a].order
    }

    fn po(&self, a: usize, b: usize) -> bool {
        (self.ids[a].0 < 0 && self.ids[b].0 >= 0) || (self.ids[a].0 == self.ids[b].0 && self.ids[a].1 < self.ids[b].1)
    }

    fn rmw(&self, a: usize, b: usize) -> bool {
        let (one, other) = (self.ids[a], self.ids[b]);
        one.0 >= 0 && one.0 == other.0 && one.1 + 1 == other.1 && self.is(b, LabKind::Write) && self.labs[b].exclusive
    }

    fn rc11(&self, rf: &Matrix, mo: &Matrix) -> bool {
        let n = self.ids.len();
        let po = matrix(n, |a, b| self.po(a, b));
        let same = matrix(n, |a, b| self.loc(a).is_some() && self.loc(a) == self.loc(b));
        let identity = matrix(n, |a, b| a == b);
        if !acyclic(&union(&[&po, rf])) {
            return false;
        }
        let rb = matrix(n, |r, w| (0..n).any(|w1| rf[w1][r] && mo[w1][w]));
        let eco = transitive(&union(&[rf, mo, &rb]));
        let rmw = matrix(n, |a, b| self.rmw(a, b));
        let between = compose(&rb, mo);
        if (0..n).any(|a| eco[a][a] || (0..n).any(|b| rmw[a][b] && between[a][b])) {
            return false;
        }
        let hb = self.happens_before(rf);
        let coherence = compose(&hb, &eco);
        if (0..n).any(|a| hb[a][a] || coherence[a][a]) {
            return false;
        }
        let fence = |a: usize| self.is(a, LabKind::Fence);
        let sc = |a: usize| self.ids[a].0 >= 0 && self.order(a) == MemOrder::SeqCst;
        let hbq = union(&[&hb, &identity]);
        let away = matrix(n, |a, b| po[a][b] && !same[a][b]);
        let near = matrix(n, |a, b| hb[a][b] && same[a][b]);
        let scb = union(&[&po, &compose(&compose(&away, &hb), &away), &near, mo, &rb]);
        let left = matrix(n, |a, b| (a == b && sc(a)) || (sc(a) && fence(a) && hbq[a][b]));
        let right = matrix(n, |a, b| (a == b && sc(a)) || (sc(b) && fence(b) && hbq[a][b]));
        let through = compose(&compose(&hb, &eco), &hb);
        let fences = matrix(n, |a, b| sc(a) && fence(a) && sc(b) && fence(b) && (hb[a][b] || through[a][b]));
        acyclic(&union(&[&compose(&compose(&left, &scb), &right), &fences]))
    }

    /// WeakProgram order and synchronises-with.
    fn happens_before(&self, rf: &Matrix) -> Matrix {
        let n = self.ids.len();
        let po = matrix(n, |a, b| self.po(a, b));
        let same = matrix(n, |a, b| self.loc(a).is_some() && self.loc(a) == self.loc(b));
        let rmw = matrix(n, |a, b| self.rmw(a, b));
        let write = |a: usize| self.is(a, LabKind::Write) && !self.labs[a].plain;
        let base = matrix(n, |a, b| write(a) && write(b) && (a == b || (po[a][b] && same[a][b])));
        let chain = transitive(&compose(rf, &rmw));
        let chain = matrix(n, |a, b| (a == b && write(a)) || chain[a][b]);
        let sequences = compose(&base, &chain);
        let fence = |a: usize| self.is(a, LabKind::Fence);
        // Fences strengthen atomic operations, and not those on locks and semaphores.
        let is_object = |a: usize| self.loc(a).is_some_and(|loc| (MUTEXES..DATA).contains(&loc));
        let from = matrix(n, |a, b| {
            self.ids[a].0 >= 0 && self.order(a).releases() && (a == b || (fence(a) && po[a][b] && !is_object(b)))
        });
        let to = matrix(n, |a, b| {
            let is_fenced = |b: usize| fence(b) && po[a][b] && self.is(a, LabKind::Read) && !is_object(a);
            self.ids[b].0 >= 0 && self.order(b).acquires() && (a == b || is_fenced(b))
        });
        let sw = compose(&compose(&compose(&from, &sequences), rf), &to);
        transitive(&union(&[&po, &sw]))
    }

    /// Whether two accesses conflict that happens-before does not order.
    fn is_racy(&self, rf: &Matrix) -> bool {
        let hb = self.happens_before(rf);
        let n = self.ids.len();
        let conflict = |a: usize, b: usize| {
            self.loc(a).is_some()
                && self.loc(a) == self.loc(b)
                && self.labs[a].plain
                && (self.is(a, LabKind::Write) || self.is(b, LabKind::Write))
        };
        (0..n).any(|a| (0..n).any(|b| a != b && conflict(a, b) && !hb[a][b] && !hb[b][a]))
    }
}

/// Orders of writes that respect the order of each thread.
fn shuffles(writes: &[Id]) -> Vec<Vec<Id>> {
    if writes.is_empty() {
        return vec![Vec::new()];
    }
    let threads: BTreeSet<i32> = writes.iter().map(|id| id.0).collect();
    let mut out = Vec::new();
    for thread in threads {
        let first = *writes.iter().filter(|id| id.0 == thread).min().unwrap();
        let rest: Vec<Id> = writes.iter().copied().filter(|&id| id != first).collect();
        out.extend(shuffles(&rest).into_iter().map(|rest| std::iter::once(first).chain(rest).collect()));
    }
    out
}

/// All elements of a product.
fn product<T: Clone>(all: &[Vec<T>]) -> Vec<Vec<T>> {
    all.iter().fold(vec![Vec::new()], |done, next| {
        done.iter()
            .flat_map(|prefix| next.iter().map(|one| [&prefix[..], std::slice::from_ref(one)].concat()))
            .collect()
    })
}

/// The RC11 graphs; `None` if there are more candidates than `cap`.
pub fn rc11(program: &WeakProgram, cap: usize) -> Option<Graphs> {
    let domain = domain(program);
    let paths: Vec<Vec<Path>> = program.iter().map(|code| paths(code, &domain)).collect();
    if paths.iter().map(Vec::len).product::<usize>() > 2 * cap {
        return None;
    }
    let mut graphs = Graphs::default();
    let mut tried = 0;
    for combination in product(&paths) {
        combined(program, &combination, &mut graphs, &mut tried, cap)?;
    }
    Some(graphs)
}

fn combined(
    program: &WeakProgram,
    combination: &[Path],
    graphs: &mut Graphs,
    tried: &mut usize,
    cap: usize,
) -> Option<()> {
    let locs = locations(program);
    let threads: Vec<Vec<Lab>> = combination.iter().map(|(labels, ..)| labels.clone()).collect();
    let is_waiting = |thread: &usize| combination[*thread].2 == Stand::Blocked;
    let waiting = (0..threads.len()).filter(is_waiting);
    let waiting: Vec<Id> = waiting.map(|thread| (thread as i32, threads[thread].len() - 1)).collect();
    let events = Events::of(&locs, &threads);
    let n = events.ids.len();
    let reads: Vec<usize> = (0..n).filter(|&a| events.is(a, LabKind::Read)).collect();
    let candidates: Vec<Vec<usize>> = reads
        .iter()
        .map(|&r| {
            let fits = |&w: &usize| {
                events.is(w, LabKind::Write)
                    && events.loc(w) == events.loc(r)
                    && events.labs[w].val == events.labs[r].val
                    && !events.po(r, w)
            };
            (0..n).filter(fits).collect()
        })
        .collect();
    if candidates.iter().any(Vec::is_empty) {
        return Some(());
    }
    let orders: Vec<Vec<Vec<Id>>> = locs
        .iter()
        .map(|&loc| {
            let is_store =
                |&a: &usize| events.ids[a].0 >= 0 && events.is(a, LabKind::Write) && events.loc(a) == Some(loc);
            shuffles(&(0..n).filter(is_store).map(|a| events.ids[a]).collect::<Vec<Id>>())
        })
        .collect();
    let sources = candidates.iter().map(Vec::len).product::<usize>();
    *tried += sources.saturating_mul(orders.iter().map(Vec::len).product());
    if *tried > cap {
        return None;
    }
    let orders = product(&orders);
    for choice in product(&candidates) {
        let rf = {
            let mut rf = matrix(n, |_, _| false);
            reads.iter().zip(&choice).for_each(|(&r, &w)| rf[w][r] = true);
            rf
        };
        for order in &orders {
            let mut mo = matrix(n, |_, _| false);
            let mut stores = BTreeMap::new();
            for (&loc, order) in locs.iter().zip(order) {
                let all: Vec<Id> = std::iter::once((-1, loc)).chain(order.iter().copied()).collect();
                for (at, &one) in all.iter().enumerate() {
                    all[at + 1..].iter().for_each(|&later| mo[events.number(one)][events.number(later)] = true);
                }
                stores.insert(loc, all);
            }
            if events.rc11(&rf, &mo) {
                graphs.is_racy = graphs.is_racy || events.is_racy(&rf);
                let reads = reads.iter().zip(&choice).map(|(&r, &w)| (events.ids[r], events.ids[w])).collect();
                graphs.add(Key { reads, stores }, &threads, &waiting);
            }
        }
    }
    Some(())
}

impl Graphs {
    /// Adds the graph of a machine that has come to rest.
    fn ended(&mut self, program: &WeakProgram, state: &State, key: Key, waiting: &[Id]) {
        let values = |thread: usize| &state.threads[thread].1;
        let threads: Vec<Vec<Lab>> =
            program.iter().enumerate().map(|(thread, code)| labels(code, values(thread)).0).collect();
        let events = Events::of(&locations(program), &threads);
        let mut rf = matrix(events.ids.len(), |_, _| false);
        key.reads.iter().for_each(|(&read, &store)| rf[events.number(store)][events.number(read)] = true);
        self.is_racy = self.is_racy || events.is_racy(&rf);
        self.add(key, &threads, waiting);
    }
}

/// A state of a machine.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct State {
    /// Events made and values read, by thread.
    threads: Vec<(usize, Vec<u64>)>,
    /// Stores that are not in memory yet: event, location, value.
    buffers: Vec<Vec<(Id, usize, u64)>>,
    /// Events and values of the stores.
    memory: BTreeMap<usize, Vec<(Id, u64)>>,
    reads: BTreeMap<Id, Id>,
}

/// The graphs of a machine, with store buffers or without; `None` if there are more states than
/// `cap`.
pub fn machine(program: &WeakProgram, has_buffers: bool, cap: usize) -> Option<Graphs> {
    let first = State {
        threads: vec![(0, Vec::new()); program.len()],
        buffers: vec![Vec::new(); program.len()],
        memory: locations(program).into_iter().map(|loc| (loc, vec![((-1, loc), 0)])).collect(),
        reads: BTreeMap::new(),
    };
    let (mut seen, mut stack) = (BTreeSet::from([first.clone()]), vec![first]);
    let mut graphs = Graphs::default();
    while let Some(state) = stack.pop() {
        if seen.len() > cap {
            return None;
        }
        let mut next = Vec::new();
        let mut waiting = Vec::new();
        for thread in 0..program.len() {
            steps(program, thread, &state, has_buffers, &mut next, &mut waiting);
        }
        if next.is_empty() {
            let stores = state.memory.iter().map(|(&loc, stores)| (loc, stores.iter().map(|one| one.0).collect()));
            let key = Key { reads: state.reads.clone(), stores: stores.collect() };
            graphs.ended(program, &state, key, &waiting);
        }
        stack.extend(next.into_iter().filter(|state| seen.insert(state.clone())));
    }
    Some(graphs)
}

fn steps(
    program: &WeakProgram,
    thread: usize,
    state: &State,
    has_buffers: bool,
    next: &mut Vec<State>,
    waiting: &mut Vec<Id>,
) {
    let drained = state.buffers[thread].is_empty();
    if !drained {
        let mut after = state.clone();
        let (id, loc, value) = after.buffers[thread].remove(0);
        after.memory.get_mut(&loc).unwrap().push((id, value));
        next.push(after);
    }
    let (made, values) = &state.threads[thread];
    let (all, stand) = labels(&program[thread], values);
    let Some(lab) = all.get(*made) else {
        if stand == Stand::Blocked {
            waiting.push((thread as i32, all.len() - 1));
        }
        return;
    };
    let id = (thread as i32, *made);
    let mut after = state.clone();
    after.threads[thread].0 += 1;
    match lab.kind {
        LabKind::Fence => {
            if lab.order == MemOrder::SeqCst && !drained {
                return;
            }
        }
        LabKind::Write => {
            if has_buffers && lab.order != MemOrder::SeqCst {
                after.buffers[thread].push((id, lab.loc, lab.val));
            } else if drained {
                after.memory.get_mut(&lab.loc).unwrap().push((id, lab.val));
            } else {
                return;
            }
        }
        LabKind::Read => {
            if lab.exclusive && !drained {
                return;
            }
            let own = state.buffers[thread].iter().rev().find(|one| one.1 == lab.loc);
            let (source, value) = own.map_or_else(|| *state.memory[&lab.loc].last().unwrap(), |one| (one.0, one.2));
            after.threads[thread].1.push(value);
            after.reads.insert(id, source);
            let (all, _) = labels(&program[thread], &after.threads[thread].1);
            if let Some(write) = all.get(*made + 1).filter(|write| write.exclusive && write.kind == LabKind::Write)
                && write.at == lab.at
            {
                after.memory.get_mut(&lab.loc).unwrap().push(((thread as i32, *made + 1), write.val));
                after.threads[thread].0 += 1;
            }
        }
    }
    next.push(after);
}
