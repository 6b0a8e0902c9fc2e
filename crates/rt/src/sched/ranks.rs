//! The order of threads. Threads are ordered by their spawn paths; the position of a thread in that
//! order is its rank. Ranks do not depend on the order in which independent events happened.

use raddle_vocab::handler;
use raddle_vocab::policy::{MAX_THREADS, mix};

use crate::arch::context;
use crate::spinloop::knowledge;
use crate::state::{ReadySet, ThreadStatus, process, run};

/// Adds a child of the running thread, not yet started, and gives it its rank. The caller has made
/// sure that there is a pool entry for it.
pub fn add_thread(slot: usize, entry: (usize, usize)) -> usize {
    let run = run();
    let parent = run.hot.tid as usize;
    run.fibers[parent].children += 1;
    let nth = run.fibers[parent].children;
    let rank = if run.couriers == 0 { rank_of_new_child(parent) } else { rank_of(parent, nth) };
    add(slot, entry, nth, rank)
}

/// Adds a courier, a child of the running thread whose spawn path comes behind those of the others.
pub fn add_courier(slot: usize, entry: (usize, usize)) -> usize {
    let run = run();
    let parent = run.hot.tid as usize;
    run.couriers += 1;
    run.fibers[parent].private.couriers += 1;
    let component = handler::component(run.fibers[parent].private.couriers);
    let rank = rank_of(parent, component);
    add(slot, entry, component, rank)
}

/// Adds a scripted party, a child of main whose rank is behind all others.
pub fn add_party(slot: usize, entry: (usize, usize), component: u32) -> usize {
    let rank = run().threads;
    run().parties += 1;
    add(slot, entry, component, rank)
}

/// Adds a child whose spawn path ends with `nth`.
fn add(slot: usize, entry: (usize, usize), nth: u32, rank: usize) -> usize {
    let run = run();
    let tid = run.threads;
    let parent = run.hot.tid as usize;
    let key = mix(run.fibers[parent].key ^ mix(u64::from(nth)));
    let (clock, blocked) = (run.fibers[parent].clock, run.fibers[parent].blocked);
    let readings = run.fibers[parent].private.readings_before;
    let settings = run.fibers[parent].private.settings.inherited();
    let pool = process().pool[slot];
    // The entry was not used in this run: all other fields are as in `Fiber::UNUSED`.
    let fiber = &mut run.fibers[tid];
    fiber.slot = slot as u16;
    fiber.parent = parent as u16;
    fiber.key = key;
    fiber.history = knowledge::first_history(key, entry);
    fiber.clock = clock;
    fiber.private.readings_before = readings;
    fiber.entry = entry;
    fiber.blocked = blocked;
    fiber.thread_pointer = pool.thread_pointer;
    fiber.stack = pool.stack;
    fiber.status = ThreadStatus::Pending;
    fiber.spurious_left = process().spurious;
    fiber.private.component = nth;
    fiber.private.settings = settings;
    // SAFETY: the slot is not in use by another fiber, so its stack below the parked thread's frame
    // is free.
    fiber.sp = unsafe { context::prepare(pool.stack.1, crate::sched::startup::fiber_body) };
    crate::interpose::thread::affinity::inherit(parent, tid);
    crate::interpose::thread::schedule::inherit(parent, tid);
    run.threads += 1;
    insert_rank(tid, rank);
    run.move_to(rank, ReadySet::Runnable);
    tid
}

/// The rank of a new child is right behind all descendants of its parent, because the last
/// component of its spawn path is the largest but for those of parties. All threads descend from
/// main.
fn rank_of_new_child(parent: usize) -> usize {
    let run = run();
    if parent == 0 {
        return run.threads - run.parties;
    }
    let mut rank = run.fibers[parent].rank as usize + 1;
    while rank < run.threads && descends(run.by_rank[rank] as usize, parent) {
        rank += 1;
    }
    rank
}

/// The rank of a new child whose spawn path ends with this component: behind the children with
/// lesser ones, and their descendants.
fn rank_of(parent: usize, component: u32) -> usize {
    let run = run();
    let is_before = |rank: usize| {
        let mut tid = run.by_rank[rank] as usize;
        while tid != 0 {
            let above = run.fibers[tid].parent as usize;
            if above == parent {
                return run.fibers[tid].private.component < component;
            }
            tid = above;
        }
        false
    };
    let first = run.fibers[parent].rank as usize + 1;
    (first..run.threads).find(|&rank| !is_before(rank)).unwrap_or(run.threads)
}

fn descends(mut tid: usize, ancestor: usize) -> bool {
    while tid != 0 {
        tid = run().fibers[tid].parent as usize;
        if tid == ancestor {
            return true;
        }
    }
    false
}

/// Moves later ranks up by one and with them the membership of the sets.
fn insert_rank(tid: usize, rank: usize) {
    let run = run();
    let mut at = run.threads - 1;
    while at > rank {
        let moved = run.by_rank[at - 1];
        run.by_rank[at] = moved;
        run.fibers[moved as usize].rank = at as u16;
        move_membership(at - 1, at);
        at -= 1;
    }
    debug_assert!(rank < MAX_THREADS);
    run.by_rank[rank] = tid as u16;
    run.fibers[tid].rank = rank as u16;
}

fn move_membership(from: usize, to: usize) {
    let run = run();
    for set in [&mut run.runnable, &mut run.reluctant, &mut run.blocked] {
        if set.contains(from) {
            set.insert(to);
        } else {
            set.remove(to);
        }
        set.remove(from);
    }
}
