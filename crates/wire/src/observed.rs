//! What the runtime shares with the plug-in for the emulator, which records the memory accesses of
//! programs that were not built with raddle. Both are in one process and one thread: the plug-in acts
//! while the program's code runs, the runtime while its own does.

use core::sync::atomic::{AtomicU64, AtomicUsize};

/// What the hooks of plain accesses need, in one cache line.
#[repr(C, align(64))]
pub struct Hot {
    /// Whether hooks record and operations are modelled.
    pub controlled: bool,
    /// Run-local number of the running thread.
    pub tid: u16,
    /// Accesses of the running thread since its last transition.
    pub count: u32,
    /// The hook leaves its fast path when `count` reaches this.
    pub stop_at: u32,
    /// Changes with every transition and switch, which invalidates what the filter knows.
    pub epoch: u64,
    /// Where the next record goes.
    pub next: *mut u64,
    /// End of the room for records (a reserve for the end of the run lies behind it).
    pub end: *mut u64,
    /// Records that may still be written.
    pub events_left: i64,
    /// Lowest and one past the highest address of the running thread's stack.
    pub stack: (usize, usize),
    /// Whether the program asked not to record the running thread's accesses.
    pub ignoring: bool,
    /// Whether the running thread wrote outside its own stack since the flag was cleared.
    pub wrote: bool,
    /// Whether values that are read are hashed.
    pub hashing: bool,
    /// Whether neighbouring accesses of one place are one record.
    pub joins: bool,
    /// Hash of what the running thread has read.
    pub values: u64,
}

impl Hot {
    /// Before the first run.
    pub const NEW: Hot = Hot {
        controlled: false,
        tid: 0,
        count: 0,
        stop_at: u32::MAX,
        epoch: 1,
        next: core::ptr::null_mut(),
        end: core::ptr::null_mut(),
        events_left: 0,
        stack: (0, 0),
        ignoring: false,
        wrote: false,
        hashing: false,
        joins: false,
        values: 0,
    };
}

/// Changes with the meaning of anything here.
pub const VERSION: u64 = 1;

/// The number of the system call by which the runtime tells the plug-in where its [`Port`] is. The kernel
/// has no such call.
pub const ATTACH: i64 = 0x5241_4444;

/// What the signal carries by which the plug-in asks for the runtime.
pub const REQUEST: u64 = 0x7261_6464_6c65;

/// How the paths of installed libraries begin. They are not observed.
pub const INSTALLED: [&str; 3] = ["/lib/", "/lib64/", "/usr/"];

/// Segments of code that are observed, at most.
pub const MAX_SEGMENTS: usize = 64;

/// Segments by start and end, up to the first that ends at 0.
pub type Segments = [[AtomicUsize; 2]; MAX_SEGMENTS];

/// Where plug-in and runtime meet.
#[repr(C)]
pub struct Port {
    /// [`VERSION`] of the runtime.
    pub version: u64,
    /// Written by the plug-in: its own [`VERSION`].
    pub attached: AtomicU64,
    /// The state that accesses change.
    pub hot: *mut Hot,
    /// The program's code.
    pub code: *const Segments,
    /// Limits that the host is told of.
    pub limits: *const AtomicU64,
    /// Changes when bytes get another owner: accesses to them that were made before are others.
    pub owners: *const AtomicU64,
}
