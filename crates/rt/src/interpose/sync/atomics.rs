//! Atomic operations: what the compiler calls for them (`__tsan_atomic*`) and libatomic's
//! functions.
//!
//! Under control a plain access is enough, because no other thread runs at the same time. Without
//! the host they are the processor's atomic instructions, always sequentially consistent.

use core::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

use raddle_vocab::update::{ADD, AND, CONTINUES, NAND, OR, SET, SUB, XOR};
use raddle_vocab::{OpKind, Outcome, update as updates};

use crate::arch::atomic16::exchange_16_if;
use crate::arch::entry::{export, return_address};
use crate::interpose::sync::histories::{self, History};
use crate::sched::{self, virtual_time};
use crate::spinloop::{awaits, libstdcxx_spin};
use crate::state::{AnnouncedOp, UpdateDetail, controlled, run};
use crate::state_key;
use crate::syscall::callers;
use crate::trace;

/// An integer that can be accessed atomically.
pub trait Word: Copy + Eq {
    /// log2 of its bytes.
    const LOG_SIZE: u8;
    /// Zero.
    const ZERO: Self;

    /// Its low 8 bytes, as a trace shows it.
    fn low(self) -> u64;

    /// The word with these low 8 bytes, and zeros.
    fn of_low(low: u64) -> Self;

    /// An operation of the running thread will use it.
    fn is_held(self);

    /// Result of a read-modify-write.
    fn combine(how: u8, old: Self, operand: Self) -> Self;

    /// Stores `new` if the word holds `old`, without regard to other operations of the runtime;
    /// returns what it held.
    ///
    /// # Safety
    /// The address must be that of a word that may be written.
    unsafe fn exchange_if(address: u64, old: Self, new: Self) -> Self;
}

macro_rules! word {
    ($word:ty, $log_size:literal, $exchange_if:expr) => {
        impl Word for $word {
            const LOG_SIZE: u8 = $log_size;
            const ZERO: Self = 0;

            #[inline(always)]
            fn low(self) -> u64 {
                self as u64
            }

            #[inline(always)]
            #[allow(clippy::cast_lossless, reason = "one text for all widths")]
            fn of_low(low: u64) -> Self {
                low as $word
            }

            #[inline(always)]
            #[allow(clippy::cast_lossless, reason = "one text for all widths")]
            fn is_held(self) {
                let wide = self as u128;
                state_key::holds(wide as u64 ^ (wide >> 64) as u64 * 3);
            }

            #[inline(always)]
            fn combine(how: u8, old: Self, operand: Self) -> Self {
                match how {
                    ADD => old.wrapping_add(operand),
                    SUB => old.wrapping_sub(operand),
                    AND => old & operand,
                    OR => old | operand,
                    XOR => old ^ operand,
                    NAND => !(old & operand),
                    _ => operand,
                }
            }

            #[inline(always)]
            unsafe fn exchange_if(address: u64, old: Self, new: Self) -> Self {
                // SAFETY: the caller's promise.
                unsafe { $exchange_if(address, old, new) }
            }
        }
    };
    ($word:ty, $log_size:literal, atomic $atomic:ident) => {
        word!($word, $log_size, |address: u64, old, new| {
            match $atomic::from_ptr(address as *mut $word).compare_exchange(
                old,
                new,
                Ordering::SeqCst,
                Ordering::SeqCst,
            ) {
                Ok(seen) | Err(seen) => seen,
            }
        });
    };
}

word!(u8, 0, atomic AtomicU8);
word!(u16, 1, atomic AtomicU16);
word!(u32, 2, atomic AtomicU32);
word!(u64, 3, atomic AtomicU64);
word!(u128, 4, exchange_16_if);

/// What the word holds.
#[inline(always)]
fn peek<W: Word>(address: u64) -> W {
    // SAFETY: the program accesses the word with this very operation; a wrong address faults as it
    // would without raddle.
    unsafe { (address as *const W).read_unaligned() }
}

/// Changes the word.
#[inline(always)]
fn poke<W: Word>(address: u64, value: W) {
    // SAFETY: as in `peek`.
    unsafe { (address as *mut W).write_unaligned(value) };
}

