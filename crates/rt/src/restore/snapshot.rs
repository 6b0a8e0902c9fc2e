//! Restoring memory between runs, at a cost that depends on what a run writes and not on the size
//! of the process.
//!
//! At the root all private writable memory becomes read-only. The first write to a page faults; its
//! content is saved and the page stays writable (it is *hot*). A restore copies those lines of the
//! hot pages back that differ from what was saved (`cacheline_restore`). A checkpoint in the middle
//! of a run (`checkpoint`) saves the hot pages once more. Pages that become hot later were not
//! written before it, so the root's copy is right for them.

use crate::arch::PAGE;
use crate::arch::vector::fastest_restore;
use crate::restore::cacheline_restore::{self, Habits, Restore};
use crate::state::{process, run_ranges};
use crate::syscall::maps::{Maps, MapsEntry};
use crate::syscall::{self, syscall};

const MAX_REGIONS: usize = 1024;
/// Beyond this many hot pages restoring costs more than a new process.
const MAX_HOT: usize = 1 << 16;
/// Hot pages reserved for what the runtime itself writes at the end of a run that has used up the
/// others.
const LAST_PAGES: usize = 1 << 10;

#[derive(Clone, Copy)]
struct Region {
    start: usize,
    end: usize,
}

/// A page that was written.
#[derive(Clone, Copy)]
struct HotPage {
    address: usize,
    habits: Habits,
    /// How often it was restored, up to [`PATIENCE`].
    restored: u16,
    /// It is read-only again.
    cold: bool,
}

/// A page that was found unchanged this often is made read-only, once: it was written only in early
/// runs, or by writes that change nothing.
const PATIENCE: u16 = 256;

impl HotPage {
    /// Makes it writable if it is not.
    fn heat(&mut self) {
        if self.cold {
            self.cold = false;
            protect(self.address, self.address + PAGE, libc::PROT_READ | libc::PROT_WRITE);
        }
    }

    /// Called when it was restored.
    #[inline]
    fn cool(&mut self) {
        if self.restored < PATIENCE {
            self.restored += 1;
            if self.restored == PATIENCE && self.habits.are_none() {
                self.cold = true;
                protect(self.address, self.address + PAGE, libc::PROT_READ);
            }
        }
    }
}

/// The state of the snapshot. Never part of what it restores.
pub struct Snapshot {
    regions: [Region; MAX_REGIONS],
    region_count: usize,
    hot: *mut HotPage,
    hot_count: usize,
    restore_page: Restore,
    /// The hot pages as they were at the root, in the order of the list.
    root: *mut u8,
    own: [Region; 16],
    own_count: usize,
    protected: bool,
    /// There is memory of the program that is shared with other processes.
    has_shared: bool,
    /// There is writable memory with code: pages stay executable, so that a fault means a write.
    has_code: bool,
}

impl Snapshot {
    /// Nothing saved yet.
    pub const fn new() -> Self {
        const NOWHERE: Region = Region { start: 0, end: 0 };
        Snapshot {
            regions: [NOWHERE; MAX_REGIONS],
            region_count: 0,
            hot: core::ptr::null_mut(),
            hot_count: 0,
            restore_page: cacheline_restore::restore,
            root: core::ptr::null_mut(),
            own: [NOWHERE; 16],
            own_count: 0,
            protected: false,
            has_shared: false,
            has_code: false,
        }
    }

    /// Declares memory that belongs to the process and is never restored.
    pub fn exclude(&mut self, start: usize, bytes: usize) {
        if self.own_count < self.own.len() {
            self.own[self.own_count] =
                Region { start: start & !(PAGE - 1), end: (start + bytes).next_multiple_of(PAGE) };
            self.own_count += 1;
        }
    }

