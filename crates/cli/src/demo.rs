//! `raddle demo`: a small program with a bug, to try things on.

use std::io::{self, ErrorKind, Write};
use std::path::Path;

/// Name of the file that is written.
const FILE: &str = "bank.c";

/// The program.
pub const PROGRAM: &str = include_str!("demo/bank.c");

/// Writes the program into a directory and says what to type.
///
/// # Errors
/// If the file cannot be written, or another one is in its place.
pub fn run(directory: &Path, out: &mut dyn Write) -> io::Result<()> {
    let path = directory.join(FILE);
    match std::fs::OpenOptions::new().write(true).create_new(true).open(&path) {
        Ok(mut file) => file.write_all(PROGRAM.as_bytes())?,
        // A second call is fine as long as nothing of the user's is lost.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            if std::fs::read(&path)? != PROGRAM.as_bytes() {
                let text = format!("{} is there already, and is not the demo: nothing was written", path.display());
                return Err(io::Error::new(ErrorKind::AlreadyExists, text));
            }
        }
        Err(error) => return Err(error),
    }
    writeln!(out, "{} is a bank with two tellers and a bug. Try:", path.display())?;
    writeln!(out)?;
    writeln!(out, "  raddle check {FILE}     finds it: two accesses, their code, and a schedule")?;
    writeln!(out, "  raddle replay r1        runs that schedule again")?;
    writeln!(out)?;
    writeln!(out, "Then put the balance check inside the lock, as the comment in the file says, and:")?;
    writeln!(out)?;
    writeln!(out, "  raddle check {FILE}     says verified, and what that covers")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_written_once_and_nothing_is_overwritten() {
        let directory = tempfile::tempdir().unwrap();
        let mut said = Vec::new();
        run(directory.path(), &mut said).unwrap();
        assert_eq!(std::fs::read_to_string(directory.path().join(FILE)).unwrap(), PROGRAM);
        assert!(String::from_utf8(said).unwrap().contains("raddle check bank.c"));
        run(directory.path(), &mut Vec::new()).unwrap();

        std::fs::write(directory.path().join(FILE), "mine").unwrap();
        assert!(run(directory.path(), &mut Vec::new()).is_err());
        assert_eq!(std::fs::read_to_string(directory.path().join(FILE)).unwrap(), "mine");
    }

    #[test]
    fn the_program_is_short() {
        assert!(PROGRAM.lines().count() <= 42);
    }
}
