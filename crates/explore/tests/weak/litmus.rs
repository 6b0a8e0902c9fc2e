//! Litmus tests.

use raddle_vocab::MemOrder::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};

use raddle_testkit::weak::{Ins, Val, WeakProgram};

const X: usize = 0;
const Y: usize = 1;
const Z: usize = 2;

fn w(loc: usize, value: u64, order: MemOrder) -> Ins {
    Ins::Write(loc, Val::Const(value), order)
}

fn w_reg(loc: usize, register: usize, more: u64, order: MemOrder) -> Ins {
    Ins::Write(loc, Val::Reg(register, more), order)
}

fn r(register: usize, loc: usize, order: MemOrder) -> Ins {
    Ins::Read(register, loc, order)
}

fn fadd(register: usize, loc: usize, order: MemOrder) -> Ins {
    Ins::Add(register, loc, 1, order)
}

fn cas(register: usize, loc: usize, expected: u64, new: u64, order: MemOrder) -> Ins {
    Ins::Cas(register, loc, Val::Const(expected), Val::Const(new), order, Relaxed)
}

/// Tests of plain stores and loads, with these orders.
fn accesses(ow: MemOrder, or: MemOrder) -> Vec<(&'static str, WeakProgram)> {
    let w = |loc, value| w(loc, value, ow);
    let r = |register, loc| r(register, loc, or);
    let critical = |value: u64, register: usize| [Ins::If(0, 0, 2), w(Z, value), r(register, Z)];
    vec![
        ("SB", vec![vec![w(X, 1), r(0, Y)], vec![w(Y, 1), r(0, X)]]),
        ("MP", vec![vec![w(X, 1), w(Y, 1)], vec![r(0, Y), r(1, X)]]),
        ("LB", vec![vec![r(0, Y), w(X, 1)], vec![r(0, X), w(Y, 1)]]),
        ("LB+data", vec![vec![r(0, Y), w_reg(X, 0, 0, ow)], vec![r(0, X), w(Y, 1)]]),
        ("IRIW", vec![vec![w(X, 1)], vec![w(Y, 1)], vec![r(0, X), r(1, Y)], vec![r(0, Y), r(1, X)]]),
        ("2+2W", vec![vec![w(X, 1), w(Y, 2)], vec![w(Y, 1), w(X, 2)]]),
        ("WRC", vec![vec![w(X, 1)], vec![r(0, X), w(Y, 1)], vec![r(0, Y), r(1, X)]]),
        ("RWC", vec![vec![w(X, 1)], vec![r(0, X), r(1, Y)], vec![w(Y, 1), r(0, X)]]),
        ("CoRR", vec![vec![w(X, 1)], vec![w(X, 2)], vec![r(0, X), r(1, X)], vec![r(0, X), r(1, X)]]),
        ("CoWW", vec![vec![w(X, 1), w(X, 2)], vec![r(0, X), w(X, 3), r(1, X)]]),
        ("Z6", vec![vec![w(X, 1), w(Y, 1)], vec![w(Y, 2), w(Z, 1)], vec![r(0, Z), r(1, X)]]),
        ("R", vec![vec![w(X, 1), w(Y, 1)], vec![w(Y, 2), r(0, X)]]),
        ("S", vec![vec![w(X, 2), w(Y, 1)], vec![r(0, Y), w(X, 1)]]),
        ("ISA2", vec![vec![w(X, 1), w(Y, 1)], vec![r(0, Y), w(Z, 1)], vec![r(0, Z), r(1, X)]]),
        (
            "Dekker",
            vec![
                [&[w(X, 1), r(0, Y)], &critical(1, 1)[..]].concat(),
                [&[w(Y, 1), r(0, X)], &critical(2, 1)[..]].concat(),
            ],
        ),
        (
            "MP+branch",
            vec![
                vec![w(X, 1), w(Y, 1)],
                vec![r(0, Y), Ins::If(0, 1, 1), r(1, X), w_reg(Z, 0, 1, ow)],
                vec![r(0, Z), w(Y, 2)],
            ],
        ),
    ]
}

/// Tests of read-modify-writes of this order.
fn updates(o: MemOrder) -> Vec<(&'static str, WeakProgram)> {
    let swap = |register, loc, value| Ins::Swap(register, loc, Val::Const(value), o);
    let cas_loop = vec![r(0, X, Relaxed), Ins::Cas(1, X, Val::Reg(0, 0), Val::Reg(0, 1), o, Relaxed)];
    let retry = |first: u64, other: u64| vec![cas(0, X, 0, first, o), Ins::If(0, other, 1), cas(1, X, other, 3, o)];
    vec![
        ("fadd2", vec![vec![fadd(0, X, o)]; 2]),
        ("fadd3", vec![vec![fadd(0, X, o)]; 3]),
        ("fadd2x2", vec![vec![fadd(0, X, o), fadd(1, X, o)]; 2]),
        ("fadd+W", vec![vec![fadd(0, X, o)], vec![w(X, 5, Relaxed)], vec![fadd(0, X, o)]]),
        ("fadd+R", vec![vec![fadd(0, X, o)], vec![r(0, X, Relaxed)], vec![fadd(0, X, o)]]),
        ("cas2", vec![vec![cas(0, X, 0, 1, o)], vec![cas(0, X, 0, 2, o)]]),
        ("cas3", vec![vec![cas(0, X, 0, 1, o)], vec![cas(0, X, 0, 2, o)], vec![cas(0, X, 1, 3, o)]]),
        ("cas-loop", vec![cas_loop; 2]),
        ("cas-retry", vec![retry(1, 2), retry(2, 1)]),
        ("SB+rmw", vec![vec![fadd(0, X, o), r(1, Y, Relaxed)], vec![fadd(0, Y, o), r(1, X, Relaxed)]]),
        (
            "release-sequence",
            vec![
                vec![w(Y, 1, Relaxed), w(X, 1, Release)],
                vec![fadd(0, X, o)],
                vec![r(0, X, Acquire), Ins::If(0, 2, 1), r(1, Y, Relaxed)],
            ],
        ),
        (
            "release-sequence-po",
            vec![vec![w(Y, 1, Relaxed), w(X, 1, Release), w(X, 2, Relaxed)], vec![r(0, X, Acquire), r(1, Y, Relaxed)]],
        ),
        (
            "exchange",
            vec![vec![swap(0, X, 1), w(Y, 1, Relaxed)], vec![swap(0, X, 2), r(1, Y, Relaxed)], vec![w(X, 3, Relaxed)]],
        ),
    ]
}

