//! Restoring a page by its cache lines. A run writes to a few lines of a page, nearly always the
//! same as earlier runs: these are copied, and all others are only compared. The cost is the memory
//! that is read: of a saved page, only the lines that are not zero.

use crate::arch::{CACHE_LINE_WORDS, PAGE};

/// One line of a page.
type Line = [u64; CACHE_LINE_WORDS];
/// A page: one line for each bit of [`Habits`].
pub type Page = [Line; PAGE / size_of::<Line>()];

const _: () = assert!(PAGE / size_of::<Line>() == u64::BITS as usize, "a page has a line for each bit of `Habits`");

#[repr(align(64))]
struct Aligned(Line);

static ZERO: Aligned = Aligned([0; CACHE_LINE_WORDS]);

/// What earlier restores of a page have shown.
#[derive(Clone, Copy)]
pub struct Habits {
    /// Lines that were found changed, a bit each.
    changed: u64,
    /// Lines of the saved page that are zero, a bit each: these need not be read.
    zero: u64,
}

impl Habits {
    /// Of a page that was never restored.
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

/// Makes the first page equal to the second.
pub type Restore = unsafe fn(*mut Page, *const Page, &mut Habits);

/// See [`Restore`].
///
/// # Safety
/// Both pages must be mapped, the first writable, and there must be no reference to either; the
/// habits must be those of the pair.
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

/// Compares everything without a branch. This is faster than stopping at the first difference,
/// because there is rarely one.
#[inline(always)]
fn is_same(page: &Page, saved: Saved) -> bool {
    let mut all = [0; CACHE_LINE_WORDS];
    if saved.zero == u64::MAX {
        for line in page {
            (0..CACHE_LINE_WORDS).for_each(|word| all[word] |= line[word]);
        }
    } else {
        for (index, line) in page.iter().enumerate() {
            let original = saved.line(index);
            (0..CACHE_LINE_WORDS).for_each(|word| all[word] |= line[word] ^ original[word]);
        }
    }
    all == [0; CACHE_LINE_WORDS]
}

#[cold]
#[inline(never)]
fn differences(page: &Page, saved: &Page) -> u64 {
    (0..page.len()).filter(|&index| page[index] != saved[index]).fold(0, |mask, index| mask | 1 << index)
}
