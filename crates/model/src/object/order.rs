//! What operations mean for happens-before, as a conversation between an operation and an analysis
//! that keeps clocks.

use raddle_vocab::MemOrder;

use super::AtomicOp;
use crate::race::Touching;

/// Sorts of things that carry order from one thread to another. Each has a name space of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub enum Carrier {
    /// A mutex, semaphore, once control, channel; writers of a read-write lock.
    Object,
    /// Readers that have left a read-write lock; threads that have left a barrier.
    Left,
    /// A round of a barrier.
    Round(u64),
    /// The value that an atomic location holds now.
    Atomic,
}

/// An analysis of happens-before. It knows the thread whose operation it is told of. What it does
/// not implement makes no difference to it; leaving out edges orders less.
pub trait OrderSink {
    /// The thread creates another one.
    fn fork(&mut self, _child: u16) {}
    /// The thread joins one that has ended.
    fn join(&mut self, _thread: u16) {}
    /// The thread sees that another one has ended.
    fn observe_end(&mut self, _thread: u16) {}
    /// The thread goes on in the place of this one, which is suspended.
    fn suspend(&mut self, _thread: u16) {}
    /// The thread lets the suspended one go on.
    fn resume(&mut self, _thread: u16) {}
    /// The thread takes over what was released through the carrier.
    fn acquire(&mut self, _addr: u64, _carrier: Carrier) {}
    /// The thread releases through an object in memory: the order is gone once its bytes are
    /// overwritten.
    fn release(&mut self, _addr: u64, _carrier: Carrier) {}
    /// The thread releases through something that is no memory, or whose bytes do not matter.
    fn release_apart(&mut self, _addr: u64, _carrier: Carrier) {}
    /// The thread uses an object of so many bytes in memory. What it takes over through the object
    /// comes later: the object must be there before.
    fn uses(&mut self, _addr: u64, _size: u64) {}
    /// An object comes to life: nothing was released through it so far. No use of it may be
    /// unordered with that.
    fn initialise(&mut self, _addr: u64, _size: u64) {}
    /// An object is destroyed. No use of it may be unordered with that.
    fn destroy(&mut self, _addr: u64, _size: u64) {}
    /// A fence.
    fn fence(&mut self, _order: MemOrder) {}
    /// An atomic operation.
    fn atomic(&mut self, _op: &AtomicOp) {}
    /// An access to memory.
    fn access(&mut self, _addr: u64, _size: u64, _what: Touching) {}
    /// A block of memory dies.
    fn free(&mut self, _addr: u64, _size: u64) {}
}
