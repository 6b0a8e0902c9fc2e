//! The hooks that the compiler inserts for plain memory accesses (`-fsanitize=thread`).
//!
//! An access that adds nothing ([`filter`]) is counted, so that accesses can be addressed by
//! number, but not recorded. Under `raddle run`, neighbouring ones are one record ([`runs`]).

use raddle_vocab::MappingChange;
use raddle_wire::{limit, record};

use crate::arch::entry::{export, hook, read_hook};
use crate::interpose::annotations::section;
use crate::spinloop::detector;
use crate::state::{process, run};
use crate::trace::{self, dead_frames, filter, runs};

/// One access of up to 16 bytes. Nearly all of those of a program that computes add nothing: they
/// end here, where nothing is called, so that no register has to be saved.
#[inline(always)]
fn access<const KIND: u8, const SIZE: u16, const FLAGS: u8>(address: u64, pc: u64) {
    if !is_done(KIND, address, u64::from(SIZE)) {
        any_access::<KIND, SIZE, FLAGS>(address, pc);
    }
}

/// An access of up to 16 bytes that the program does not announce by a hook.
pub fn plain_access(kind: u8, address: u64, size: u64, pc: u64) {
    let access = match (kind == record::WRITE, size) {
        (false, 1) => access::<R, 1, 0>,
        (false, 2) => access::<R, 2, 0>,
        (false, 4) => access::<R, 4, 0>,
        (false, 8) => access::<R, 8, 0>,
        (false, _) => access::<R, 16, 0>,
        (true, 1) => access::<W, 1, 0>,
        (true, 2) => access::<W, 2, 0>,
        (true, 4) => access::<W, 4, 0>,
        (true, 8) => access::<W, 8, 0>,
        (true, _) => access::<W, 16, 0>,
    };
    access(address, pc);
}

/// Counts an access that is only to be counted; false for any other.
#[inline(always)]
fn is_done(kind: u8, address: u64, size: u64) -> bool {
    let hot = &mut run().hot;
    let is_plain = hot.controlled && !hot.hashing && !hot.ignoring && hot.count < hot.stop_at;
    let is_done = is_plain && filter::is_known(kind, address, size, hot.count, hot.epoch);
    if is_done {
        hot.count += 1;
        if kind == record::WRITE {
            hot.wrote |= !is_on_own_stack(address);
        }
    }
    is_done
}

/// The same for any access.
#[inline(never)]
fn any_access<const KIND: u8, const SIZE: u16, const FLAGS: u8>(address: u64, pc: u64) {
    let hot = &mut run().hot;
    if !hot.controlled {
        return;
    }
    let benign = hot.count >= hot.stop_at && slow(KIND, address, u64::from(SIZE), pc);
    let hot = &mut run().hot;
    let count = hot.count;
    hot.count = count.wrapping_add(1);
    if KIND == record::WRITE {
        note_write(address, u64::from(SIZE));
    } else if hot.hashing {
        detector::note_read(address, u64::from(SIZE));
    }
    let hot = &mut run().hot;
    if hot.ignoring || benign || filter::adds_nothing(KIND, address, u64::from(SIZE), count) {
        return;
    }
    if hot.joins && runs::extends(KIND, FLAGS, address, u64::from(SIZE), pc) {
        return;
    }
    dead_frames::look(address, pc);
    trace::push([record::header(KIND, FLAGS, hot.tid, count), address, record::pack_pc(pc, SIZE)]);
}

#[inline(always)]
fn is_on_own_stack(address: u64) -> bool {
    let (low, high) = run().hot.stack;
    (address as usize).wrapping_sub(low) < high - low
}

/// A write to anything but the thread's own stack may be progress for the detection of spin loops.
#[inline(always)]
pub fn note_write(address: u64, size: u64) {
    let hot = &mut run().hot;
    if !is_on_own_stack(address) {
        hot.wrote = true;
        if hot.hashing {
            detector::note_write(address, size);
        }
    } else if hot.hashing {
        detector::note_private_write(address, size);
    }
}

/// An access of any number of bytes.
#[inline]
pub fn range(kind: u8, address: u64, size: u64, pc: u64) {
    if size == 0 || !is_done(kind, address, size) {
        any_range(kind, address, size, pc);
    }
}

