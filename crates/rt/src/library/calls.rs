//! Calls that are not modelled, noted by name for the report.

use raddle_wire::{CALL_NAME_BYTES, MAX_CALLS};

use crate::restore::undo;
use crate::state::process;

/// Notes a call from `pc`. Each is noted once.
pub fn note(name: &[u8], pc: u64) {
    // What it answers may be something else in every run.
    undo::changed(undo::kind::OTHER);
    let mut text = [0u8; CALL_NAME_BYTES];
    let len = name.len().min(CALL_NAME_BYTES);
    text[..len].copy_from_slice(&name[..len]);
    // SAFETY: the control page stays mapped; the host reads the list only while the target rests.
    let calls = unsafe { &raw mut (*process().control).calls };
    for at in 0..MAX_CALLS {
        // SAFETY: as above, and the index is below the length.
        let call = unsafe { &mut (*calls)[at] };
        if call.name[0] == 0 {
            (call.name, call.pc) = (text, pc);
            return;
        }
        if call.name == text && call.pc == pc {
            return;
        }
    }
}
