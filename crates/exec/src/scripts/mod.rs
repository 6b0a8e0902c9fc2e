//! Scripts of the other sides of connections: who connects to whom, and what is sent and expected.

mod directory;
mod parse;
mod tap;
mod wire;

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use raddle_vocab::party::{MAX_PARTIES, Party, PartyRole};
use serde::{Deserialize, Serialize};

pub use directory::{PeerRecorder, RecordedPeers, load_directory, read_index};
pub use parse::ScriptError;
pub use tap::{Connection, Recorded, connections};
pub(crate) use wire::encode;

/// Why scripts cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PartyError {
    /// The option has another form.
    #[error("`{0}` has not the form {1}")]
    Form(String, &'static str),
    /// A part of the address is wrong.
    #[error("`{0}`: {1}")]
    Address(String, String),
    /// The file cannot be read.
    #[error("{path}: {1}", path = .0.display())]
    Unreadable(PathBuf, String),
    /// It is no script.
    #[error("{path}:{1}", path = .0.display())]
    Script(PathBuf, ScriptError),
    /// The directory for a recording is not fit for it.
    #[error("{path}: {1}", path = .0.display())]
    Directory(PathBuf, String),
    /// There is no room for them.
    #[error("the scripts have {0}, which is more than raddle can follow ({1})")]
    TooMuch(&'static str, usize),
}

/// Where a party connects to, or where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartyAddress {
    /// A port of the Internet protocols.
    Tcp {
        /// The host; the machine itself if there is none.
        host: Option<String>,
        /// The port.
        port: u16,
    },
    /// A name in the Unix domain; one that begins with `@` is in the abstract name space.
    Unix(String),
}

impl fmt::Display for PartyAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PartyAddress::Tcp { host: None, port } => write!(f, "tcp:{port}"),
            PartyAddress::Tcp { host: Some(host), port } if host.contains(':') => write!(f, "tcp:[{host}]:{port}"),
            PartyAddress::Tcp { host: Some(host), port } => write!(f, "tcp:{host}:{port}"),
            PartyAddress::Unix(name) => write!(f, "unix:{name}"),
        }
    }
}

impl PartyAddress {
    /// The address in `tcp:PORT`, `tcp:HOST:PORT` or `unix:PATH`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str, role: PartyRole) -> Result<Self, PartyError> {
        let wrong = |what: &str| PartyError::Address(text.into(), what.into());
        if let Some(name) = text.strip_prefix("unix:") {
            let is_fine = !name.is_empty() && name.len() < 108 && !name.contains('\0');
            return is_fine.then(|| PartyAddress::Unix(name.into())).ok_or_else(|| wrong("a name has 1 to 107 bytes"));
        }
        let address = text.strip_prefix("tcp:").ok_or_else(|| wrong("it begins with neither tcp: nor unix:"))?;
        let (host, port) = match address.rsplit_once(':') {
            Some((host, port)) => (Some(host), port),
            None => (None, address),
        };
        let port =
            port.parse().ok().filter(|&port| port > 0).ok_or_else(|| wrong("a port is a number from 1 to 65535"))?;
        let host = host.map(|host| host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host));
        match (role, host) {
            (PartyRole::Client, Some(_)) => Err(wrong("a client connects to this machine: tcp:PORT")),
            (PartyRole::Peer, None) => Err(wrong("a host is missing: tcp:HOST:PORT")),
            (_, Some(host)) if !is_host(host) => Err(wrong("the host is neither an address nor a name")),
            (_, host) => Ok(PartyAddress::Tcp { host: host.map(String::from), port }),
        }
    }

    /// The address of the host: of its own, or the one that its name gets.
    fn ip(&self, number_of_name: u8) -> Option<IpAddr> {
        match self {
            PartyAddress::Unix(_) => None,
            PartyAddress::Tcp { host: None, .. } => Some(Ipv4Addr::LOCALHOST.into()),
            PartyAddress::Tcp { host: Some(host), .. } if host == "localhost" => Some(Ipv4Addr::LOCALHOST.into()),
            PartyAddress::Tcp { host: Some(host), .. } => {
                // Addresses that are reserved for documentation: no real host has them.
                let of_name = || Ipv4Addr::new(198, 51, 100, number_of_name).into();
                Some(IpAddr::from_str(host).unwrap_or_else(|_| of_name()))
            }
        }
    }

    /// The name of the host, where it has one.
    fn host_name(&self) -> Option<&str> {
        match self {
            PartyAddress::Tcp { host: Some(host), .. } if IpAddr::from_str(host).is_err() => Some(host),
            _ => None,
        }
    }
}

fn is_host(host: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    let is_name = !host.is_empty() && host.len() < raddle_wire::script::HOST_BYTES && host.bytes().all(is_part);
    is_name || IpAddr::from_str(host).is_ok()
}

/// What a line of a script does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScriptAction {
    /// Sends bytes.
    Send(Vec<u8>),
    /// Waits for exactly these bytes.
    Expect(Vec<u8>),
    /// Waits for so many bytes.
    ExpectBytes(u64),
    /// Waits for bytes up to these and with them.
    ExpectUntil(Vec<u8>),
    /// Waits until the program closes the connection.
    ExpectClose,
    /// Sends no more.
    Shutdown,
    /// Closes the connection.
    Close,
    /// Closes the connection so that the program sees it reset.
    Reset,
    /// Lets so many nanoseconds of virtual time pass.
    Delay(u64),
}

