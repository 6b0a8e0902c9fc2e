//! Looks of libstdc++ at what it waits for. Before it sleeps it looks a number of times, and a header of raddle's lets it tell when one was in
//! vain. How often it has looked nobody learns. So the looks that only repeat one need not be tried in all places, between all that
//! others do, and are no transitions: who comes to sleep could have made them all where the first was made, and who sees
//! something else could have come no earlier than that.
//!
//! A round that does more than look (a semaphore that was there, and then taken by another) repeats nothing. And who goes on looking
//! when the library would sleep (`std::atomic<std::shared_ptr>` pauses in the same way and never sleeps) waits busily, as
//! any other loop: every so many looks, one is a transition, so that `spin` sees it.

use raddle_vocab::OpKind;

use crate::spinloop;
use crate::state::{Op, controlled, run};

/// Times that libstdc++ only pauses before it yields.
const PAUSES: u8 = 12;
/// Times that libstdc++ yields before it sleeps, after the times that it only pauses.
const YIELDS: u8 = 4;

/// A thread's last look at an atomic word.
#[derive(Clone, Copy)]
pub struct Look {
    value: u64,
    /// The library looked in vain and will look again.
    in_vain: bool,
    /// Times that it has paused since the last look that was a transition.
    pauses: u8,
    /// Times that it has yielded since it last paused.
    yields: u8,
}

impl Look {
    /// Of a thread that has not looked yet.
    pub const NONE: Look = Look { value: 0, in_vain: false, pauses: 0, yields: 0 };
}

/// Called by libstdc++ after a look in vain, before it pauses or yields. Behind the last of these, it looks no more.
#[unsafe(no_mangle)]
pub extern "C" fn __raddle_looked_in_vain(yields: bool) {
    if !controlled() {
        core::hint::spin_loop();
        return;
    }
    let me = run().me();
    let look = &mut me.private.look;
    if yields {
        look.yields = look.yields.saturating_add(1);
    } else {
        look.yields = 0;
        look.pauses = look.pauses.saturating_add(1);
    }
    look.in_vain = me.pending.kind == OpKind::AtomicLoad && look.pauses <= PAUSES && look.yields < YIELDS;
}

/// The running thread has loaded an atomic word.
#[inline(always)]
pub fn looked(value: u64) {
    let look = &mut run().me().private.look;
    look.value = value;
    look.pauses = 0;
}

/// Whether the running thread's load repeats a look that was in vain, and would see the same.
#[inline(always)]
pub fn repeats(op: &Op) -> bool {
    let me = run().me();
    let look = &mut me.private.look;
    core::mem::take(&mut look.in_vain)
        && (me.pending.kind, me.pending.obj, me.pending.log_size) == (op.kind, op.obj, op.log_size)
        && op.log_size <= 3
        && look.value == spinloop::word(op.obj, op.log_size)
}
