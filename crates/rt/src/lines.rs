//! Putting a page back by its cache lines. A run writes to a few lines of a page, nearly always the same as the runs before: these
//! are copied, and all others are only looked at. What it costs is the memory that is read: of a saved page, only what is not zero.

/// One line of a page.
type Line = [u64; 8];
/// A page.
pub type Page = [Line; 64];

#[repr(align(64))]
struct Aligned(Line);

static ZERO: Aligned = Aligned([0; 8]);

/// What is known about a page that is put back again and again.
#[derive(Clone, Copy)]
pub struct Habits {
    /// Lines that were found changed, a bit each.
    changed: u64,
    /// Lines of the saved page that are zero, a bit each: it is not read where it need not be.
    zero: u64,
}

impl Habits {
    /// Those of a page that was never put back.
    ///
    /// # Safety
    /// The saved page must be readable.
    pub unsafe fn new(saved: *const Page) -> Self {
        // SAFETY: the caller's promise.
        let saved = unsafe { &*saved };
        let zero = (0..saved.len()).filter(|&index| saved[index] == ZERO.0).fold(0, |mask, index| mask | 1 << index);
        Habits { changed: 0, zero }
    }

    /// Whether the page was always found as it was saved.
    pub fn are_none(&self) -> bool {
        self.changed == 0
    }
}

/// Makes the first page as the second.
pub type Restore = unsafe fn(*mut Page, *const Page, &mut Habits);

/// See [`Restore`].
///
/// # Safety
/// Both pages must be there, the first writable, and no reference may lead to either; the habits must be those of the pair.
#[inline(always)]
pub unsafe fn restore(page: *mut Page, saved: *const Page, habits: &mut Habits) {
    // SAFETY: the caller's promise.
    let (page, saved) = unsafe { (&mut *page, Saved { page: &*saved, zero: habits.zero }) };
    copy(page, saved, habits.changed);
    if !is_same(page, saved) {
        let changed = differences(page, saved.page);
        copy(page, saved, changed);
        habits.changed |= changed;
    }
}

/// A saved page, and which of its lines are zero.
#[derive(Clone, Copy)]
struct Saved<'a> {
    page: &'a Page,
    zero: u64,
}

impl Saved<'_> {
    #[inline(always)]
    fn line(&self, index: usize) -> &Line {
        if self.zero >> index & 1 != 0 { &ZERO.0 } else { &self.page[index] }
    }
}

#[inline(always)]
fn copy(page: &mut Page, saved: Saved, lines: u64) {
    let mut rest = lines;
    while rest != 0 {
        let index = rest.trailing_zeros() as usize;
        page[index] = *saved.line(index);
        rest &= rest - 1;
    }
}

/// Looks at everything without a branch, which is quicker than to stop at the first difference: there hardly ever is one.
#[inline(always)]
fn is_same(page: &Page, saved: Saved) -> bool {
    let mut all = [0; 8];
    if saved.zero == u64::MAX {
        for line in page {
            (0..8).for_each(|word| all[word] |= line[word]);
        }
    } else {
        for (index, line) in page.iter().enumerate() {
            let original = saved.line(index);
            (0..8).for_each(|word| all[word] |= line[word] ^ original[word]);
        }
    }
    all == [0; 8]
}

#[cold]
#[inline(never)]
fn differences(page: &Page, saved: &Page) -> u64 {
    (0..page.len()).filter(|&index| page[index] != saved[index]).fold(0, |mask, index| mask | 1 << index)
}

/// [`restore`] with wider registers.
///
/// # Safety
/// As [`restore`]; the processor must have AVX2.
#[target_feature(enable = "avx2")]
unsafe fn restore_wide(page: *mut Page, saved: *const Page, habits: &mut Habits) {
    // SAFETY: the caller's promise.
    unsafe { restore(page, saved, habits) };
}

/// The best that this processor can do.
pub fn fastest() -> Restore {
    if has_avx2() { restore_wide } else { restore }
}

/// Whether processor and kernel know AVX2.
fn has_avx2() -> bool {
    use core::arch::x86_64::{__cpuid, __cpuid_count, _xgetbv};
    const SAVES_STATE: u32 = 1 << 27;
    const AVX2: u32 = 1 << 5;
    const WIDE_REGISTERS: u64 = 6;
    #[target_feature(enable = "xsave")]
    fn enabled_state() -> u64 {
        // SAFETY: reads a register.
        unsafe { _xgetbv(0) }
    }
    let (highest, features) = (__cpuid(0).eax, __cpuid(1).ecx);
    highest >= 7
        && features & SAVES_STATE != 0
        // SAFETY: the kernel has switched the instruction on, says the bit.
        && unsafe { enabled_state() } & WIDE_REGISTERS == WIDE_REGISTERS
        && __cpuid_count(7, 0).ebx & AVX2 != 0
}
