//! Nodes of the C++ library's lists and trees (`std::list`, `std::map`, `std::set`). The code that
//! searches them is compiled into the program, but libstdc++ links nodes, rebalances trees and
//! moves iterators over them in code without hooks. So these functions report what they access.
//! Strings need none of this: `raddle c++` compiles them into the program.
//!
//! Which words rebalancing changes is found by doing it once and taking it back. What it reads is
//! not reported: only another change of the same container could race with that, and the two also
//! race for the number of elements. In a tree of more than some ten thousand elements, the changes
//! nearest to the root may be left out.

use crate::interpose::before::before;
use crate::interpose::buffers::{reads, writes};
use crate::state::{controlled, run};
use crate::syscall::callers;
use crate::syscall::libc_real::real;

const WORD: usize = size_of::<usize>();

/// Where a node of a list keeps its neighbours.
mod list {
    pub const NEXT: usize = 0;
    pub const PREVIOUS: usize = 8;
    pub const BYTES: usize = 16;
}

/// Where a node of a tree keeps its colour and its neighbours. The header's parent is the root, and
/// its children are the first and the last node.
mod tree {
    pub const COLOUR: usize = 0;
    pub const COLOUR_BYTES: usize = 4;
    pub const PARENT: usize = 8;
    pub const LEFT: usize = 16;
    pub const RIGHT: usize = 24;
    pub const WORDS: usize = 4;
}

real! { hidden:
    fn _ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_(
        left: usize,
        node: usize,
        parent: usize,
        header: usize,
    );
    fn _ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_(node: usize, header: usize) -> usize;
}

/// A word of a node.
fn word(at: usize) -> usize {
    // SAFETY: callers pass places in nodes that the program has given to the C++ library.
    unsafe { *(at as *const usize) }
}

/// Whether a call from there is one of several threads' that use containers.
fn counts(pc: u64) -> bool {
    controlled() && run().threads > 1 && callers::is_program(pc)
}

/// The call reads a word and returns it.
fn follow(at: usize, pc: u64) -> usize {
    reads(at, WORD, pc);
    word(at)
}

/// A node of a list is put before another.
fn hooks(node: usize, before: usize, pc: u64) {
    if counts(pc) {
        writes(node, list::BYTES, pc);
        let previous = follow(before + list::PREVIOUS, pc);
        writes(previous + list::NEXT, WORD, pc);
        writes(before + list::PREVIOUS, WORD, pc);
    }
}

fn unhooks(node: usize, pc: u64) {
    if counts(pc) {
        let (next, previous) = (follow(node + list::NEXT, pc), follow(node + list::PREVIOUS, pc));
        writes(previous + list::NEXT, WORD, pc);
        writes(next + list::PREVIOUS, WORD, pc);
    }
}

/// The nodes from `first` up to `last` are put before another.
fn transfers(before: usize, first: usize, last: usize, pc: u64) {
    if !counts(pc) || before == last {
        return;
    }
    for node in [last, first, before] {
        let previous = follow(node + list::PREVIOUS, pc);
        writes(previous + list::NEXT, WORD, pc);
        writes(node + list::PREVIOUS, WORD, pc);
    }
}

/// All nodes of the list are reversed.
fn reverses(list: usize, pc: u64) {
    if !counts(pc) {
        return;
    }
    let mut node = list;
    loop {
        let next = follow(node + list::NEXT, pc);
        writes(node, list::BYTES, pc);
        node = next;
        if node == list {
            return;
        }
    }
}

fn swaps(one: usize, other: usize, pc: u64) {
    if !counts(pc) {
        return;
    }
    for list in [one, other] {
        let (next, previous) = (follow(list + list::NEXT, pc), follow(list + list::PREVIOUS, pc));
        if next != list {
            writes(next + list::PREVIOUS, WORD, pc);
            writes(previous + list::NEXT, WORD, pc);
        }
        writes(list, list::BYTES, pc);
    }
}

/// An iterator moves to the next node of a tree: `down` is the side of the present node where it
/// looks first, `on` the other.
fn moves(start: usize, down: usize, on: usize, pc: u64) {
    let mut node = start;
    let below = follow(node + down, pc);
    if below != 0 {
        node = below;
        while let next @ 1.. = follow(node + on, pc) {
            node = next;
        }
        return;
    }
    let mut above = follow(node + tree::PARENT, pc);
    while follow(above + down, pc) == node {
        // The header's parent is the root, whose parent is the header.
        if word(above + tree::PARENT) == node {
            return;
        }
        node = above;
        above = follow(above + tree::PARENT, pc);
    }
}

fn increments(node: usize, pc: u64) {
    if counts(pc) {
        moves(node, tree::RIGHT, tree::LEFT, pc);
    }
}

fn decrements(node: usize, pc: u64) {
    if !counts(pc) {
        return;
    }
    // The node before the header is the last one.
    reads(node + tree::COLOUR, tree::COLOUR_BYTES, pc);
    let parent = follow(node + tree::PARENT, pc);
    if parent != 0 && word(parent + tree::PARENT) == node && is_red(node) {
        reads(node + tree::RIGHT, WORD, pc);
    } else {
        moves(node, tree::LEFT, tree::RIGHT, pc);
    }
}