/// The order without the bits that compilers put beside it (`__sync` built-ins, lock elision).
#[inline(always)]
pub fn order(given: i32) -> u8 {
    (given & 7).min(5) as u8
}

#[inline(always)]
fn op<W: Word>(kind: OpKind, address: u64, given: i32, arg: u64, pc: u64) -> AnnouncedOp {
    AnnouncedOp { kind, order: order(given), log_size: W::LOG_SIZE, obj: address, arg, pc }
}

/// An atomic load.
pub extern "C" fn load<W: Word>(address: u64, given: i32, pc: u64) -> W {
    if !controlled() {
        // SAFETY: exchanging zero for zero changes nothing; the program's own access has the same
        // contract.
        return unsafe { real_load(address) };
    }
    let op = op::<W>(OpKind::AtomicLoad, address, given, 0, pc);
    if histories::are_kept() {
        return weak(&op, |_| None, UpdateDetail::NONE);
    }
    if libstdcxx_spin::repeats_failed_poll(&op) {
        return peek(address);
    }
    sched::arrive(op);
    let value: W = peek(address);
    virtual_time::observe(address);
    libstdcxx_spin::on_load(value.low());
    sched::commit(&op, Outcome::Done, value.low(), 0);
    value
}

/// A load by the processor: up to 8 bytes are loaded atomically, wider words need an exchange.
///
/// # Safety
/// The address must be that of a word that may be read (of 16 bytes: written).
#[inline(always)]
unsafe fn real_load<W: Word>(address: u64) -> W {
    if W::LOG_SIZE <= 3 {
        // SAFETY: the caller's promise; an aligned load of up to 8 bytes is atomic.
        unsafe { (address as *const W).read_volatile() }
    } else {
        // SAFETY: the caller's promise; stores what it finds.
        unsafe { W::exchange_if(address, W::ZERO, W::ZERO) }
    }
}

/// A read-modify-write by the processor; returns what was replaced.
#[inline(always)]
fn real_update<W: Word>(how: u8, address: u64, operand: W) -> W {
    // SAFETY: the program's own access has the same contract.
    let mut seen = unsafe { real_load::<W>(address) };
    loop {
        // SAFETY: as above.
        let found = unsafe { W::exchange_if(address, seen, W::combine(how, seen, operand)) };
        if found == seen {
            return seen;
        }
        seen = found;
    }
}

/// The mark of an operation that goes on with release sequences of its own thread.
fn continues(pc: u64) -> u8 {
    if callers::continues_sequences(pc) { CONTINUES } else { 0 }
}

/// An operation that reads the store that the schedule says, and returns what that holds. It may
/// put another value right behind it. Words of 16 bytes have only their last store.
#[inline(never)]
fn weak<W: Word>(op: &AnnouncedOp, then: impl Fn(W) -> Option<W>, detail: UpdateDetail) -> W {
    run().me().private.detail = detail;
    sched::arrive(*op);
    let behind = sched::stores_behind();
    let now: W = peek(op.obj);
    let history = if W::LOG_SIZE <= 3 { History::of(op.obj, W::LOG_SIZE, now.low()) } else { None };
    let found = history.as_ref().map_or(now, |history| W::of_low(history.read(behind)));
    awaits::about_to_read(found.low());
    let mut op = *op;
    let is_exchange = op.kind == OpKind::AtomicCas;
    if let Some(stored) = then(found) {
        if let Some(history) = &history {
            history.insert(behind, stored.low());
        }
        if behind == 0 {
            poke(op.obj, stored);
        }
        sched::commit(&op, Outcome::Done, stored.low(), found.low());
    } else if is_exchange {
        op.order = updates::parse_orders(detail.how).1;
        sched::commit(&op, Outcome::Failed, 0, found.low());
    } else {
        sched::commit(&op, Outcome::Done, found.low(), 0);
    }
    trace::atomic_detail(0, run().hot.tid, behind, detail);
    found
}

