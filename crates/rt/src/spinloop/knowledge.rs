//! What the runtime has learned about spin loops. It lies in the shared file, so that it survives
//! the end of a run and is common to forked runs.

use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

use raddle_vocab::policy::mix;
use raddle_wire::{SPIN_ENTRIES, SPIN_OFFSET, SPIN_PLACES, SpinKnowledge, job_flag};

use crate::sched;
use crate::spinloop::loop_head::ReadHistory;
use crate::spinloop::{last_round, observation, read_set};
use crate::state::{AnnouncedOp, Fiber, Handover, process, run};

/// Fruitless examinations after which a place is not examined any more.
pub const MAX_FRUITLESS: u64 = 8;
/// Count of a place where a loop was found.
pub const IS_LOOP: u64 = 1 << 32;
/// Added to the count of a place when a round there was observed to change something.
const CHANGE: u64 = 1 << 40;
/// Such rounds after which no more are observed there: the loop is taken to do more than wait.
const MAX_CHANGES: u64 = 32;
/// Bits of a table entry that hold the verdict; the others are the key.
const VERDICT: u64 = 15;

/// What is known of a read by a thread in a certain state.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ReadVerdict(u64);

impl ReadVerdict {
    /// The thread goes on behind it.
    pub const GOES_ON: ReadVerdict = ReadVerdict(0);
    /// Bits that hold the number of reads of the round.
    const LENGTH: u64 = 7;
    /// The round locks and unlocks.
    const LOCKS: u64 = 8;

    /// It ends a failed round of so many reads.
    pub const fn failed_round(reads: usize, locks: bool) -> Self {
        let length = if reads as u64 > Self::LENGTH { Self::LENGTH } else { reads as u64 };
        ReadVerdict(length | if locks { Self::LOCKS } else { 0 })
    }

    /// Whether it ends a failed round.
    pub fn is_failed_round(self) -> bool {
        self != Self::GOES_ON
    }

    /// Whether the round locks and unlocks.
    pub fn locks(self) -> bool {
        self.0 & Self::LOCKS != 0
    }

    /// Reads of the round before the last one.
    pub fn earlier_reads(self) -> usize {
        self.0.saturating_sub(1) as usize
    }
}

/// The tables in the shared file.
pub fn knowledge() -> &'static SpinKnowledge {
    // SAFETY: the file stays mapped and has room for it; everything in it is atomic.
    unsafe { &*process().file.add(SPIN_OFFSET).cast::<SpinKnowledge>() }
}

/// Called when a run starts, at the root or a checkpoint. Values are hashed if a thread was seen to
/// return to a read in this or an earlier run. Rounds that threads were in before that are
/// forgotten, because too little is known of them.
pub fn begin_run() {
    let run = run();
    let seen = knowledge().seen.load(Relaxed) != 0;
    run.watches_early = has_idle_places();
    if !process().resumed {
        run.knows_pasts = seen;
    }
    if seen != run.hot.hashing {
        run.hot.hashing = seen;
        run.fibers[..run.threads].iter_mut().for_each(|fiber| fiber.read_history = ReadHistory::EMPTY);
    }
}

/// A thread has returned to a read or a lock: from now on values are hashed. Restarts the run.
pub fn start_observing() -> ! {
    knowledge().seen.store(1, Relaxed);
    restart_run()
}

/// Tells a longer round from other facts.
const LONGER: u64 = 0x6c6f_6e67 << 24;

/// Threads that wait busily at this place are held behind the beginning of their round.
pub fn note_longer_round(pc: u64) {
    if insert(fact_key(pc ^ LONGER), ReadVerdict::GOES_ON) {
        // Where threads are inside such a round has to be known from the start of a search.
        knowledge().found.fetch_add(1, Relaxed);
    }
}

/// Whether that was noted.
pub fn begins_longer_round(pc: u64) -> bool {
    look_up(fact_key(pc ^ LONGER)).is_some()
}