/// Tests with two fences.
fn fences(one: MemOrder, other: MemOrder) -> Vec<(&'static str, WeakProgram)> {
    let w = |loc, value| w(loc, value, Relaxed);
    let r = |register, loc| r(register, loc, Relaxed);
    let (f, g) = (Ins::Fence(one), Ins::Fence(other));
    vec![
        ("MP+fences", vec![vec![w(X, 1), f, w(Y, 1)], vec![r(0, Y), g, r(1, X)]]),
        ("SB+fences", vec![vec![w(X, 1), f, r(0, Y)], vec![w(Y, 1), g, r(0, X)]]),
        ("IRIW+fences", vec![vec![w(X, 1)], vec![w(Y, 1)], vec![r(0, X), f, r(1, Y)], vec![r(0, Y), g, r(1, X)]]),
        ("2+2W+fences", vec![vec![w(X, 1), f, w(Y, 2)], vec![w(Y, 1), g, w(X, 2)]]),
        ("RWC+fences", vec![vec![w(X, 1)], vec![r(0, X), f, r(1, Y)], vec![w(Y, 1), g, r(0, X)]]),
    ]
}

/// Tests in which it matters how operations that are sequentially consistent are mixed with others.
fn mixed() -> Vec<(&'static str, WeakProgram)> {
    vec![
        (
            "Z6.U",
            vec![
                vec![w(X, 1, SeqCst), w(Y, 1, Release)],
                vec![fadd(0, Y, SeqCst), r(1, Y, Relaxed)],
                vec![w(Y, 3, SeqCst), r(0, X, SeqCst)],
            ],
        ),
        (
            "RWC+2W",
            vec![
                vec![r(0, X, Acquire), r(1, Y, SeqCst)],
                vec![w(X, 1, SeqCst), w(X, 2, SeqCst)],
                vec![w(Y, 1, SeqCst), r(0, X, SeqCst)],
            ],
        ),
    ]
}

/// Tests with locks.
fn locks() -> Vec<(&'static str, WeakProgram)> {
    let (lock, unlock) = (Ins::Lock(0), Ins::Unlock(0));
    let (lock_b, unlock_b) = (Ins::Lock(1), Ins::Unlock(1));
    vec![
        ("lock2", vec![vec![lock, fadd(0, X, Relaxed), unlock]; 2]),
        ("lock3", vec![vec![lock, unlock]; 3]),
        ("lock2x2", vec![vec![lock, unlock, lock, unlock]; 2]),
        ("lock-order", vec![vec![lock, lock_b, unlock_b, unlock], vec![lock_b, lock, unlock, unlock_b]]),
        // A read that waits must wait again when what let it go on is deleted.
        (
            "lock+R",
            vec![
                vec![lock, w(X, 1, Relaxed), unlock],
                vec![lock, r(0, X, Relaxed), unlock],
                vec![r(0, X, Relaxed), w(X, 2, Relaxed)],
            ],
        ),
    ]
}

/// Programs that break naive versions of the search.
pub fn breakers() -> Vec<(&'static str, WeakProgram)> {
    vec![
        ("no virtual node", vec![vec![fadd(0, Y, Relaxed)], vec![cas(0, Y, 0, 2, Relaxed)]]),
        (
            "the write half is not expanded by itself",
            vec![vec![w(X, 1, Relaxed)], vec![cas(0, X, 2, 2, Relaxed)], vec![Ins::Swap(0, X, Val::Const(2), Relaxed)]],
        ),
        (
            "what the write needs is not counted among the previous events",
            vec![vec![fadd(0, X, Relaxed), w(X, 1, Relaxed)], vec![fadd(0, X, Relaxed), w(X, 1, Relaxed)]],
        ),
        (
            "stores that are read are deleted",
            vec![vec![r(0, Y, Relaxed)], vec![w(Y, 1, Relaxed)], vec![fadd(0, Y, Relaxed)]],
        ),
    ]
}

/// All tests, with their names.
pub fn all() -> Vec<(String, WeakProgram)> {
    let named = |tests: Vec<(&'static str, WeakProgram)>, orders: String| {
        tests.into_iter().map(move |(name, program)| (format!("{name} {orders}"), program))
    };
    let mut all = Vec::new();
    for (ow, or) in [(Relaxed, Relaxed), (Release, Acquire), (SeqCst, SeqCst), (Release, SeqCst), (SeqCst, Acquire)] {
        all.extend(named(accesses(ow, or), format!("{ow:?} {or:?}")));
    }
    for order in [Relaxed, AcqRel, SeqCst] {
        all.extend(named(updates(order), format!("{order:?}")));
    }
    for one in [Release, Acquire, AcqRel, SeqCst] {
        for other in [Acquire, Release, SeqCst] {
            all.extend(named(fences(one, other), format!("{one:?} {other:?}")));
        }
    }
    all.extend(named(mixed(), String::new()));
    all.extend(named(locks(), String::new()));
    all.extend(named(breakers(), String::new()));
    all
}