    /// Takes the root: from here on every page is read-only until it is written.
    ///
    /// # Errors
    /// A message if the process has too many mappings or memory is short.
    pub fn take_root(&mut self) -> Result<(), &'static str> {
        let list = syscall::map(MAX_HOT * size_of::<HotPage>()).ok_or("no memory for the list of pages")?;
        let pages = syscall::map(MAX_HOT * PAGE).ok_or("no memory for saved pages")?;
        self.exclude(list as usize, MAX_HOT * size_of::<HotPage>());
        self.exclude(pages as usize, MAX_HOT * PAGE);
        self.hot = list.cast();
        self.restore_page = fastest_restore();
        self.root = pages;
        grow_main_stack();
        let own = crate::sched::startup::module_range();
        self.collect(own)?;
        for region in &self.regions[..self.region_count] {
            protect(region.start, region.end, libc::PROT_READ);
        }
        self.protected = true;
        Ok(())
    }

    /// Whether memory of the program was shared with other processes at the root.
    pub fn has_shared(&self) -> bool {
        self.has_shared
    }

    /// Handles a write fault; `false` if the page is not the snapshot's.
    pub fn fault(&mut self, address: usize) -> bool {
        let page = address & !(PAGE - 1);
        if self.reheat(page) {
            return true;
        }
        if !self.holds(page) {
            return false;
        }
        if self.hot_count == MAX_HOT {
            return self.release();
        }
        let index = self.hot_count;
        // SAFETY: `index` is below MAX_HOT, the room of both lists; the page is readable, being in
        // a region.
        unsafe {
            let saved = self.root.add(index * PAGE);
            core::ptr::copy_nonoverlapping(page as *const u8, saved, PAGE);
            self.hot.add(index).write(HotPage {
                address: page,
                habits: Habits::new(saved.cast()),
                restored: 0,
                cold: false,
            });
        }
        self.hot_count += 1;
        protect(page, page + PAGE, libc::PROT_READ | libc::PROT_WRITE);
        true
    }

    /// In a process that makes one run: the program changes mappings or access rights from before
    /// the run, so that pages are no longer watched.
    pub fn give_up(&mut self) {
        if self.protected {
            self.release();
        }
    }

    /// In a process that makes one run, pages are only watched for a proof about a spin loop.
    /// There, the snapshot is given up if it is full.
    fn release(&mut self) -> bool {
        if process().forks() {
            self.protected = false;
            for region in &self.regions[..self.region_count] {
                protect(region.start, region.end, libc::PROT_READ | libc::PROT_WRITE);
            }
        }
        !self.protected
    }

    /// Makes a hot page writable that has become read-only again; `false` if it is not such a page.
    fn reheat(&self, page: usize) -> bool {
        let Some(hot) = self.hot().iter_mut().find(|hot| hot.cold && hot.address == page) else { return false };
        hot.heat();
        true
    }

    /// Whether the address lies in memory that is restored.
    fn holds(&self, address: usize) -> bool {
        self.protected
            && self.regions[..self.region_count].iter().any(|region| region.start <= address && address < region.end)
    }

    /// Whether a write to the address would make more pages hot than a snapshot can have: then the
    /// run needs a process of its own.
    pub fn is_exhausted_by(&self, address: usize) -> bool {
        self.hot_count >= MAX_HOT - LAST_PAGES && self.holds(address)
    }

    /// Makes the pages of a range writable, for system calls that would fail on a protected page
    /// instead of faulting.
    pub fn touch(&mut self, start: usize, bytes: usize) {
        if !self.protected || bytes == 0 {
            return;
        }
        let mut page = start & !(PAGE - 1);
        while page < start.saturating_add(bytes) {
            if !self.is_hot(page) {
                if self.is_exhausted_by(page) {
                    crate::restore::undo::needs_own_process();
                }
                // Ends at a page that is not the snapshot's: the length may be wrong.
                if !self.fault(page) {
                    return;
                }
            }
            page += PAGE;
        }
    }

    fn hot(&self) -> &'static mut [HotPage] {
        if self.hot_count == 0 {
            return &mut [];
        }
        // SAFETY: `hot_count` entries are initialised and stay where they are; callers keep no two
        // references.
        unsafe { core::slice::from_raw_parts_mut(self.hot, self.hot_count) }
    }

    fn is_hot(&self, page: usize) -> bool {
        self.hot().iter().any(|hot| hot.address == page && !hot.cold)
    }

    /// How many pages a saved state has now.
    pub fn hot_pages(&self) -> usize {
        self.hot_count
    }

    /// Whether the root was taken: every page that was written since is hot.
    pub fn is_taken(&self) -> bool {
        self.protected
    }

    /// Address of a hot page, and its content at the root.
    pub fn hot_page(&self, index: usize) -> (usize, *mut u8) {
        (self.hot()[index].address, self.root.wrapping_add(index * PAGE))
    }

    /// Saves the present state.
    ///
    /// # Safety
    /// There must be room for [`Self::hot_pages`] pages, outside of what is restored.
    pub unsafe fn save(&self, into: *mut u8) {
        for (index, page) in self.hot().iter().enumerate() {
            // SAFETY: a hot page of the program, and the caller's promise.
            unsafe { core::ptr::copy_nonoverlapping(page.address as *const u8, into.add(index * PAGE), PAGE) };
        }
    }

    /// Restores the state at the root.
    pub fn restore(&mut self) {
        // SAFETY: no page comes from elsewhere.
        unsafe { self.restore_from(core::ptr::null(), 0) };
    }

    /// Restores a state that was saved when this many pages were hot.
    ///
    /// # Safety
    /// They must be what [`Self::save`] has written.
    pub unsafe fn restore_from(&mut self, saved: *const u8, pages: usize) {
        let (checkpoint, later) = self.hot().split_at_mut(pages.min(self.hot_count));
        for (index, page) in checkpoint.iter_mut().enumerate() {
            page.heat();
            // SAFETY: hot pages are writable; the caller's promise.
            unsafe { core::ptr::copy_nonoverlapping(saved.add(index * PAGE), page.address as *mut u8, PAGE) };
        }
        for (index, page) in later.iter_mut().enumerate().filter(|(_, page)| !page.cold) {
            let original = self.root.wrapping_add((pages + index) * PAGE).cast();
            // SAFETY: hot pages are writable, and the root has as many; there is no other reference
            // to either.
            unsafe { (self.restore_page)(page.address as *mut _, original, &mut page.habits) };
            page.cool();
        }
    }

    /// Collects all private writable memory that is not the runtime's.
    fn collect(&mut self, module: (usize, usize)) -> Result<(), &'static str> {
        self.exclude(module.0, module.1 - module.0);
        let mut maps = Maps::open().ok_or("cannot read /proc/self/maps: /proc has to be mounted")?;
        while let Some(mapping) = maps.next() {
            if mapping.private && mapping.writable && mapping.readable {
                self.has_code |= mapping.executable;
                self.add_around(mapping.start, mapping.end)?;
            }
            self.has_shared |= is_programs_shared(&mapping);
        }
        // The state of the run lies within the module that was left out as a whole.
        run_ranges().into_iter().try_for_each(|(start, bytes)| self.add(start, start + bytes))
    }

    /// Adds a range without the parts that belong to the runtime.
    fn add_around(&mut self, start: usize, end: usize) -> Result<(), &'static str> {
        let mut at = start;
        while at < end {
            let within = self.own[..self.own_count].iter().find(|own| own.start <= at && at < own.end);
            if let Some(own) = within {
                at = own.end;
                continue;
            }
            let own = self.own[..self.own_count].iter().map(|own| own.start).filter(|&s| s > at).min();
            let stop = own.unwrap_or(end).min(end);
            self.add(at, stop)?;
            at = stop;
        }
        Ok(())
    }

    fn add(&mut self, start: usize, end: usize) -> Result<(), &'static str> {
        if start >= end {
            return Ok(());
        }
        if self.region_count == MAX_REGIONS {
            return Err("the program has more separate mappings than a snapshot can hold");
        }
        self.regions[self.region_count] = Region { start, end };
        self.region_count += 1;
        Ok(())
    }
}