/// Tells whether clocks are read from other facts.
const CLOCK: u64 = 0x636c_6f63 << 24;

/// A thread reads its clock. Keys of states leave clocks out as long as no thread does so in any
/// run.
pub fn note_clock_reading() {
    let is_new = insert(fact_key(CLOCK), ReadVerdict::GOES_ON);
    if is_new && process().plan.flags & job_flag::KEYS != 0 {
        // States may have been compared without their clocks.
        knowledge().found.fetch_add(1, Relaxed);
    }
}

/// Whether a thread has read its clock, in this run or before.
pub fn are_clocks_read() -> bool {
    look_up(fact_key(CLOCK)).is_some()
}

/// Number of places where threads were found to wait busily.
pub fn places_found() -> u32 {
    knowledge().found.load(Relaxed)
}

/// Behind how many transitions a thread shall run alone in the run that starts now.
pub fn examine_at() -> u32 {
    match knowledge().examine_at.load(Relaxed) {
        0 => u32::MAX,
        at => at,
    }
}

/// Abandons the run and starts it again.
pub fn restart_run() -> ! {
    observation::end();
    last_round::cancel();
    run().hot.controlled = false;
    process().handover = Handover::Restart;
    loop {
        sched::to_controller();
    }
}

/// What the state of a new thread follows from: threads that do the same differ by their arguments.
pub fn first_history(key: u64, (function, argument): (usize, usize)) -> u64 {
    mix(key ^ mix(function as u64 ^ mix(argument as u64)))
}

/// The state of a thread before a read at this place, as far as it decides what the thread does
/// next.
pub fn reader(fiber: &Fiber, values: u64, op: &AnnouncedOp) -> u64 {
    mix(fiber.history ^ mix(values ^ op.pc) ^ u64::from(read_set::is_stack_shared(fiber.slot)))
}

/// Key of a read in the table: the state of the thread and the value that it would read.
pub fn key(fiber: &Fiber, values: u64, op: &AnnouncedOp, value: u64) -> u64 {
    mix(reader(fiber, values, op) ^ mix(op.obj ^ (op.kind as u64) << 56 ^ mix(value))) & !VERDICT
}

/// Key of a fact that is not about a read.
pub fn fact_key(what: u64) -> u64 {
    mix(what) & !VERDICT
}

/// The verdict about a read; `None` if nothing is known of it.
pub fn look_up(key: u64) -> Option<ReadVerdict> {
    let table = &knowledge().table;
    // A program may have overwritten the table: the search ends all the same.
    for step in 0..SPIN_ENTRIES {
        match table[((key as usize >> 8) + step) % SPIN_ENTRIES].load(Relaxed) {
            0 => return None,
            entry if entry & !VERDICT == key => return Some(ReadVerdict(entry & VERDICT)),
            _ => {}
        }
    }
    None
}

/// Adds a verdict; false if there is one for this read, or no room.
pub fn insert(key: u64, verdict: ReadVerdict) -> bool {
    let knowledge = knowledge();
    // A table that is nearly full is slow, and a search in one that is full would not end.
    if knowledge.used.load(Relaxed) as usize > SPIN_ENTRIES * 3 / 4 || look_up(key).is_some() {
        return false;
    }
    let mut index = key as usize >> 8;
    loop {
        index %= SPIN_ENTRIES;
        if knowledge.table[index].load(Relaxed) == 0 {
            knowledge.table[index].store(key | verdict.0, Relaxed);
            knowledge.used.fetch_add(1, Relaxed);
            return true;
        }
        index += 1;
    }
}

/// Whether any verdict is known.
pub fn has_verdicts() -> bool {
    knowledge().used.load(Relaxed) > 0
}

/// Fruitless examinations at the place that threads return to, or [`IS_LOOP`]. `None` if there are
/// too many places.
pub fn examinations(pc: u64) -> Option<u64> {
    place(pc).map(|count| count.load(Relaxed) % CHANGE)
}

