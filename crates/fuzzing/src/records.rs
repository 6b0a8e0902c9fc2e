//! Records from the shared memory.

use raddle_exec::decode::{Decoder, RunResult, plain_accesses};
use raddle_model::{DefectFinder, Execution};
use raddle_vocab::RunStatus;

/// More words than this test nothing new.
const MAX_WORDS: usize = 4_096;

/// Decodes the bytes as a whole trace and as the beginning of one, and looks for defects in what
/// was understood.
pub fn records(data: &[u8]) {
    let chunks = data.chunks_exact(8).take(MAX_WORDS);
    let words: Vec<u64> =
        chunks.map(|word| word.iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte))).collect();
    let result = RunResult { status: RunStatus::Rest, exit: Some(0), diverged_at: None, awaits: 0 };
    let mut decoder = Decoder::new();
    let mut execution = Execution::empty();
    if decoder.decode(&words, result, &mut execution).is_ok() {
        examine(&execution);
        assert!(plain_accesses(&words).eq(execution.accesses.iter().copied()));
    }
    decoder.decode_beginning(&words, RunResult { status: RunStatus::Damaged, ..result }, &mut execution);
    examine(&execution);
}

/// What the rest of the host relies on.
fn examine(execution: &Execution) {
    let threads = execution.threads.len();
    assert!(execution.events.iter().all(|event| usize::from(event.thread) < threads));
    assert!(execution.accesses.iter().all(|access| usize::from(access.thread) < threads));
    assert!(execution.accesses.iter().all(|access| access.after as usize <= execution.events.len()));
    assert!(execution.pending.len() <= threads);
    DefectFinder::new().find(execution);
}
