//! A directory of scripts with its index: what `--record-peers` writes and `--peers` reads.
//!
//! The index has a line for each party, `client ADDRESS=FILE` or `peer ADDRESS=FILE`: what the
//! options of these names would be given, with files of the directory. `#` begins a comment.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use raddle_vocab::party::PartyRole;

use super::tap::{Connection, Recorded, connections};
use super::{PartyError, PartyScript, ScriptError, validate};

/// The index of a directory.
const INDEX: &str = "index";
/// What the runtime writes, as long as the recording lasts.
const LOG: &str = "log";

/// A party of an index: its role, its address, and the file of its script.
pub type IndexLine = (PartyRole, String, String);

/// Reads an index.
///
/// # Errors
/// Where it stops making sense.
pub fn read_index(text: &[u8]) -> Result<Vec<IndexLine>, ScriptError> {
    let mut all = Vec::new();
    for (number, line) in (1..).zip(text.split(|&byte| byte == b'\n')) {
        let wrong = |column: usize, what: &str| ScriptError { line: number, column: column as u32, what: what.into() };
        let line = std::str::from_utf8(line).map_err(|error| wrong(error.valid_up_to() + 1, "this is not UTF-8"))?;
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with('#') {
            continue;
        }
        let column = line.chars().take_while(|c| c.is_whitespace()).count() + 1;
        let (word, rest) = trimmed.split_once(char::is_whitespace).unwrap_or((trimmed, ""));
        let role = match word {
            "client" => PartyRole::Client,
            "peer" => PartyRole::Peer,
            _ => return Err(wrong(column, "a line is `client ADDRESS=FILE` or `peer ADDRESS=FILE`")),
        };
        let column = column + word.chars().count() + 1;
        let (address, file) = rest.trim().split_once('=').ok_or_else(|| wrong(column, "ADDRESS=FILE is missing"))?;
        if address.is_empty() || file.is_empty() {
            return Err(wrong(column, "ADDRESS=FILE is missing"));
        }
        all.push((role, address.into(), file.into()));
    }
    Ok(all)
}

/// Reads the scripts of a directory. `clients` and `peers` are how many there are already.
///
/// # Errors
/// What is wrong with the index or with a script.
pub fn load_directory(directory: &Path, clients: usize, peers: usize) -> Result<Vec<PartyScript>, PartyError> {
    let path = directory.join(INDEX);
    let unreadable = |error: std::io::Error| PartyError::Unreadable(path.clone(), error.to_string());
    let text = std::fs::read(&path).map_err(unreadable)?;
    let lines = read_index(&text).map_err(|error| PartyError::Script(path.clone(), error))?;
    let (mut clients, mut peers) = (clients, peers);
    let load = |(role, address, file): IndexLine| {
        let count = if role == PartyRole::Client { &mut clients } else { &mut peers };
        *count += 1;
        PartyScript::read(role, *count, &address, &directory.join(file))
    };
    lines.into_iter().map(load).collect()
}

/// Records the connections of a run into a directory.
#[derive(Debug)]
pub struct PeerRecorder {
    directory: PathBuf,
    log: PathBuf,
}

/// What was recorded.
#[derive(Clone, Debug)]
pub struct RecordedPeers {
    /// Clients and peers.
    pub parties: usize,
    /// What is not in the scripts, or keeps them from being used, a sentence each.
    pub warnings: Vec<String>,
}

impl PeerRecorder {
    /// Makes the directory, if it is not there, and the file for the runtime.
    ///
    /// # Errors
    /// If the directory holds a recording, or cannot be written.
    pub fn new(directory: &Path) -> Result<Self, PartyError> {
        let wrong = |error: std::io::Error| PartyError::Directory(directory.into(), error.to_string());
        if directory.join(INDEX).exists() {
            let what = "it holds scripts already: remove them, or name another directory";
            return Err(PartyError::Directory(directory.into(), what.into()));
        }
        std::fs::create_dir_all(directory).map_err(wrong)?;
        let log = directory.canonicalize().map_err(wrong)?.join(LOG);
        std::fs::write(&log, b"").map_err(wrong)?;
        Ok(PeerRecorder { directory: directory.into(), log })
    }

