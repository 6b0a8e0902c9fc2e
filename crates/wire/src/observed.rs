//! What the runtime shares with the plug-in for the emulator, which records the memory accesses of
//! programs that were not built with raddle. Both are in one process and one thread: the plug-in
//! acts while the program's code runs, the runtime while its own does.

use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

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
pub const VERSION: u64 = 2;

/// The number of the system call by which the runtime tells the plug-in where its [`Port`] is. The
/// kernel has no such call.
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
    /// What is known of atomic operations.
    pub atomics: *const AtomicCode,
    /// Where accesses go whose values are hashed.
    pub recent: *const RecentAccesses,
}

/// Accesses between two transitions that can be kept.
pub const MAX_RECENT: usize = 1 << 13;

/// The accesses of the running thread since the runtime has looked at them last, while values are
/// hashed ([`Hot::hashing`]): the detection of loops that wait busily needs them.
#[repr(C)]
pub struct RecentAccesses {
    /// How many there are; more than there is room for: some are missing.
    pub count: AtomicUsize,
    /// Address; then size, number of the thread and [`RecentAccesses::WRITE`].
    pub accesses: [[AtomicU64; 2]; MAX_RECENT],
}

impl RecentAccesses {
    /// Marks a write.
    pub const WRITE: u64 = 1 << 63;
    /// Where the number of the thread begins.
    pub const THREAD: u32 = 32;

    /// Adds one.
    #[inline]
    pub fn add(&self, is_write: bool, address: u64, size: u64, thread: u16) {
        let number = self.count.load(Ordering::Relaxed);
        if let Some(place) = self.accesses.get(number) {
            let what = size | u64::from(thread) << Self::THREAD | if is_write { Self::WRITE } else { 0 };
            place[0].store(address, Ordering::Relaxed);
            place[1].store(what, Ordering::Relaxed);
        }
        self.count.store((number + 1).min(MAX_RECENT + 1), Ordering::Relaxed);
    }
}

/// Instructions that can be known, at most.
pub const MAX_SITES: usize = 1 << 11;
/// Ranges of machine code that the host can name, at most.
pub const MAX_RANGES: usize = 1 << 11;
/// Granules of memory that can be known to hold atomic variables; a power of two.
pub const MAX_PLACES: usize = 1 << 14;
/// Words of a set of granules that were accessed plainly; a power of two.
pub const TOUCHED_WORDS: usize = 1 << 14;

/// Of an entry of [`AtomicCode::sites`]: the instruction is not modelled.
pub const NOT_MODELLED: u64 = 1 << 63;
/// Of an entry of [`AtomicCode::sites`]: its address.
pub const SITE_ADDRESS: u64 = (1 << 56) - 1;

/// The byte that stands in the place of the first one of an instruction that the runtime makes
/// itself: it traps.
pub const TRAP: u8 = 0xcc;

/// What is known of the atomic operations of an observed program: instructions that are to be
/// scheduling points, and bytes whose accesses are atomic. It only grows.
#[repr(C)]
pub struct AtomicCode {
    /// Entries of `sites` in use.
    pub used: AtomicU32,
    /// Ranges in use.
    pub ranges_used: AtomicU32,
    /// Instructions, in the order in which they were met.
    pub sites: [AtomicU64; MAX_SITES],
    /// Code whose accesses are atomic operations of the source, by start and end, in order of
    /// address.
    pub ranges: [[AtomicU64; 2]; MAX_RANGES],
    /// Granules of 8 bytes: number, a bit for each byte of which debug information says that it
    /// belongs to an atomic variable, and a bit for each byte that belongs to one.
    pub places: [AtomicU64; MAX_PLACES],
    /// Hashes of granules that were accessed plainly, in any run.
    pub touched: [AtomicU64; TOUCHED_WORDS],
}

/// Bytes of a granule, of which an entry of [`AtomicCode::places`] has a bit each.
const GRANULE: u64 = 8;

/// Of an entry of [`AtomicCode::places`]: where the bits begin of bytes that debug information
/// names, and the number of the granule.
const NAMED: u32 = 8;
const NUMBER: u32 = 16;

/// A granule and the bytes of it that an access of up to 8 bytes touches, and those of the next
/// one.
fn granules(address: u64, size: u64) -> [(u64, u8); 2] {
    let (granule, offset) = (address / GRANULE, address % GRANULE);
    let bytes = (0xff_u16 >> (GRANULE - size.clamp(1, GRANULE))) << offset;
    [(granule, bytes as u8), (granule + 1, (bytes >> 8) as u8)]
}

