//! What is searched, in a form that other processes can check.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use raddle_exec::recording::Settings;
use raddle_exec::{NativeTarget, Options, Output, RunPlan};
use raddle_explore::optimal::{WorkItem, items};
use raddle_model::{Execution, Operation as _, Request};
use raddle_vocab::policy::{Policy, mix};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::durable::own_checksum;
use crate::error::Error;
use crate::options::CheckOptions;
use crate::program::see;
use crate::runtime;

/// Events of the run that shows whether a program behaves here as there, at most.
const PROBE_EVENTS: u64 = 20_000;

/// Variables of the environment that programs are searched with, beside those that the user names.
/// Others may hold secrets of the machine on which a search began.
const KEPT: [&str; 6] = ["HOME", "LANG", "LANGUAGE", "PATH", "TZ", "USER"];

/// A search that several processes share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedJob {
    /// Version of raddle, and checksum of its file: another build may search in another way.
    raddle: String,
    build: u32,
    name: String,
    /// SHA-256 of the program's file, in hexadecimal digits.
    program: String,
    args: Vec<Vec<u8>>,
    environment: Vec<(Vec<u8>, Vec<u8>)>,
    stdin: Option<Vec<u8>>,
    share_files: bool,
    calls_only: bool,
    settings: Settings,
    allowed_exits: Vec<i32>,
    /// What the first run of the program does.
    probe: u64,
    /// Where the program is mapped: defects are told apart by places in it.
    base: u64,
}

/// Why a process cannot take part in a search: a sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refused(pub String);

impl SharedJob {
    /// The search of a program with these options.
    ///
    /// # Errors
    /// If the program cannot be read or run.
    pub(crate) fn of(name: &str, options: &CheckOptions, target: &Options) -> Result<Self, Error> {
        let read = |path: &Path| std::fs::read(path).map_err(|error| Error::file(path, error));
        let bytes = |text: &OsString| text.as_bytes().to_vec();
        let environment = target.environment.iter().flatten();
        let settings = Settings::of(target, options.max_events);
        if target.observer.is_some() {
            return Err(Error::ObservesHere("coordinate"));
        }
        let (probe, base) = probe(target)?;
        Ok(SharedJob {
            raddle: env!("CARGO_PKG_VERSION").into(),
            build: own_checksum(),
            name: name.into(),
            program: checksum(&read(&target.program)?),
            args: target.args.iter().map(bytes).collect(),
            environment: environment.map(|(name, value)| (bytes(name), bytes(value))).collect(),
            stdin: target.stdin.as_deref().map(read).transpose()?,
            share_files: target.share_files,
            calls_only: target.calls_only,
            base,
            settings,
            allowed_exits: options.allowed_exits.clone(),
            probe,
        })
    }

    /// Reads it. Another raddle may write another form, so the versions come first.
    ///
    /// # Errors
    /// If it is none, or one of another raddle.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Refused> {
        #[derive(Deserialize)]
        struct Versions {
            raddle: String,
            build: u32,
        }
        let wrong = |error: serde_json::Error| Refused(format!("what is searched makes no sense: {error}"));
        let versions: Versions = serde_json::from_slice(bytes).map_err(wrong)?;
        if versions.raddle != env!("CARGO_PKG_VERSION") || versions.build != own_checksum() {
            return Err(Refused(format!(
                "the search was begun by another raddle ({} of another version or build): install the same one on all \
                 machines",
                versions.raddle.escape_debug()
            )));
        }
        serde_json::from_slice(bytes).map_err(wrong)
    }

    /// As bytes; equal for equal searches.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// All the work.
    #[must_use]
    pub fn whole() -> Vec<u8> {
        items::encode(&[WorkItem::default()]).unwrap_or_default()
    }

    /// The name of the program.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// SHA-256 of the program's file, in hexadecimal digits.
    #[must_use]
    pub fn program(&self) -> &str {
        &self.program
    }

    /// Whether a file is the program.
    #[must_use]
    pub fn is_of(&self, file: &Path) -> bool {
        std::fs::read(file).is_ok_and(|bytes| checksum(&bytes) == self.program)
    }

    /// Events that a run may have.
    pub(super) fn max_events(&self) -> u64 {
        self.settings.max_events
    }

    pub(super) fn allowed_exits(&self) -> &[i32] {
        &self.allowed_exits
    }

    /// Options for a target that runs the program, which is this file. Its standard input is kept
    /// in `directory`.
    pub(super) fn target_options(&self, file: &Path, directory: &Path) -> Result<Options, Error> {
        let text = |bytes: &Vec<u8>| OsString::from_vec(bytes.clone());
        let mut options = Options::new(file);
        options.runtime = Some(runtime::install()?.library());
        options.args = self.args.iter().map(text).collect();
        options.environment = Some(self.environment.iter().map(|(name, value)| (text(name), text(value))).collect());
        options.stdin = self.stdin.as_ref().map(|bytes| input(bytes, directory)).transpose()?;
        options.share_files = self.share_files;
        options.output = Output::Discard;
        see(&mut options, None)?;
        options.bound_rounds = true;
        self.settings.apply(&mut options);
        Ok(options)
    }

    /// Says why the program does not do here what it does where the search began.
    pub(super) fn difference(&self, target: &Options) -> Result<Option<Refused>, Error> {
        let (now, base) = probe(target)?;
        let elsewhere = "the program's first run is another one here than where the search began: its libraries, its \
                         files, its working directory or the processor differ";
        let addresses = "the program has other addresses here than where the search began (`raddle doctor` tells \
                         whether the system lets them be fixed)";
        Ok(match (now == self.probe, base == self.base) {
            (false, _) => Some(Refused(elsewhere.into())),
            (_, false) => Some(Refused(addresses.into())),
            _ => None,
        })
    }
}

