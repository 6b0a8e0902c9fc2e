//! `raddle-analyze PROGRAM`: computes static facts about a program from its bitcode and writes them
//! as JSON to standard output.
//!
//! It is a program of its own, so that nothing else of raddle needs LLVM. It uses `llvm-sys`, the
//! layer below `inkwell`, because the safe wrapper gives no access to debug locations and other
//! data that is needed here.

mod bitcode;
mod ir;
mod library;
mod lower;
mod points;
mod read;
mod taint;

use std::io::Write as _;
use std::process::ExitCode;

/// Why there are no facts.
#[derive(Debug, thiserror::Error)]
enum AnalysisError {
    /// Usage.
    #[error("usage: raddle-analyze PROGRAM")]
    Usage,
    /// A file that cannot be read.
    #[error("{0}: {1}")]
    Io(String, std::io::Error),
    /// Not an ELF file.
    #[error("this is not a program: {0}")]
    NoProgram(String),
    /// The program has no bitcode.
    #[error(
        "the program carries no bitcode: only what raddle builds with clang does (--compiler clang, or RADDLE_CC=clang)"
    )]
    NoBitcode,
    /// The bitcode is truncated.
    #[error("the program's bitcode is damaged: build it again")]
    Damaged,
    /// LLVM cannot read the bitcode.
    #[error(
        "LLVM {} cannot read the program's bitcode: a newer clang made it, or it is damaged (use clang-19 or older)",
        read::version()
    )]
    Unreadable,
    /// No main function.
    #[error("the program's main function was not built by raddle with clang")]
    NoMain,
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("raddle-analyze: {failure}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<(), AnalysisError> {
    let mut args = std::env::args_os().skip(1);
    let (Some(path), None) = (args.next(), args.next()) else { return Err(AnalysisError::Usage) };
    let shown = path.to_string_lossy().into_owned();
    let complain = |error| AnalysisError::Io(shown.clone(), error);
    let bytes = std::fs::read(&path).map_err(complain)?;
    let program = read::read(&bitcode::of_program(&bytes)?)?;
    let points = points::PointsTo::of(&program);
    let taint = taint::Taint::of(&program, &points);
    let facts = lower::lower(&program, &points, &taint).ok_or(AnalysisError::NoMain)?;
    let text = serde_json::to_vec(&facts).map_err(|error| complain(error.into()))?;
    std::io::stdout().write_all(&text).map_err(complain)
}