fn mixed(granule: u64) -> usize {
    (granule.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize
}

impl AtomicCode {
    /// Nothing.
    #[must_use]
    pub const fn new() -> Self {
        AtomicCode {
            used: AtomicU32::new(0),
            ranges_used: AtomicU32::new(0),
            sites: [const { AtomicU64::new(0) }; MAX_SITES],
            ranges: [const { [const { AtomicU64::new(0) }; 2] }; MAX_RANGES],
            places: [const { AtomicU64::new(0) }; MAX_PLACES],
            touched: [const { AtomicU64::new(0) }; TOUCHED_WORDS],
        }
    }

    /// Names ranges of code, in order of address; false if there is no room for all.
    pub fn name_ranges(&self, ranges: &[(u64, u64)]) -> bool {
        for (place, &(start, end)) in self.ranges.iter().zip(ranges) {
            place[0].store(start, Ordering::Relaxed);
            place[1].store(end, Ordering::Relaxed);
        }
        self.ranges_used.store(ranges.len().min(MAX_RANGES) as u32, Ordering::Relaxed);
        ranges.len() <= MAX_RANGES
    }

    /// All of it as words of the file, in order.
    pub fn words(&self) -> impl Iterator<Item = u64> {
        let counts =
            u64::from(self.used.load(Ordering::Relaxed)) | u64::from(self.ranges_used.load(Ordering::Relaxed)) << 32;
        let tables = self.sites.iter().chain(self.ranges.as_flattened()).chain(&self.places).chain(&self.touched);
        core::iter::once(counts).chain(tables.map(|word| word.load(Ordering::Relaxed)))
    }

    /// The instructions that were met.
    pub fn sites(&self) -> impl Iterator<Item = u64> {
        let used = (self.used.load(Ordering::Relaxed) as usize).min(MAX_SITES);
        self.sites[..used].iter().map(|site| site.load(Ordering::Relaxed))
    }

    /// The entry of an instruction.
    pub fn site(&self, address: u64) -> Option<u64> {
        self.sites().find(|site| site & SITE_ADDRESS == address)
    }

    /// Adds an instruction; false if it is there, or there is no room.
    pub fn add_site(&self, address: u64) -> bool {
        let used = self.used.load(Ordering::Relaxed) as usize;
        let is_new = used < MAX_SITES && self.site(address).is_none();
        if is_new {
            self.sites[used].store(address, Ordering::Relaxed);
            self.used.store(used as u32 + 1, Ordering::Relaxed);
        }
        is_new
    }

    /// Whether the source says that accesses by the instruction are atomic.
    pub fn is_in_range(&self, address: u64) -> bool {
        let used = (self.ranges_used.load(Ordering::Relaxed) as usize).min(MAX_RANGES);
        let ranges = &self.ranges[..used];
        let after = ranges.partition_point(|range| range[0].load(Ordering::Relaxed) <= address);
        after > 0 && address < ranges[after - 1][1].load(Ordering::Relaxed)
    }

    /// The entry of a granule, or the free one where it would be.
    fn place(&self, granule: u64) -> Option<&AtomicU64> {
        let start = mixed(granule);
        let entries = (0..MAX_PLACES / 2).map(|step| &self.places[start.wrapping_add(step) % MAX_PLACES]);
        let is_its = |entry: &u64| *entry == 0 || entry >> NUMBER == granule;
        entries.into_iter().find(|place| is_its(&place.load(Ordering::Relaxed)))
    }

    /// Whether any of the bytes belong to an atomic variable. Sizes above 8 are looked up by their
    /// first 8.
    #[inline]
    pub fn is_place(&self, address: u64, size: u64) -> bool {
        self.is_any(address, size, 0)
    }

    /// Whether debug information says that.
    pub fn is_named_place(&self, address: u64, size: u64) -> bool {
        self.is_any(address, size, NAMED)
    }

    #[inline]
    fn is_any(&self, address: u64, size: u64, shift: u32) -> bool {
        granules(address, size).into_iter().any(|(granule, bytes)| {
            let known = |place: &AtomicU64| (place.load(Ordering::Relaxed) >> shift) as u8 & bytes != 0;
            bytes != 0 && self.place(granule).is_some_and(known)
        })
    }

    /// The bytes belong to an atomic variable; whether that was not known. `None` if there is no
    /// room.
    pub fn add_place(&self, address: u64, size: u64) -> Option<bool> {
        self.add(address, size, false)
    }

    /// The same, by debug information.
    pub fn name_place(&self, address: u64, size: u64) -> Option<bool> {
        self.add(address, size, true)
    }

    fn add(&self, address: u64, size: u64, is_named: bool) -> Option<bool> {
        let mut is_new = false;
        for (granule, bytes) in granules(address, size).into_iter().filter(|(_, bytes)| *bytes != 0) {
            let place = self.place(granule)?;
            let named = if is_named { u64::from(bytes) << NAMED } else { 0 };
            let before = place.fetch_or(granule << NUMBER | named | u64::from(bytes), Ordering::Relaxed);
            is_new |= before as u8 & bytes != bytes;
        }
        Some(is_new)
    }

    /// Whether the granules of the bytes may have been accessed plainly.
    pub fn was_touched(&self, address: u64, size: u64) -> bool {
        let first = address / GRANULE;
        let last = address.saturating_add(size.max(1) - 1) / GRANULE;
        (first..=last).any(|granule| {
            let bit = mixed(granule);
            self.touched[bit / 64 % TOUCHED_WORDS].load(Ordering::Relaxed) >> (bit % 64) & 1 != 0
        })
    }

    /// The bytes are accessed plainly.
    #[inline]
    pub fn touch(&self, address: u64, size: u64) {
        let first = address / GRANULE;
        let last = address.saturating_add(size.max(1) - 1) / GRANULE;
        for granule in first..=last {
            let bit = mixed(granule);
            let word = &self.touched[bit / 64 % TOUCHED_WORDS];
            let before = word.load(Ordering::Relaxed);
            if before >> (bit % 64) & 1 == 0 {
                word.store(before | 1 << (bit % 64), Ordering::Relaxed);
            }
        }
    }
}

impl Default for AtomicCode {
    fn default() -> Self {
        AtomicCode::new()
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use std::boxed::Box;
    use std::vec::Vec;

    #[test]
    fn places_are_known_by_their_bytes() {
        let atomics = Box::new(AtomicCode::new());
        assert_eq!(atomics.add_place(0x1004, 4), Some(true));
        assert_eq!(atomics.add_place(0x1004, 4), Some(false));
        assert!(atomics.is_place(0x1004, 4) && atomics.is_place(0x1000, 8) && atomics.is_place(0x1007, 1));
        assert!(!atomics.is_place(0x1000, 4) && !atomics.is_place(0x1008, 8));
        assert!(!atomics.is_named_place(0x1004, 4));
        assert_eq!(atomics.name_place(0x1006, 1), Some(false));
        assert!(atomics.is_named_place(0x1004, 4) && !atomics.is_named_place(0x1007, 1));
        // Across two granules.
        assert_eq!(atomics.add_place(0x200e, 4), Some(true));
        assert!(atomics.is_place(0x2010, 1) && atomics.is_place(0x200f, 1) && !atomics.is_place(0x2012, 1));
    }

    #[test]
    fn a_full_table_says_so() {
        let atomics = Box::new(AtomicCode::new());
        let added = (1..).map_while(|number| atomics.add_place(number * 8, 8)).count();
        assert!((MAX_PLACES / 2..=MAX_PLACES).contains(&added), "{added}");
        let met = (1..).take_while(|&number| atomics.add_site(number)).count();
        assert_eq!(met, MAX_SITES);
    }

    #[test]
    fn ranges_and_touched_bytes() {
        let atomics = Box::new(AtomicCode::new());
        assert!(!atomics.is_in_range(5));
        assert!(atomics.name_ranges(&[(4, 8), (16, 20)]));
        let inside: Vec<u64> = (0..30).filter(|&address| atomics.is_in_range(address)).collect();
        assert_eq!(inside, [4, 5, 6, 7, 16, 17, 18, 19]);
        atomics.touch(0x3007, 2);
        assert!(atomics.was_touched(0x3000, 8) && atomics.was_touched(0x300f, 1));
        let words: Vec<u64> = atomics.words().collect();
        assert_eq!(words.len() * 8, size_of::<AtomicCode>());
        assert_eq!(words[0], 2 << 32);
    }
}
