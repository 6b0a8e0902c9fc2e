//! CSPm scripts.

use raddle_csp::Limits;
use raddle_csp::cspm::check_file;

/// Longer scripts test nothing new.
const MAX_BYTES: usize = 4_096;

/// Checks a script within a small budget. An error has a position inside the text.
pub fn cspm(data: &[u8]) {
    let text = String::from_utf8_lossy(&data[..data.len().min(MAX_BYTES)]);
    let limits = Limits { states: 200, cells: 20_000, stop: None };
    if let Err(error) = check_file(&text, &limits) {
        let lines = text.lines().count() as u32 + 1;
        assert!((1..=lines).contains(&error.place.line), "{error}");
    }
}