/// Whether memory is shared with other processes, and is not the file that the runtime shares with
/// the host.
pub fn is_programs_shared(mapping: &MapsEntry) -> bool {
    let shared_file = process().control as usize;
    !mapping.private && mapping.writable && !(mapping.start..mapping.end).contains(&shared_file)
}

/// Grows the main thread's stack to the size that the system allows: memory that it grows into
/// later would be in no region, and read-only like its upper part.
fn grow_main_stack() {
    const ENOUGH: u64 = 64 << 20;
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: asks for a limit, into the local.
    let failed = unsafe { syscall!(libc::SYS_prlimit64, 0usize, libc::RLIMIT_STACK, 0usize, &raw mut limit) } < 0;
    let (start, end) = crate::sched::startup::mapping_around(process().pool[0].stack.1 - 1);
    let lowest = end.saturating_sub(limit.rlim_cur.min(ENOUGH) as usize) & !(PAGE - 1);
    if !failed && lowest > 0 && lowest + PAGE < start {
        // SAFETY: lets the kernel read an empty set of signals there, which makes the stack grow;
        // the kernel fails if it cannot.
        unsafe { syscall!(libc::SYS_rt_sigprocmask, libc::SIG_BLOCK, lowest + PAGE, 0usize, 8usize) };
    }
}

fn protect(start: usize, end: usize, protection: i32) {
    let code = if process().snapshot.has_code { libc::PROT_EXEC } else { 0 };
    // SAFETY: changes the protection of private memory; writes to it are caught by the fault
    // handler.
    unsafe { syscall!(libc::SYS_mprotect, start, end - start, protection | code) };
}

/// Makes a buffer writable before the kernel writes to it.
pub fn touch(start: *const u8, bytes: usize) {
    process().snapshot.touch(start as usize, bytes);
}