/// A line of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptLine {
    /// Its number, from 1.
    pub line: u32,
    /// What it does.
    pub action: ScriptAction,
}

/// A party and its script.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "RecordedParty", into = "RecordedParty")]
pub struct PartyScript {
    /// Its name.
    pub party: Party,
    /// Where it connects to, or where it is.
    pub address: PartyAddress,
    /// The file of the script, for reports.
    pub file: String,
    /// What it does.
    pub lines: Vec<ScriptLine>,
}

impl PartyScript {
    /// Reads the option `ADDRESS=FILE` and the file. `number` tells parties of one role apart,
    /// from 1.
    ///
    /// # Errors
    /// What is wrong with the option or with the file.
    pub fn load(role: PartyRole, number: usize, option: &str) -> Result<Self, PartyError> {
        let form = match role {
            PartyRole::Client => "tcp:PORT=FILE or unix:PATH=FILE",
            PartyRole::Peer => "tcp:HOST:PORT=FILE or unix:PATH=FILE",
        };
        let (address, file) = option.split_once('=').ok_or_else(|| PartyError::Form(option.into(), form))?;
        Self::read(role, number, address, Path::new(file))
    }

    /// Reads the script of a party at this address.
    fn read(role: PartyRole, number: usize, address: &str, path: &Path) -> Result<Self, PartyError> {
        let address = PartyAddress::parse(address, role)?;
        let party = number_of(number).map(|number| Party { role, number });
        let party = party.ok_or(PartyError::TooMuch("too many parties", MAX_PARTIES))?;
        let unreadable = |error: std::io::Error| PartyError::Unreadable(path.into(), error.to_string());
        let bytes = std::fs::read(path).map_err(unreadable)?;
        let read_beside = |name: &str| {
            let beside = path.parent().unwrap_or(Path::new("")).join(name);
            std::fs::read(&beside).map_err(|error| format!("{}: {error}", beside.display()))
        };
        let lines = parse::script(&bytes, &read_beside).map_err(|error| PartyError::Script(path.into(), error))?;
        Ok(PartyScript { party, address, file: path.to_string_lossy().into_owned(), lines })
    }
}

fn number_of(number: usize) -> Option<u8> {
    u8::try_from(number).ok().filter(|&number| number > 0 && usize::from(number) <= MAX_PARTIES)
}

/// Reads the text of a script that names no files.
///
/// # Errors
/// Where it stops making sense.
pub fn parse(text: &[u8]) -> Result<Vec<ScriptLine>, ScriptError> {
    parse::script(text, &|name| Err(format!("{name} cannot be read here")))
}

/// Refuses scripts that the runtime has no room for.
///
/// # Errors
/// What there is too much of.
pub fn validate(scripts: &[PartyScript]) -> Result<(), PartyError> {
    encode(scripts, None).map(|_| ())
}

/// A party as recordings keep it.
#[derive(Serialize, Deserialize)]
struct RecordedParty {
    party: String,
    address: String,
    file: String,
    lines: Vec<(u32, String)>,
}

impl From<PartyScript> for RecordedParty {
    fn from(script: PartyScript) -> Self {
        let lines = script.lines.iter().map(|line| (line.line, line.action.to_string())).collect();
        let PartyScript { party, address, file, .. } = script;
        RecordedParty { party: party.to_string(), address: address.to_string(), file, lines }
    }
}

impl TryFrom<RecordedParty> for PartyScript {
    type Error = String;

    fn try_from(recorded: RecordedParty) -> Result<Self, String> {
        let party = Party::named(&recorded.party).ok_or_else(|| format!("{:?} is no party", recorded.party))?;
        let address = PartyAddress::parse(&recorded.address, party.role).map_err(|error| error.to_string())?;
        let line = |(line, text): (u32, String)| {
            let action = parse::action(&text).map_err(|error| format!("line {line} of {party}: {error}"))?;
            Ok(ScriptLine { line, action })
        };
        let lines = recorded.lines.into_iter().map(line).collect::<Result<_, String>>()?;
        Ok(PartyScript { party, address, file: recorded.file, lines })
    }
}

impl fmt::Display for ScriptAction {
    /// As scripts have it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScriptAction::Send(data) => write!(f, "send \"{}\"", parse::escaped(data)),
            ScriptAction::Expect(data) => write!(f, "expect \"{}\"", parse::escaped(data)),
            ScriptAction::ExpectBytes(count) => write!(f, "expect {count} bytes"),
            ScriptAction::ExpectUntil(data) => write!(f, "expect-until \"{}\"", parse::escaped(data)),
            ScriptAction::ExpectClose => f.write_str("expect-close"),
            ScriptAction::Shutdown => f.write_str("shutdown"),
            ScriptAction::Close => f.write_str("close"),
            ScriptAction::Reset => f.write_str("reset"),
            ScriptAction::Delay(nanoseconds) => write!(f, "delay {nanoseconds}ns"),
        }
    }
}