/// A store that has its turn, and is put where the schedule says.
#[inline(never)]
pub fn weak_store<W: Word>(op: &AnnouncedOp, value: W) {
    let behind = sched::stores_behind();
    let old: W = peek(op.obj);
    if W::LOG_SIZE <= 3
        && let Some(history) = History::of(op.obj, W::LOG_SIZE, old.low())
    {
        history.insert(behind, value.low());
    }
    if behind == 0 {
        poke(op.obj, value);
    }
    sched::commit(op, Outcome::Done, value.low(), old.low());
    trace::atomic_detail(0, run().hot.tid, behind, UpdateDetail::NONE);
}

/// An atomic store.
pub extern "C" fn store<W: Word>(address: u64, value: W, given: i32, pc: u64) {
    if !controlled() {
        real_update(SET, address, value);
        return;
    }
    let op = op::<W>(OpKind::AtomicStore, address, given, callers::continues_sequences(pc).into(), pc);
    value.is_held();
    sched::arrive(op);
    if histories::are_kept() {
        return weak_store(&op, value);
    }
    let old: W = peek(address);
    poke(address, value);
    finish_write(&op, value.low(), old.low());
}

/// Records an operation that has written.
#[inline(always)]
fn finish_write(op: &AnnouncedOp, value: u64, old: u64) {
    virtual_time::publish(op.obj);
    sched::commit(op, Outcome::Done, value, old);
}

/// Returns what was replaced, or with `NEW` what replaces it.
extern "C" fn update<W: Word, const HOW: u8, const NEW: bool>(address: u64, operand: W, given: i32, pc: u64) -> W {
    let old = if controlled() {
        let op = op::<W>(OpKind::AtomicRmw, address, given, 0, pc);
        operand.is_held();
        if histories::are_kept() {
            let detail = UpdateDetail { how: HOW | continues(pc), operand: operand.low() };
            let old = weak(&op, |old| Some(W::combine(HOW, old, operand)), detail);
            return if NEW { W::combine(HOW, old, operand) } else { old };
        }
        sched::arrive(op);
        let old: W = peek(address);
        let value = W::combine(HOW, old, operand);
        poke(address, value);
        virtual_time::observe(address);
        finish_write(&op, value.low(), old.low());
        old
    } else {
        real_update(HOW, address, operand)
    };
    if NEW { W::combine(HOW, old, operand) } else { old }
}

/// An atomic exchange.
pub fn update_set<W: Word>(address: u64, value: W, given: i32, pc: u64) -> W {
    update::<W, SET, false>(address, value, given, pc)
}

/// Returns what was seen: `expected` if the exchange was made.
fn exchange_if<W: Word>(address: u64, expected: W, desired: W, orders: (i32, i32), pc: u64) -> W {
    if !controlled() {
        // SAFETY: the program's own access has the same contract.
        return unsafe { W::exchange_if(address, expected, desired) };
    }
    let mut op = op::<W>(OpKind::AtomicCas, address, orders.0, expected.low(), pc);
    expected.is_held();
    desired.is_held();
    if histories::are_kept() {
        let how = updates::orders(op.order, order(orders.1)) | continues(pc);
        let detail = UpdateDetail { how, operand: desired.low() };
        return weak(&op, |seen| (seen == expected).then_some(desired), detail);
    }
    sched::arrive(op);
    let seen: W = peek(address);
    virtual_time::observe(address);
    if seen == expected {
        poke(address, desired);
        finish_write(&op, desired.low(), seen.low());
    } else {
        op.order = order(orders.1);
        sched::commit(&op, Outcome::Failed, 0, seen.low());
    }
    seen
}

/// The form that stores what was seen where the caller keeps the expected value.
fn exchange_or_tell<W: Word>(address: u64, expected: *mut W, desired: W, orders: (i32, i32), pc: u64) -> i32 {
    // SAFETY: the caller's own variable.
    let wanted = unsafe { expected.read_unaligned() };
    let seen = exchange_if(address, wanted, desired, orders, pc);
    if seen != wanted {
        // SAFETY: as above.
        unsafe { expected.write_unaligned(seen) };
        // The next round of a loop starts with another expected value, wherever the program keeps
        // it.
        crate::trace::hooks::note_write(expected as u64, 1 << W::LOG_SIZE);
    }
    i32::from(seen == wanted)
}

