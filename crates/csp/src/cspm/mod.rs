//! CSPm, the machine-readable CSP that FDR reads: text to syntax tree and back, and scripts to
//! processes.
//!
//! * `lexer`, `parser`: text to [`ast`]; `printer`: back;
//! * `scope`: which names an expression needs, and whether a script binds them;
//! * `eval`: expressions to values and processes, lazily;
//! * `export`: models that a program built, as scripts;
//! * `script`: the assertions of a file, one after the other.

pub mod ast;
mod eval;
mod export;
mod level;
mod lexer;
mod parser;
mod printer;
#[cfg(test)]
mod roundtrip_tests;
mod scope;
mod script;

pub use export::{ExportError, TypeNames, export};
pub use parser::parse;
pub use script::{AssertOutcome, AssertionVerdict, check_each, check_file, draw};
