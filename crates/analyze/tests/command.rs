//! The analyser as a command: what it says about input without facts.

use std::path::Path;
use std::process::Command;

/// Calls it; it must refuse, and say so in one line, which is returned.
fn refused(words: &[&Path]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_raddle-analyze")).args(words).output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(output.stdout.is_empty() && text.lines().count() == 1, "{text}");
    text
}

#[test]
fn one_program_is_wanted() {
    let program = Path::new("program");
    assert_eq!(refused(&[]), "raddle-analyze: usage: raddle-analyze PROGRAM\n");
    assert_eq!(refused(&[program, program]), refused(&[]));
}

#[test]
fn a_file_that_is_not_there_is_named() {
    assert!(refused(&[Path::new("/no/such/program")]).contains("/no/such/program: No such file"));
}

#[test]
fn a_text_is_not_a_program() {
    let text = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    assert!(refused(&[&text]).contains("this is not a program"));
}

/// Built by rustc, not by raddle with clang.
#[test]
fn a_program_without_bitcode_is_refused() {
    let own = std::env::current_exe().unwrap();
    assert!(refused(&[&own]).contains("carries no bitcode"));
}
