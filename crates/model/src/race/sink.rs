//! What an event means for the clocks and for the shadow of memory.

use raddle_vocab::{MemOrder, update};

use super::RaceDetector;
use super::shadow::{EVENT, Record, Touching};
use crate::execution::Event;
use crate::object::{AtomicOp, Carrier, OrderSink};

/// The detector, while it follows one event.
pub(super) struct EventOrder<'a> {
    pub detector: &'a mut RaceDetector,
    pub event: &'a Event,
    /// Its number.
    pub number: u32,
    /// How many threads the execution has.
    pub threads: usize,
}

impl EventOrder<'_> {
    #[inline]
    fn record(&self, what: Touching) -> Record {
        self.detector.record(self.event.thread, what, self.event.pc, self.number | EVENT)
    }

    /// Its first byte matters only if something is given back to the heap in this execution, or
    /// initialised or destroyed while other threads live; the others only if there is a plain write
    /// to them.
    #[inline]
    fn touch_object(&mut self, addr: u64, size: u64, what: Touching) {
        if self.detector.objects.all_bytes {
            let mut record = self.record(what);
            return self.detector.touch(addr, size, &mut record);
        }
        if self.detector.compares_ends {
            let mut record = self.record(what);
            self.detector.touch(addr, 1, &mut record);
        }
        self.detector.mark_object(addr, size);
    }

    /// An atomic operation where stores are told apart.
    fn atomic_of_stores(&mut self, op: &AtomicOp) {
        let (thread, addr) = (self.event.thread, op.addr);
        let detector = &mut *self.detector;
        let detail = detector.stores.detail(self.number);
        let behind = detail.map_or(0, |detail| detail.behind);
        let read = if op.reads() { detector.stores.read(addr, behind).map(|store| store.all.clone()) } else { None };
        if let Some(clock) = &read {
            detector.clocks.take_over(thread, clock, op.order.acquires());
        }
        let touching = if op.writes() { Touching::AtomicWrite } else { Touching::AtomicRead };
        let mut record = self.record(touching);
        let detector = &mut *self.detector;
        detector.touch(addr, u64::from(op.size), &mut record);
        if !op.writes() {
            return;
        }
        let at = detector.meet(addr >> 3);
        detector.carries(at, addr);
        let own = detector.clocks.published(thread, op.order.releases()).to_vec();
        let continues = op.continues || detail.is_some_and(|detail| detail.how & update::CONTINUES != 0);
        detector.stores.add(addr, behind, (thread, own), read, continues);
        if op.order.releases() {
            detector.clocks.tick(thread);
        }
    }

    /// The number, if there is another thread with it.
    fn other(&self, number: u16) -> Option<u16> {
        (usize::from(number) < self.threads && number != self.event.thread).then_some(number)
    }
}

impl OrderSink for EventOrder<'_> {
    #[inline]
    fn fork(&mut self, child: u16) {
        if let Some(child) = self.other(child) {
            self.detector.clocks.follow(child, self.event.thread);
            self.detector.objects.fork(child, self.detector.clocks.seen(self.event.thread));
            self.detector.clocks.tick(self.event.thread);
        }
    }

    fn join(&mut self, thread: u16) {
        if let Some(ended) = self.other(thread) {
            self.detector.clocks.follow(self.event.thread, ended);
            self.detector.objects.join(ended);
        }
    }

    fn observe_end(&mut self, thread: u16) {
        self.join(thread);
    }

    fn suspend(&mut self, thread: u16) {
        self.join(thread);
        if let Some(suspended) = self.other(thread) {
            self.detector.clocks.tick(suspended);
        }
    }

    fn resume(&mut self, thread: u16) {
        self.fork(thread);
    }

    #[inline]
    fn acquire(&mut self, addr: u64, carrier: Carrier) {
        let at = self.detector.meet(addr >> 3);
        self.detector.clocks.acquire(self.event.thread, *self.detector.shadow.clocks(at), addr, carrier);
    }

    #[inline]
    fn release(&mut self, addr: u64, carrier: Carrier) {
        let at = self.detector.meet(addr >> 3);
        self.detector.clocks.release(self.event.thread, self.detector.shadow.clocks(at), addr, carrier);
        self.detector.clocks.tick(self.event.thread);
        self.detector.carries(at, addr);
    }

    fn release_apart(&mut self, addr: u64, carrier: Carrier) {
        let at = self.detector.meet(addr >> 3);
        self.detector.clocks.release(self.event.thread, self.detector.shadow.clocks(at), addr, carrier);
        self.detector.clocks.tick(self.event.thread);
    }

    #[inline]
    fn uses(&mut self, addr: u64, size: u64) {
        self.touch_object(addr, size, Touching::Use);
    }

    fn initialise(&mut self, addr: u64, size: u64) {
        let at = self.detector.meet(addr >> 3);
        self.detector.forget_order(at, addr);
        self.destroy(addr, size);
    }

    fn destroy(&mut self, addr: u64, size: u64) {
        self.detector.objects_end |= self.detector.objects.has_others();
        self.touch_object(addr, size, Touching::Make);
    }

    fn fence(&mut self, order: MemOrder) {
        let (clocks, thread) = (&mut self.detector.clocks, self.event.thread);
        if order.acquires() {
            clocks.acquire_fence(thread);
        }
        if order.releases() {
            clocks.release_fence(thread);
            clocks.tick(thread);
        }
    }

    #[inline]
    fn atomic(&mut self, op: &AtomicOp) {
        let (thread, addr) = (self.event.thread, op.addr);
        if self.detector.stores.are_told_apart() {
            return self.atomic_of_stores(op);
        }
        let (reads, writes) = (op.reads(), op.writes());
        let at = self.detector.meet(addr >> 3);
        let list = *self.detector.shadow.clocks(at);
        if reads && op.order.acquires() {
            self.detector.clocks.acquire(thread, list, addr, Carrier::Atomic);
        } else if reads {
            self.detector.clocks.acquire_later(thread, list, addr);
        }
        let mut record = self.record(if writes { Touching::AtomicWrite } else { Touching::AtomicRead });
        self.detector.touch(addr, u64::from(op.size), &mut record);
        if !writes {
            return;
        }
        let detector = &mut *self.detector;
        if !reads {
            // A store starts a new release sequence. A read-modify-write continues what it found,
            // in C also a store of the thread that began it.
            detector.clocks.start_sequence(thread, list, addr, op.continues);
        }
        detector.carries(at, addr);
        if op.order.releases() {
            detector.clocks.release(thread, detector.shadow.clocks(at), addr, Carrier::Atomic);
            detector.clocks.tick(thread);
        } else {
            detector.clocks.release_fenced(thread, detector.shadow.clocks(at), addr);
        }
    }

    #[inline]
    fn access(&mut self, addr: u64, size: u64, what: Touching) {
        let mut record = self.record(what);
        if what.mapping().is_some() {
            return self.detector.change_mapping(addr, size, record);
        }
        self.detector.touch(addr, size, &mut record);
    }

    fn free(&mut self, addr: u64, size: u64) {
        let record = self.record(Touching::Free);
        self.detector.free(addr, size, record);
    }
}
