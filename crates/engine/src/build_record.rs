//! How a program was built from sources, kept beside it, so that it can be built again.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::program::Sources;

/// What the file's name adds to the program's.
const SUFFIX: &str = ".build.json";

/// How a program was built from sources.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BuildRecord {
    /// The directory in which the compiler ran: paths of the sources are relative to it, and so are
    /// places in reports.
    directory: PathBuf,
    sources: Vec<PathBuf>,
    compiler: Option<String>,
    cflags: Option<String>,
}

impl BuildRecord {
    /// The record of a program that [`Sources::compile_into`] built.
    ///
    /// # Errors
    /// If the program was built in another way, or the record cannot be read.
    pub fn of(program: &Path) -> Result<Self, Error> {
        let path = beside(program);
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(Error::NotBuiltHere(program.into()));
            }
            Err(error) => return Err(Error::file(&path, error)),
        };
        serde_json::from_slice(&bytes).map_err(|error| Error::file(&path, error))
    }

    /// The directory in which the program has to be built.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The sources, with compiler and flags.
    #[must_use]
    pub fn sources(&self) -> Sources {
        Sources::new(self.sources.iter().cloned())
            .compiler(self.compiler.as_deref().map(str::as_ref))
            .cflags(self.cflags.as_deref().map(str::as_ref))
    }

    /// Keeps how a program was built. Names that are not valid UTF-8 are not kept: such a program
    /// cannot be replayed either.
    pub(crate) fn keep(sources: &Sources, program: &Path) -> Result<(), Error> {
        let path = beside(program);
        let text = |word: Option<&std::ffi::OsStr>| match word {
            Some(word) => word.to_str().map(|word| Some(word.to_owned())),
            None => Some(None),
        };
        let (Some(compiler), Some(cflags)) = (text(sources.compiler_word()), text(sources.cflags_word())) else {
            return Ok(());
        };
        let directory = std::env::current_dir().map_err(|error| Error::file(&path, error))?;
        let record = BuildRecord { directory, sources: sources.files().to_vec(), compiler, cflags };
        let Ok(bytes) = serde_json::to_vec_pretty(&record) else { return Ok(()) };
        std::fs::write(&path, bytes).map_err(|error| Error::file(&path, error))
    }
}

fn beside(program: &Path) -> PathBuf {
    let mut path = program.as_os_str().to_os_string();
    path.push(SUFFIX);
    path.into()
}
