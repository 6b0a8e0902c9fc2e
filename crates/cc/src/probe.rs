//! Identifies a compiler by its answer to `-v`.

use crate::compiler::Compiler;
use crate::environment::INSIDE_VARIABLE;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Why a program could not be recognised as a compiler.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// It could not be started.
    #[error("`{}` could not be started: {source}", program.display())]
    Start {
        /// The program.
        program: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It answered, but not like gcc or clang.
    #[error("`{}` is neither gcc nor clang: asked with `-v`, it said `{answer}`", program.display())]
    Unknown {
        /// The program.
        program: PathBuf,
        /// The first line that it printed.
        answer: String,
    },
}

impl Compiler {
    /// Starts `program leading... -v` and parses family, version and machine from its answer.
    pub fn probe(program: &Path, leading: &[OsString]) -> Result<Self, ProbeError> {
        let output = Command::new(program)
            .args(leading)
            .arg("-v")
            // The answer is translated otherwise.
            .env("LC_ALL", "C")
            .env(INSIDE_VARIABLE, "1")
            .stdin(Stdio::null())
            .output()
            .map_err(|source| ProbeError::Start { program: program.to_path_buf(), source })?;
        let text = String::from_utf8_lossy(&output.stderr);
        Self::from_verbose_output(program.to_path_buf(), leading.to_vec(), &text).ok_or_else(|| {
            let answer = text.lines().next().unwrap_or_default().to_owned();
            ProbeError::Unknown { program: program.to_path_buf(), answer }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_started_and_what_is_no_compiler_are_told_apart() {
        let missing = Compiler::probe(Path::new("/nonexistent/cc"), &[]);
        assert!(matches!(missing, Err(ProbeError::Start { .. })), "{missing:?}");
        let other = Compiler::probe(Path::new("/bin/sh"), &["-c".into(), "echo I am a shell >&2".into()]);
        match other {
            Err(error @ ProbeError::Unknown { .. }) => {
                assert!(error.to_string().contains("it said `I am a shell`"), "{error}");
            }
            other => panic!("{other:?}"),
        }
    }
}
