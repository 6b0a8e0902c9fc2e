//! aarch64 with the procedure call standard of Arm (AAPCS64), on Linux.

pub mod atomic16;
pub mod atomic_code;
pub mod code;
pub mod context;
pub mod counter;
pub mod entry;
pub mod import_stub;
pub mod signal;
pub mod syscall;
pub mod tls;
pub mod unwind;
pub mod variadic;
pub mod vector;
pub mod watched_call;

/// Bytes of a page. Kernels with larger ones are refused at the start.
pub const PAGE: usize = 4096;
/// Bytes below the stack pointer that code may use: none.
pub const RED_ZONE: usize = 0;
/// Flag of `mmap` that asks for an address in the low 2 GiB: there is none.
pub const MAP_LOW: i32 = 0;

/// Bytes at the end of a mutex of the C library that nothing uses.
pub const MUTEX_PADDING: u64 = 8;

/// Bits of the addresses of programs, at most.
pub const ADDRESS_BITS: u32 = 48;

/// Words of 8 bytes in a cache line.
pub const CACHE_LINE_WORDS: usize = 8;

/// Heap arenas start here. Kernels for small boards have addresses of 39 bits: programs are at
/// `0x55_...` there, libraries and stacks at `0x7f_...`.
pub const HEAP_BASE: usize = 0x08_0000_0000;

/// log2 of the bytes of an arena.
pub const HEAP_ARENA_BITS: u32 = 29;

/// Mappings of the program start here, those of each pool slot at a distance of their own, so that
/// the address of a mapping depends on no other thread.
pub const MAPPINGS_BASE: usize = 0x28_0000_0000;

/// log2 of the distance between the mappings of two pool slots.
pub const MAPPINGS_SLOT_BITS: u32 = 29;
/// Mappings that have no room there: those of each pool slot begin at a distance of their own, and
/// may go beyond it.
pub const LARGE_MAPPINGS: core::ops::Range<usize> = 0x58_0000_0000..0x78_0000_0000;
/// log2 of the distance between the beginnings for two pool slots.
pub const LARGE_MAPPINGS_SLOT_BITS: u32 = 29;
/// Lowest address of mappings that the program wants below 2 GiB.
pub const LOW_MAPPINGS: usize = 0x4000_0000;
/// Bytes of them for each pool entry.
pub const LOW_MAPPINGS_OF_SLOT: usize = 4 << 20;
