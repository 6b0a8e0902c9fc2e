//! Traces in the STD format.

use raddle_predict::analysis::{Budget, TraceAnalysis};
use raddle_predict::std_format;

/// Longer traces only take longer.
const MAX_BYTES: usize = 2_048;

/// Reads a trace, analyses it, writes it and reads it again. An error has a line of the text.
pub fn std_trace(data: &[u8]) {
    let text = String::from_utf8_lossy(&data[..data.len().min(MAX_BYTES)]);
    let read = match std_format::read(&text) {
        Ok(read) => read,
        Err(error) => {
            assert!((1..=text.lines().count().max(1)).contains(&error.line), "{error}");
            return;
        }
    };
    let analysis = TraceAnalysis::new(&read.trace, Budget { by_variable: true, ..Budget::default() });
    let candidates = analysis.candidates();
    let races = analysis.races(&analysis.keeper(), &candidates, |_, decision| decision);
    assert_eq!(races.len(), candidates.len());
    assert!(std_format::read(&std_format::write(&read.trace)).is_ok(), "what was written can be read");
}