/// The environment of a shared search: what is usual, and what the user names, `NAME` or
/// `NAME=VALUE`.
#[must_use]
pub(crate) fn environment(named: &[OsString]) -> Vec<(OsString, OsString)> {
    let own: Vec<(OsString, OsString)> = std::env::vars_os().collect();
    let is_kept = |name: &OsString| {
        let name = name.to_string_lossy();
        KEPT.contains(&&*name) || name.starts_with("LC_")
    };
    let mut all: std::collections::BTreeMap<OsString, OsString> =
        own.iter().filter(|(name, _)| is_kept(name)).cloned().collect();
    for word in named {
        let bytes = word.as_bytes();
        let text = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
        match bytes.iter().position(|&byte| byte == b'=') {
            Some(at) => {
                all.insert(text(&bytes[..at]), text(&bytes[at + 1..]));
            }
            None => all.extend(own.iter().filter(|(name, _)| name == word).cloned()),
        }
    }
    all.into_iter().collect()
}

/// SHA-256 in hexadecimal digits.
fn checksum(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn input(bytes: &[u8], directory: &Path) -> Result<PathBuf, Error> {
    let path = directory.join("stdin");
    std::fs::write(&path, bytes).map_err(|error| Error::file(&path, error))?;
    Ok(path)
}

/// A number for the first run of the program, whatever its addresses; and where the program is
/// mapped.
fn probe(target: &Options) -> Result<(u64, u64), Error> {
    let fresh = Options { deadline: None, noticed: Default::default(), ..target.clone() };
    let mut target = NativeTarget::start(fresh)?;
    let mut execution = Execution::empty();
    let request = Request { schedule: Vec::new(), policy: Policy::LeastRank, max_events: PROBE_EVENTS };
    target.run(RunPlan::from(request), &mut execution)?;
    let events = execution.events.iter().flat_map(|event| {
        let words = event.op.pack();
        [u64::from(event.thread), words.kind as u64]
    });
    let end = [execution.threads.len() as u64, execution.status as u64];
    let program = target.options().program.canonicalize().unwrap_or_default();
    let base = target.mappings().iter().find(|mapping| mapping.path == program).map_or(0, |mapping| mapping.start);
    Ok((events.chain(end).fold(0, |sum, word| mix(sum ^ word)), base))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_user_names_is_in_the_environment_and_secrets_are_not() {
        let all = environment(&["RADDLE_SHARED_TEST=a=b".into(), "NO_SUCH_VARIABLE".into()]);
        assert!(all.contains(&("RADDLE_SHARED_TEST".into(), "a=b".into())));
        assert!(all.iter().all(|(name, _)| name != "NO_SUCH_VARIABLE" && name != "CARGO_PKG_NAME"));
        assert!(all.iter().any(|(name, _)| name == "PATH"));
    }

    #[test]
    fn jobs_of_another_raddle_are_refused_before_their_form_matters() {
        let refused = |text: &str| SharedJob::from_bytes(text.as_bytes()).unwrap_err().0;
        assert!(refused(r#"{"raddle":"9.9","build":1,"new":[]}"#).contains("another raddle (9.9"));
        assert!(refused("{").contains("makes no sense"));
        let own = format!(r#"{{"raddle":"{}","build":{}}}"#, env!("CARGO_PKG_VERSION"), own_checksum());
        assert!(refused(&own).contains("makes no sense"));
    }
}