#[inline(never)]
fn any_range(kind: u8, address: u64, size: u64, pc: u64) {
    let hot = &mut run().hot;
    if !hot.controlled || size == 0 {
        return;
    }
    let benign = hot.count >= hot.stop_at && slow(kind, address, size, pc);
    let hot = &mut run().hot;
    let count = hot.count;
    hot.count = count.wrapping_add(1);
    if kind == record::WRITE {
        note_write(address, size);
    } else if hot.hashing {
        detector::note_read(address, size);
    }
    let hot = &mut run().hot;
    if hot.ignoring || benign || filter::adds_nothing(kind, address, size, count) {
        return;
    }
    dead_frames::look(address, pc);
    if let Ok(size) = u16::try_from(size) {
        return trace::push([record::header(kind, 0, hot.tid, count), address, record::pack_pc(pc, size)]);
    }
    let kind = if kind == record::READ { record::READ_RANGE } else { record::WRITE_RANGE };
    trace::push([record::header(kind, 0, hot.tid, count), address, record::pack_pc(pc, 0), size]);
}

/// A heap block is freed: conflicts with every access to it, unless the program wants its accesses
/// to be ignored.
pub fn block_freed(address: u64, size: u64, pc: u64) {
    let hot = &mut run().hot;
    if hot.ignoring {
        return;
    }
    if process().access_granularity {
        crate::trace::access_granularity::free(address, size, pc);
        return;
    }
    if hot.count >= hot.stop_at {
        slow(record::WRITE, address, size, pc);
    }
    run().hot.wrote = true;
    trace::block(record::FREE, address, size, pc);
}

/// Mapped memory is about to change: conflicts with accesses to it, unless the program wants its
/// accesses to be ignored.
pub fn mapping_changes(change: MappingChange, address: u64, size: u64, pc: u64) {
    let hot = &mut run().hot;
    if hot.ignoring || size == 0 {
        return;
    }
    if process().access_granularity && change != MappingChange::Fresh {
        crate::trace::access_granularity::mapping(change, address, size, pc);
        return;
    }
    if hot.count >= hot.stop_at {
        slow(record::WRITE, address, size, pc);
    }
    run().hot.wrote = true;
    trace::mapping(change, address, size, pc);
}

/// What a change of access rights does to its pages: recorded, and no transition by itself.
pub fn rights_change(change: MappingChange, address: u64, size: u64, pc: u64) {
    if run().hot.ignoring {
        return;
    }
    if !process().access_granularity && run().hot.count >= run().hot.stop_at {
        slow(record::WRITE, address, size, pc);
    }
    run().hot.wrote = true;
    trace::mapping(change, address, size, pc);
}

/// The running thread ends, and with it what lies in its stack or its thread-local storage.
pub fn thread_ends(start: usize, end: usize, pc: u64) {
    let hot = &mut run().hot;
    if hot.ignoring || start >= end {
        return;
    }
    let (address, size) = (start as u64, (end - start) as u64);
    if !process().access_granularity && hot.count >= hot.stop_at {
        slow(record::WRITE, address, size, pc);
    }
    trace::thread_ends(address, size, pc);
}

/// The access is a transition, or a segment stops here. True if the access is benign: then its
/// transition is all that is recorded.
#[cold]
#[inline(never)]
fn slow(kind: u8, address: u64, size: u64, pc: u64) -> bool {
    let benign = crate::interpose::annotations::benign::covers(address, size, pc) && !run().hot.ignoring;
    // What is inside an atomic section is one transition with its beginning. A schedule may still
    // stop there, before one of two accesses that race.
    let is_inside = process().access_granularity && section::is_inside();
    if process().access_granularity && !is_inside || benign {
        crate::trace::access_granularity::step(kind, address, size, pc, benign);
        return benign;
    }
    // Every access comes here while some are benign.
    if run().hot.count < run().stop_after {
        return false;
    }
    let plan = &process().plan;
    if plan.at < plan.len && plan.current.steps == 0 {
        trace::parked_at_access(kind, address, size, pc);
        crate::sched::park_at_access();
    } else if !is_inside {
        let wrote = core::mem::take(&mut run().hot.wrote);
        if wrote {
            crate::sched::timeouts::progress();
        }
        // It may wait for another thread, even if it writes meanwhile.
        if wrote && run().hot.count < crate::sched::LONG_WRITING_STRETCH {
            crate::sched::stop_after(run().hot.count.saturating_add(crate::sched::LONG_STRETCH));
        } else {
            crate::sched::yield_in_stretch();
        }
    }
    false
}