/// Whether the node is red, as the header is and the root is not.
fn is_red(node: usize) -> bool {
    // SAFETY: as in [`word`].
    unsafe { *((node + tree::COLOUR) as *const u32) == 0 }
}

/// Nodes of a tree and what they hold.
struct Nodes {
    count: usize,
    all: [(usize, [usize; tree::WORDS]); Nodes::MAX],
}

impl Nodes {
    /// So many that they fit into a small stack.
    const MAX: usize = 64;

    fn words(node: usize) -> [usize; tree::WORDS] {
        core::array::from_fn(|index| word(node + index * WORD))
    }

    fn known(&self) -> &[(usize, [usize; tree::WORDS])] {
        &self.all[..self.count]
    }

    fn add(&mut self, node: usize) {
        if node != 0 && self.count < Nodes::MAX && !self.known().iter().any(|known| known.0 == node) {
            self.all[self.count] = (node, Nodes::words(node));
            self.count += 1;
        }
    }

    /// These nodes, and those that a change below `from` may touch: the nodes above it, their
    /// children, and the children of these.
    fn around(from: usize, header: usize, others: [usize; 2]) -> Self {
        let mut nodes = Nodes { count: 0, all: [(0, [0; tree::WORDS]); Nodes::MAX] };
        nodes.add(header);
        others.into_iter().for_each(|node| nodes.add(node));
        let mut node = from;
        while node != header && nodes.count < Nodes::MAX {
            nodes.add(node);
            for child in [word(node + tree::LEFT), word(node + tree::RIGHT)] {
                nodes.add(child);
                if child != 0 {
                    nodes.add(word(child + tree::LEFT));
                    nodes.add(word(child + tree::RIGHT));
                }
            }
            node = word(node + tree::PARENT);
        }
        nodes
    }

    /// Makes the change, takes it back, and reports which words it writes.
    fn report(mut self, change: impl FnOnce(), pc: u64) {
        change();
        for (node, words) in &mut self.all[..self.count] {
            let changed = Nodes::words(*node);
            for (index, old) in words.iter_mut().enumerate() {
                let new = changed[index];
                if new != *old {
                    // SAFETY: a word of a node, which had this content.
                    unsafe { *((*node + index * WORD) as *mut usize) = *old };
                }
                *old = usize::from(new != *old);
            }
        }
        for (node, is_written) in self.known() {
            for (index, _) in is_written.iter().enumerate().filter(|(_, written)| **written != 0) {
                let bytes = if index * WORD == tree::COLOUR { tree::COLOUR_BYTES } else { WORD };
                writes(node + index * WORD, bytes, pc);
            }
        }
    }
}

fn inserts(left: usize, node: usize, parent: usize, header: usize, pc: u64) {
    if counts(pc) {
        let change = || {
            // SAFETY: as the program calls it.
            unsafe {
                hidden::_ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_(left, node, parent, header);
            }
        };
        Nodes::around(parent, header, [node, parent]).report(change, pc);
    }
}

fn erases(node: usize, header: usize, pc: u64) {
    if counts(pc) {
        // A node with two children is replaced by the next one.
        let mut lowest = node;
        if word(node + tree::LEFT) != 0 && word(node + tree::RIGHT) != 0 {
            lowest = word(node + tree::RIGHT);
            while word(lowest + tree::LEFT) != 0 {
                lowest = word(lowest + tree::LEFT);
            }
        }
        let change = || {
            // SAFETY: as the program calls it.
            unsafe { hidden::_ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_(node, header) };
        };
        Nodes::around(lowest, header, [node, lowest]).report(change, pc);
    }
}

before! {
    _ZNSt8__detail15_List_node_base7_M_hookEPS0_ => |a, pc| hooks(a[0], a[1], pc);
    _ZNSt8__detail15_List_node_base9_M_unhookEv => |a, pc| unhooks(a[0], pc);
    _ZNSt8__detail15_List_node_base11_M_transferEPS0_S1_ => |a, pc| transfers(a[0], a[1], a[2], pc);
    _ZNSt8__detail15_List_node_base10_M_reverseEv => |a, pc| reverses(a[0], pc);
    _ZNSt8__detail15_List_node_base4swapERS0_S1_ => |a, pc| swaps(a[0], a[1], pc);
    _ZSt18_Rb_tree_incrementPSt18_Rb_tree_node_base
    _ZSt18_Rb_tree_incrementPKSt18_Rb_tree_node_base => |a, pc| increments(a[0], pc);
    _ZSt18_Rb_tree_decrementPSt18_Rb_tree_node_base
    _ZSt18_Rb_tree_decrementPKSt18_Rb_tree_node_base => |a, pc| decrements(a[0], pc);
    _ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_ => |a, pc| {
        inserts(a[0], a[1], a[2], a[3], pc);
    };
    _ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_ => |a, pc| erases(a[0], a[1], pc);
    _ZSt11_Hash_bytesPKvmm => |a, pc| reads(a[0], a[1], pc);
}
