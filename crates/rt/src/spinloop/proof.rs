//! Proofs that a round changes nothing.
//!
//! A round that looks like a failed one is not folded at once. The run is restarted, and the thread
//! is observed ([`observation`]) from the beginning of that round to its end, with the same
//! operations of other threads in between. The schedule is the same, so the thread gets there
//! again. If it has changed nothing, the round is folded. Otherwise the read goes on, and this is
//! remembered by the state of the thread, as every verdict is.

use core::sync::atomic::Ordering::Relaxed;

use crate::spinloop::knowledge::{self, ReadVerdict, insert, knowledge, restart_run};
use crate::spinloop::observation::{self, Change};
use crate::state::run;

/// Values of `proof_answer`.
const OPEN: u32 = 0;
const CHANGES_NOTHING: u32 = 1;
const CHANGES_TIME: u32 = 2;
const GOES_ON: u32 = 3;

/// Called when the running thread has entered the runtime for an operation that it would perform at
/// `pc`, in a run in which states are recorded.
pub fn arriving(pc: u64) {
    let knowledge = knowledge();
    if knowledge.proof_key.load(Relaxed) == 0
        || knowledge.proof_thread.load(Relaxed) != u32::from(run().hot.tid)
        || knowledge.proof_answer.load(Relaxed) != OPEN
    {
        return;
    }
    let [from, to] = knowledge.proof_round.each_ref().map(|steps| steps.load(Relaxed));
    let steps = run().me().steps;
    if steps == to {
        let answer = match observation::change(pc) {
            Change::Nothing => CHANGES_NOTHING,
            Change::Time => CHANGES_TIME,
            Change::More => GOES_ON,
        };
        knowledge.proof_answer.store(answer, Relaxed);
    } else if steps == from {
        observation::begin();
    }
}

/// Whether it is proved that the running thread changed nothing in the round between these two
/// numbers of its transitions, which would make the read with this key the end of a failed round.
/// Restarts the run if that has not been observed.
pub fn holds(key: u64, round: [u32; 2], pc: u64) -> bool {
    match change(key, round, pc) {
        Some(Change::Nothing) => true,
        Some(_) => {
            knowledge::note_change(pc);
            insert(key, ReadVerdict::GOES_ON);
            false
        }
        None => false,
    }
}

/// What the running thread was observed to change in the round between these two numbers of its
/// transitions; `None` if rounds at `pc` change something so often that no more are observed.
/// Restarts the run if the round has not been observed. The key tells such questions apart.
pub fn change(key: u64, round: [u32; 2], pc: u64) -> Option<Change> {
    let knowledge = knowledge();
    let thread = u32::from(run().hot.tid);
    let observed = knowledge.proof_round.each_ref().map(|steps| steps.load(Relaxed));
    let is_observed =
        (knowledge.proof_key.load(Relaxed), knowledge.proof_thread.load(Relaxed), observed) == (key, thread, round);
    if is_observed {
        forget();
        return Some(match knowledge.proof_answer.load(Relaxed) {
            CHANGES_NOTHING => Change::Nothing,
            CHANGES_TIME => Change::Time,
            _ => Change::More,
        });
    }
    if knowledge::changes_often(pc) {
        return None;
    }
    knowledge.proof_answer.store(OPEN, Relaxed);
    knowledge.proof_thread.store(thread, Relaxed);
    knowledge.proof_round.iter().zip(round).for_each(|(word, steps)| word.store(steps, Relaxed));
    knowledge.proof_key.store(key, Relaxed);
    restart_run()
}

/// Whether the run that starts now is to be observed.
pub fn is_wanted() -> bool {
    knowledge().proof_key.load(Relaxed) != 0
}

/// Nothing is to be proved: called at the end of a run, too, since the next one may have another
/// schedule.
pub fn forget() {
    knowledge().proof_key.store(0, Relaxed);
}