/// Declares hooks by their names and a function that recognises their addresses.
macro_rules! known_hooks {
    ($($name:ident)*) => {
        /// Whether this is a hook for an access to an aligned variable.
        pub fn is_access_hook(address: usize) -> bool {
            unsafe extern "C" {
                $(fn $name();)*
            }
            [$($name as *const () as usize),*].contains(&address)
        }
    };
}

known_hooks!(
    __tsan_read1 __tsan_read2 __tsan_read4 __tsan_read8 __tsan_read16
    __tsan_write1 __tsan_write2 __tsan_write4 __tsan_write8 __tsan_write16
);

extern "C" fn plain<const KIND: u8, const SIZE: u16>(address: u64, pc: u64) {
    access::<KIND, SIZE, 0>(address, pc);
}

extern "C" fn volatile<const KIND: u8, const SIZE: u16>(address: u64, pc: u64) {
    access::<KIND, SIZE, { record::flag::VOLATILE }>(address, pc);
}

/// A read and a write of the same bytes, as gcc's and clang's compound hooks announce them.
extern "C" fn read_write<const SIZE: u16>(address: u64, pc: u64) {
    access::<{ record::READ }, SIZE, 0>(address, pc);
    access::<{ record::WRITE }, SIZE, 0>(address, pc);
}

extern "C" fn read_range(address: u64, size: u64, pc: u64) {
    range(record::READ, address, size, pc);
}

extern "C" fn write_range(address: u64, size: u64, pc: u64) {
    range(record::WRITE, address, size, pc);
}

extern "C" fn vptr_update(address: u64, value: u64, pc: u64) {
    // Constructors store the same pointer again and again on the way down the hierarchy: no
    // conflict then. SAFETY: the program is about to store there.
    if unsafe { *(address as *const u64) } != value {
        access::<{ record::WRITE }, 8, 0>(address, pc);
    }
}

const R: u8 = record::READ;
const W: u8 = record::WRITE;

read_hook!(__tsan_read1 => plain::<R, 1>);
read_hook!(__tsan_read2 => plain::<R, 2>);
read_hook!(__tsan_read4 => plain::<R, 4>);
read_hook!(__tsan_read8 => plain::<R, 8>);
read_hook!(__tsan_read16 => plain::<R, 16>);
hook!(__tsan_write1, 1 => plain::<W, 1>);
hook!(__tsan_write2, 1 => plain::<W, 2>);
hook!(__tsan_write4, 1 => plain::<W, 4>);
hook!(__tsan_write8, 1 => plain::<W, 8>);
hook!(__tsan_write16, 1 => plain::<W, 16>);
read_hook!(__tsan_unaligned_read2 => plain::<R, 2>);
read_hook!(__tsan_unaligned_read4 => plain::<R, 4>);
read_hook!(__tsan_unaligned_read8 => plain::<R, 8>);
read_hook!(__tsan_unaligned_read16 => plain::<R, 16>);
hook!(__tsan_unaligned_write2, 1 => plain::<W, 2>);
hook!(__tsan_unaligned_write4, 1 => plain::<W, 4>);
hook!(__tsan_unaligned_write8, 1 => plain::<W, 8>);
hook!(__tsan_unaligned_write16, 1 => plain::<W, 16>);
read_hook!(__tsan_volatile_read1 => volatile::<R, 1>);
read_hook!(__tsan_volatile_read2 => volatile::<R, 2>);
read_hook!(__tsan_volatile_read4 => volatile::<R, 4>);
read_hook!(__tsan_volatile_read8 => volatile::<R, 8>);
read_hook!(__tsan_volatile_read16 => volatile::<R, 16>);
hook!(__tsan_volatile_write1, 1 => volatile::<W, 1>);
hook!(__tsan_volatile_write2, 1 => volatile::<W, 2>);
hook!(__tsan_volatile_write4, 1 => volatile::<W, 4>);
hook!(__tsan_volatile_write8, 1 => volatile::<W, 8>);
hook!(__tsan_volatile_write16, 1 => volatile::<W, 16>);
read_hook!(__tsan_unaligned_volatile_read2 => volatile::<R, 2>);
read_hook!(__tsan_unaligned_volatile_read4 => volatile::<R, 4>);
read_hook!(__tsan_unaligned_volatile_read8 => volatile::<R, 8>);
read_hook!(__tsan_unaligned_volatile_read16 => volatile::<R, 16>);
hook!(__tsan_unaligned_volatile_write2, 1 => volatile::<W, 2>);
hook!(__tsan_unaligned_volatile_write4, 1 => volatile::<W, 4>);
hook!(__tsan_unaligned_volatile_write8, 1 => volatile::<W, 8>);
hook!(__tsan_unaligned_volatile_write16, 1 => volatile::<W, 16>);
hook!(__tsan_read_write1, 1 => read_write::<1>);
hook!(__tsan_read_write2, 1 => read_write::<2>);
hook!(__tsan_read_write4, 1 => read_write::<4>);
hook!(__tsan_read_write8, 1 => read_write::<8>);
hook!(__tsan_read_write16, 1 => read_write::<16>);
hook!(__tsan_unaligned_read_write2, 1 => read_write::<2>);
hook!(__tsan_unaligned_read_write4, 1 => read_write::<4>);
hook!(__tsan_unaligned_read_write8, 1 => read_write::<8>);
hook!(__tsan_unaligned_read_write16, 1 => read_write::<16>);
hook!(__tsan_read_range, 2 => read_range);
hook!(__tsan_write_range, 2 => write_range);
/// Accesses that a generator of code announces for another place of the program.
macro_rules! placed_hooks {
    ($($name:ident => $kind:ident $size:literal;)*) => { $(
        const _: () = {
            extern "C" fn placed(address: u64, pc: u64, _caller: u64) {
                access::<$kind, $size, 0>(address, pc);
            }
            export!($name, 2 => placed);
        };
    )* };
}