/// Whether threads were found to wait busily at this place.
pub fn is_loop(pc: u64) -> bool {
    let places = knowledge().places.as_chunks::<2>().0;
    let start = mix(pc) as usize;
    let entries = (0..SPIN_PLACES).map(|n| &places[(start.wrapping_add(n)) % SPIN_PLACES]);
    let mut known = entries.take_while(|[at, _]| at.load(Relaxed) != 0);
    known.any(|[at, count]| at.load(Relaxed) == pc && count.load(Relaxed) % CHANGE == IS_LOOP)
}

/// An examination at this place was fruitless. A place where a loop was found stays one.
pub fn note_fruitless(pc: u64) {
    if let Some(count) = place(pc).filter(|count| count.load(Relaxed) % CHANGE < IS_LOOP) {
        count.fetch_add(1, Relaxed);
    }
}

/// A round at this place was observed to change something.
pub fn note_change(pc: u64) {
    if let Some(count) = place(pc) {
        count.fetch_add(CHANGE, Relaxed);
    }
}

/// Whether that happened so often that no more rounds are observed there.
pub fn changes_often(pc: u64) -> bool {
    place(pc).is_none_or(|count| count.load(Relaxed) / CHANGE >= MAX_CHANGES)
}

/// Tells places of idle rounds from those of loops that wait busily.
const IDLE: u64 = 0x726f_756e << 24;

/// A thread has made a round from this place without an effect.
pub fn note_idle_place(pc: u64) {
    note_loop(mix(pc ^ IDLE));
    note_loop(IDLE);
}

/// Whether that was noted.
pub fn is_idle_place(pc: u64) -> bool {
    has_idle_places() && examinations(mix(pc ^ IDLE)) == Some(IS_LOOP)
}

/// Whether that was noted of any place.
pub fn has_idle_places() -> bool {
    examinations(IDLE) == Some(IS_LOOP)
}

/// Tells places of loops without an end from others.
const ENDLESS: u64 = 0x656e_646c << 24;

/// A thread that goes round from this place does not end that by itself, and leaves something
/// behind in each round.
pub fn note_endless_place(pc: u64) {
    note_loop(mix(pc ^ ENDLESS));
    note_loop(IDLE);
}

/// Whether that was noted.
pub fn is_endless_place(pc: u64) -> bool {
    has_idle_places() && is_loop(mix(pc ^ ENDLESS))
}

/// Tells places of such loops that others may end.
const CONTESTED: u64 = 0x636f_6e74 << 24;

/// Another thread may end, or see, what a thread does that goes round from this place.
pub fn note_contested_place(pc: u64) {
    note_loop(mix(pc ^ CONTESTED));
}

/// Whether that was noted.
pub fn is_contested_place(pc: u64) -> bool {
    is_loop(mix(pc ^ CONTESTED))
}

/// A thread that went round from this place has ended that by itself.
pub fn note_trial(pc: u64) {
    note_fruitless(mix(pc ^ ENDLESS));
}

/// How often that was noted.
pub fn trials(pc: u64) -> u64 {
    examinations(mix(pc ^ ENDLESS)).unwrap_or(IS_LOOP - 1)
}

/// The counts of the place that threads return to. `None` if there are too many places.
fn place(pc: u64) -> Option<&'static AtomicU64> {
    let places = knowledge().places.as_chunks::<2>().0;
    let start = mix(pc) as usize;
    (0..SPIN_PLACES).map(|n| &places[(start.wrapping_add(n)) % SPIN_PLACES]).find_map(|[at, count]| {
        let _ = at.compare_exchange(0, pc, Relaxed, Relaxed);
        (at.load(Relaxed) == pc).then_some(count)
    })
}

/// Threads wait busily at this place.
pub fn note_loop(pc: u64) {
    let Some(count) = place(pc) else { return };
    let changes = count.load(Relaxed) / CHANGE * CHANGE;
    if count.swap(changes | IS_LOOP, Relaxed) % CHANGE != IS_LOOP {
        knowledge().found.fetch_add(1, Relaxed);
    }
}
