//! Futures that become ready when a thread ends (`std::promise::set_value_at_thread_exit`,
//! `std::packaged_task::make_ready_at_thread_exit`). The rest of a future is compiled into the
//! program, but this store is made by libstdc++, in code without hooks. So the element by which
//! libstdc++ remembers to do it gets a function of the runtime, which makes the store first, as an
//! operation.

use core::sync::atomic::{AtomicUsize, Ordering};

use raddle_vocab::{MemOrder, OpKind, Outcome};

use crate::arch::entry::export;
use crate::sched::{self, virtual_time};
use crate::state::{AnnouncedOp, controlled};
use crate::syscall::libc_real::real;

/// Where the element keeps what is called at the end of the thread, and a weak pointer to the
/// state.
mod element {
    pub const CALLED: usize = 8;
    pub const STATE: usize = 16;
    pub const COUNTS: usize = 24;
}

/// Where the block of counts has the number of owners.
const OWNERS: usize = 8;
/// Where the state has the word that says whether it is ready. The highest bit says that threads
/// wait.
const STATUS: usize = 16;
const READY: u32 = 1;
/// The logarithm of the size of such a word.
const WORD: u8 = 2;

/// What libstdc++ calls by itself: one function for all elements.
static LIBRARY: AtomicUsize = AtomicUsize::new(0);

real! { hidden:
    fn _ZNSt13__future_base13_State_baseV211_Make_ready6_M_setEv(element: usize);
}

unsafe extern "C" {
    fn raddle_future_ready();
}

/// A word of an element, a state or a block of counts.
fn at<T>(address: usize) -> *mut T {
    address as *mut T
}

/// `_Make_ready::_M_set`: the end of the running thread makes a state ready.
extern "C" fn register(element: usize, _pc: u64) {
    // SAFETY: passes on what the caller gave.
    unsafe { hidden::_ZNSt13__future_base13_State_baseV211_Make_ready6_M_setEv(element) };
    if controlled() {
        let called = at::<usize>(element + element::CALLED);
        // SAFETY: the element is one of libstdc++, which has just written this word of it.
        LIBRARY.store(unsafe { called.replace(raddle_future_ready as *const () as usize) }, Ordering::Relaxed);
    }
}

/// The end of the thread that has registered the element.
extern "C" fn make_ready(element: usize, pc: u64) {
    let library = LIBRARY.load(Ordering::Relaxed);
    if controlled() {
        store(element, pc);
    }
    // SAFETY: what libstdc++ would have called, with the argument that it would have had.
    unsafe { core::mem::transmute::<usize, extern "C" fn(usize)>(library)(element) };
}

/// The store that makes the state ready, unless it has no owner any more. Threads that wait stay
/// marked: libstdc++ wakes them.
fn store(element: usize, pc: u64) {
    // SAFETY: the element holds a weak pointer: a state and its counts, which are there as long.
    let (state, counts) = unsafe { (*at::<usize>(element + element::STATE), *at::<usize>(element + element::COUNTS)) };
    if counts == 0 {
        return;
    }
    let status = (state + STATUS) as u64;
    let write = AnnouncedOp {
        log_size: WORD,
        order: MemOrder::Release as u8,
        ..AnnouncedOp::new(OpKind::AtomicRmw, status, 0, pc)
    };
    sched::arrive(write);
    // SAFETY: as above.
    let owners = unsafe { *at::<u32>(counts + OWNERS) };
    if owners == 0 {
        let look = AnnouncedOp {
            log_size: WORD,
            order: MemOrder::Acquire as u8,
            ..AnnouncedOp::new(OpKind::AtomicLoad, (counts + OWNERS) as u64, 0, pc)
        };
        return sched::commit(&look, Outcome::Done, 0, 0);
    }
    virtual_time::publish(status);
    // SAFETY: the state has an owner.
    let old = unsafe { *at::<u32>(state + STATUS) };
    // SAFETY: as above.
    unsafe { *at::<u32>(state + STATUS) = old | READY };
    sched::commit(&write, Outcome::Done, u64::from(old | READY), u64::from(old));
}

export!(_ZNSt13__future_base13_State_baseV211_Make_ready6_M_setEv, 1 => register);
export!(raddle_future_ready, 1 => make_ready);