placed_hooks! {
    __tsan_read1_pc => R 1; __tsan_read2_pc => R 2; __tsan_read4_pc => R 4; __tsan_read8_pc => R 8;
    __tsan_read16_pc => R 16;
    __tsan_write1_pc => W 1; __tsan_write2_pc => W 2; __tsan_write4_pc => W 4; __tsan_write8_pc => W 8;
    __tsan_write16_pc => W 16;
}

/// Accesses that the program asks for by name.
macro_rules! unaligned {
    ($($load:ident $store:ident $type:ty;)*) => { $(
        const _: () = {
            extern "C" fn load(address: u64, pc: u64) -> $type {
                access::<R, { size_of::<$type>() as u16 }, 0>(address, pc);
                // SAFETY: the program asks for this access.
                unsafe { (address as *const $type).read_unaligned() }
            }
            extern "C" fn store(address: u64, value: $type, pc: u64) {
                access::<W, { size_of::<$type>() as u16 }, 0>(address, pc);
                // SAFETY: the program asks for this access.
                unsafe { (address as *mut $type).write_unaligned(value) };
            }
            export!($load, 1 => load);
            export!($store, 2 => store);
        };
    )* };
}

unaligned! {
    __sanitizer_unaligned_load16 __sanitizer_unaligned_store16 u16;
    __sanitizer_unaligned_load32 __sanitizer_unaligned_store32 u32;
    __sanitizer_unaligned_load64 __sanitizer_unaligned_store64 u64;
}
hook!(__tsan_vptr_read, 1 => plain::<R, 8>);
hook!(__tsan_vptr_update, 2 => vptr_update);

/// The compiler's constructor calls it in every translation unit; the runtime starts by itself.
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_init() {}

/// Fortran-style regions in which gcc asks to ignore accesses are not used for C and C++.
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_ignore_thread_begin() {}

/// See [`__tsan_ignore_thread_begin`].
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_ignore_thread_end() {}

/// Inline assembly follows that may access memory, in ways that the compiler does not know.
#[unsafe(no_mangle)]
pub extern "C" fn raddle_unseen_assembly() {
    unseen(limit::ASSEMBLY);
}

/// An intrinsic of the processor follows that accesses memory in part, as under a mask.
#[unsafe(no_mangle)]
pub extern "C" fn raddle_unseen_intrinsic() {
    unseen(limit::INTRINSIC);
}

fn unseen(bit: u64) {
    if run().hot.controlled {
        crate::sched::controller::name_limit(bit);
    }
}
