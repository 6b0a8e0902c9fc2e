//! Text files that the user names.

use std::path::Path;

use crate::error::Error;

/// Reads a file that has to be text.
///
/// # Errors
/// If it cannot be read; which line is not UTF-8.
pub fn read(path: &Path) -> Result<String, Error> {
    let bytes = std::fs::read(path).map_err(|error| Error::file(path, error))?;
    String::from_utf8(bytes).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = valid.iter().filter(|&&byte| byte == b'\n').count() + 1;
        Error::NotText { path: path.into(), line }
    })
}
