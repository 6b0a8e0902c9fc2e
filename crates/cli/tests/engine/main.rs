//! The command from end to end: real programs, built with the wrapper, run and replayed.
//!
//! Each program under `programs` says at its top what `raddle run` must do with it: `status`, words
//! that it `says` on standard error, a line that the program `prints`, further `options`. Each is
//! run by fork and by snapshot, and leaves no process behind.

mod commands;
mod file_system;
mod forged;
mod limits;
mod names;
mod observed;
mod servers;
mod tools;
mod unmodified;
mod unseen;

use libtest_mimic::{Arguments, Failed, Trial};
use tools::{Directives, Place, programs};

fn main() {
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    for source in programs() {
        for mode in ["fork", "snapshot"] {
            let source = source.clone();
            let name = format!("{}::{mode}", source.file_stem().unwrap_or_default().to_string_lossy());
            trials.push(Trial::test(name, move || check_program(&source, mode)));
        }
    }
    let tests = [
        commands::TESTS,
        file_system::TESTS,
        forged::TESTS,
        limits::TESTS,
        unseen::TESTS,
        names::TESTS,
        servers::TESTS,
        observed::TESTS,
        unmodified::TESTS,
    ];
    for &(name, test) in tests.into_iter().flatten() {
        trials.push(Trial::test(name, move || {
            test();
            Ok::<(), Failed>(())
        }));
    }
    libtest_mimic::run(&arguments, trials).exit();
}

fn check_program(source: &std::path::Path, mode: &str) -> Result<(), Failed> {
    let place = Place::new();
    let directives = Directives::of(source);
    let program = place.build(source, &[]);
    let mut options = vec!["run", "--mode", mode];
    options.extend(directives.options.iter().map(String::as_str));
    options.push(program.to_str().ok_or("a path that is not text")?);
    let output = place.raddle(&options);
    let (printed, said) = (output.stdout(), output.stderr());
    if let Some(status) = directives.status
        && output.status() != Some(status)
    {
        return Err(format!("status {:?} instead of {status}; it said:\n{said}", output.status()).into());
    }
    for words in &directives.says {
        if !said.contains(words.as_str()) {
            return Err(format!("it did not say {words:?} but:\n{said}").into());
        }
    }
    for line in &directives.prints {
        if printed.trim_end().lines().last().unwrap_or_default() != line {
            return Err(format!("it did not print {line:?} last but:\n{printed}").into());
        }
    }
    let left = place.processes();
    if left.is_empty() { Ok(()) } else { Err(format!("it left processes behind: {left:?}").into()) }
}
