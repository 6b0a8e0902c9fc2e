//! Addresses of a program's objects.
//!
//! Integers lie as in C: arrays of 4-byte elements, each array at the start of an 8-byte cell.
//! Shared pointers come behind them.

use super::program::AbstractProgram;

const VARS: u64 = 0x1_0000;
const MUTEXES: u64 = 0x10_0000;
const RWLOCKS: u64 = 0x20_0000;
const CONDS: u64 = 0x30_0000;
const SEMS: u64 = 0x40_0000;
const BARRIERS: u64 = 0x50_0000;
const ONCES: u64 = 0x60_0000;
/// Distance between objects that are not integers.
const STRIDE: u64 = 64;

/// Where everything lies.
#[derive(Clone, Debug)]
pub struct Layout {
    /// First cell and length of each array of integers.
    vars: Vec<(usize, usize)>,
    /// First cell of the shared pointers, which have two each.
    links: usize,
    cells: usize,
    /// First number and length of each array of mutexes.
    mutexes: Vec<(usize, usize)>,
}

impl Layout {
    /// The layout of a program.
    #[must_use]
    pub fn of(program: &AbstractProgram) -> Self {
        let mut cells = 0;
        let mut vars = Vec::new();
        for var in &program.vars {
            vars.push((cells, var.len.max(1)));
            cells += var.len.max(1).next_multiple_of(2);
        }
        let links = cells;
        cells += 2 * program.links;
        let mut first = 0;
        let mut mutexes = Vec::new();
        for mutex in &program.mutexes {
            mutexes.push((first, mutex.len.max(1)));
            first += mutex.len.max(1);
        }
        Layout { vars, links, cells, mutexes }
    }

    /// How many integers there are, gaps included.
    #[must_use]
    pub fn cells(&self) -> usize {
        self.cells
    }

    /// Position of an element among all integers.
    #[must_use]
    pub fn cell(&self, var: usize, index: i32) -> usize {
        let (first, len) = self.vars[var];
        first + index.rem_euclid(len as i32) as usize
    }

    /// Position of the first half of a shared pointer, which holds the whole of it.
    #[must_use]
    pub fn link(&self, id: usize) -> usize {
        self.links + 2 * id
    }

    /// Address of an integer by its position.
    #[must_use]
    pub fn address(&self, cell: usize) -> u64 {
        VARS + 4 * cell as u64
    }

    /// Which variable an address belongs to, and which element.
    #[must_use]
    pub fn variable(&self, address: u64) -> Option<(usize, usize)> {
        let cell = (address.checked_sub(VARS)? / 4) as usize;
        let var = self.vars.iter().position(|&(first, len)| (first..first + len).contains(&cell))?;
        Some((var, cell - self.vars[var].0))
    }

    /// Address of a mutex.
    #[must_use]
    pub fn mutex(&self, id: usize, index: i32) -> u64 {
        let (first, len) = self.mutexes[id];
        MUTEXES + STRIDE * (first as u64 + index.rem_euclid(len as i32) as u64)
    }

    /// Address of an rwlock.
    #[must_use]
    pub fn rwlock(&self, id: usize) -> u64 {
        RWLOCKS + STRIDE * id as u64
    }

    /// Address of a condition variable.
    #[must_use]
    pub fn cond(&self, id: usize) -> u64 {
        CONDS + STRIDE * id as u64
    }

    /// Address of a semaphore.
    #[must_use]
    pub fn sem(&self, id: usize) -> u64 {
        SEMS + STRIDE * id as u64
    }

    /// Address of a barrier.
    #[must_use]
    pub fn barrier(&self, id: usize) -> u64 {
        BARRIERS + STRIDE * id as u64
    }

    /// Address of a once control.
    #[must_use]
    pub fn once(&self, id: usize) -> u64 {
        ONCES + STRIDE * id as u64
    }
}