/// Compare-exchange; stores what was seen in `expected` if that was something else.
pub extern "C" fn cas<W: Word>(address: u64, expected: *mut W, desired: W, success: i32, failure: i32, pc: u64) -> i32 {
    exchange_or_tell(address, expected, desired, (success, failure), pc)
}

extern "C" fn cas_value<W: Word>(address: u64, expected: W, desired: W, success: i32, failure: i32, pc: u64) -> W {
    exchange_if(address, expected, desired, (success, failure), pc)
}

extern "C" fn cas_16(address: u64, expected: *mut u128, desired: u128, success: i32, failure: i32) -> i32 {
    exchange_or_tell(address, expected, desired, (success, failure), return_address())
}

extern "C" fn cas_value_16(address: u64, expected: u128, desired: u128, success: i32, failure: i32) -> u128 {
    exchange_if(address, expected, desired, (success, failure), return_address())
}

extern "C" fn thread_fence(given: i32, pc: u64) {
    if controlled() {
        let op = AnnouncedOp { order: order(given), ..AnnouncedOp::new(OpKind::Fence, 0, 0, pc) };
        sched::perform(op, Outcome::Done, 0, 0);
    } else {
        core::sync::atomic::fence(Ordering::SeqCst);
    }
}

/// A fence against signal handlers of the same thread: only the compiler has to respect it.
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_atomic_signal_fence(_order: i32) {}

/// The functions for one width under the names of both libraries. Parameters: bits, bytes, and how
/// many registers the arguments of a store and of the two forms of compare-exchange need.
macro_rules! width {
    ($word:ty, $bits:literal, $bytes:literal, $two:tt, $cas:tt => $cas_body:path, $cas_value:path) => {
        export!(named concat!("__tsan_atomic", $bits, "_load"), 2 => load::<$word>);
        export!(named concat!("__atomic_load_", $bytes), 2 => load::<$word>);
        export!(named concat!("__tsan_atomic", $bits, "_store"), $two => store::<$word>);
        export!(named concat!("__atomic_store_", $bytes), $two => store::<$word>);
        export!(named concat!("__tsan_atomic", $bits, "_exchange"), $two => update::<$word, SET, false>);
        export!(named concat!("__atomic_exchange_", $bytes), $two => update::<$word, SET, false>);
        width!(@ $word, $bits, $bytes, $two, ADD, "add");
        width!(@ $word, $bits, $bytes, $two, SUB, "sub");
        width!(@ $word, $bits, $bytes, $two, AND, "and");
        width!(@ $word, $bits, $bytes, $two, OR, "or");
        width!(@ $word, $bits, $bytes, $two, XOR, "xor");
        width!(@ $word, $bits, $bytes, $two, NAND, "nand");
        export!(named concat!("__tsan_atomic", $bits, "_compare_exchange_strong"), $cas => $cas_body);
        export!(named concat!("__tsan_atomic", $bits, "_compare_exchange_weak"), $cas => $cas_body);
        export!(named concat!("__atomic_compare_exchange_", $bytes), $cas => $cas_body);
        export!(named concat!("__tsan_atomic", $bits, "_compare_exchange_val"), $cas => $cas_value);
    };
    (@ $word:ty, $bits:literal, $bytes:literal, $two:tt, $how:ident, $name:literal) => {
        export!(named concat!("__tsan_atomic", $bits, "_fetch_", $name), $two => update::<$word, $how, false>);
        export!(named concat!("__atomic_fetch_", $name, "_", $bytes), $two => update::<$word, $how, false>);
        export!(named concat!("__atomic_", $name, "_fetch_", $bytes), $two => update::<$word, $how, true>);
    };
}

width!(u8, "8", "1", 3, 5 => cas::<u8>, cas_value::<u8>);
width!(u16, "16", "2", 3, 5 => cas::<u16>, cas_value::<u16>);
width!(u32, "32", "4", 3, 5 => cas::<u32>, cas_value::<u32>);
width!(u64, "64", "8", 3, 5 => cas::<u64>, cas_value::<u64>);
width!(u128, "128", "16", wide, many => cas_16, cas_value_16);
export!(__tsan_atomic_thread_fence, 1 => thread_fence);