    /// The file for the runtime.
    #[must_use]
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// There was no run: leaves nothing behind.
    pub fn abandon(self) {
        let _ = std::fs::remove_file(&self.log);
        // Only if there is nothing else in it.
        let _ = std::fs::remove_dir(&self.directory);
    }

    /// The run is over: writes index and scripts.
    ///
    /// # Errors
    /// If a file cannot be read or written.
    pub fn finish(self) -> Result<RecordedPeers, PartyError> {
        let wrong = |error: std::io::Error| PartyError::Directory(self.directory.clone(), error.to_string());
        let log = std::fs::read(&self.log).map_err(wrong)?;
        std::fs::remove_file(&self.log).map_err(wrong)?;
        let recorded = connections(&log);
        let mut index = String::from("# The connections of a run, in the order in which they were made.\n");
        let (mut clients, mut peers) = (0, 0);
        let mut warnings = Vec::new();
        for connection in &recorded.connections {
            let (word, count) = match connection.role {
                PartyRole::Client => ("client", &mut clients),
                PartyRole::Peer => ("peer", &mut peers),
            };
            *count += 1;
            let file = format!("{word}{count}.script");
            let _ = writeln!(index, "{word} {}={file}", connection.address);
            std::fs::write(self.directory.join(&file), script(connection)).map_err(wrong)?;
            warnings.extend(warnings_of(connection, &file));
        }
        std::fs::write(self.directory.join(INDEX), index).map_err(wrong)?;
        warnings.extend(general_warnings(&recorded));
        // What would be refused later is said now.
        let loaded = load_directory(&self.directory, 0, 0).and_then(|scripts| validate(&scripts));
        warnings.extend(loaded.err().map(|error| error.to_string()));
        Ok(RecordedPeers { parties: recorded.connections.len(), warnings })
    }
}

fn script(connection: &Connection) -> String {
    let mut text = match connection.role {
        PartyRole::Client => format!("# A client that connected to {}.\n", connection.address),
        PartyRole::Peer => format!("# The program connected to {}.\n", connection.address),
    };
    for action in &connection.actions {
        let _ = writeln!(text, "{action}");
    }
    text
}

fn warnings_of(connection: &Connection, file: &str) -> Vec<String> {
    let mut warnings = Vec::new();
    if !connection.unseen.is_empty() {
        let names = connection.unseen.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        warnings.push(format!("{file} lacks the bytes that the program transferred by {names}: add them"));
    }
    if connection.is_any_port {
        warnings.push(format!(
            "{file}: the program leaves its port to the system, and gets another one under check: \
             let it bind to a port of its own"
        ));
    }
    warnings
}

fn general_warnings(recorded: &Recorded) -> Vec<String> {
    let mut warnings = Vec::new();
    if recorded.has_datagrams {
        warnings.push("datagrams are not recorded: scripts are for connections".into());
    }
    if recorded.unwritable > 0 {
        let count = recorded.unwritable;
        warnings.push(format!("{count} connections are left out: their sockets have no name that can be written"));
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_names_parties() {
        let index = read_index(b"# all\n\nclient tcp:80=a b\n  peer unix:@x=c=d\n").unwrap();
        let expected = [
            (PartyRole::Client, "tcp:80".to_owned(), "a b".to_owned()),
            (PartyRole::Peer, "unix:@x".to_owned(), "c=d".to_owned()),
        ];
        assert_eq!(index, expected);
        for (text, wrong) in [
            ("\n  cliont tcp:80=a", "2:3: a line is `client"),
            ("client", "1:8: ADDRESS=FILE is missing"),
            ("peer tcp:a:80", "1:6: ADDRESS=FILE is missing"),
            ("peer tcp:a:80=", "1:6: ADDRESS=FILE is missing"),
        ] {
            let told = read_index(text.as_bytes()).unwrap_err().to_string();
            assert!(told.starts_with(wrong), "{text}: {told}");
        }
        assert_eq!(read_index(b"#\n# \xff").unwrap_err().to_string(), "2:3: this is not UTF-8");
    }
}
