//! Scripts in the form of the shared file.

use std::mem::offset_of;
use std::net::IpAddr;
use std::path::Path;

use raddle_vocab::party::MAX_PARTIES;
use raddle_wire::script::{ADDRESS_BYTES, DATA_BYTES, HOST_BYTES, MAX_STEPS, ScriptParty, ScriptStep, Scripts, action};

use super::{PartyAddress, PartyError, PartyScript, ScriptAction};
use crate::shared::WORD;

const FAMILY_UNIX: u16 = 1;
const FAMILY_INET: u16 = 2;
const FAMILY_INET6: u16 = 10;

/// Words of the shared file and where they go, relative to the start of the scripts.
pub(crate) type Pieces = Vec<(usize, Vec<u64>)>;

/// The scripts as words, or the path of the file that takes what connections carry.
///
/// # Errors
/// What there is too much of.
pub(crate) fn encode(scripts: &[PartyScript], log: Option<&Path>) -> Result<Pieces, PartyError> {
    if scripts.len() > MAX_PARTIES {
        return Err(PartyError::TooMuch("too many parties", MAX_PARTIES));
    }
    let mut names: Vec<&str> = Vec::new();
    let (mut parties, mut steps, mut data) = (Vec::new(), Vec::new(), Vec::new());
    let mut step_count = 0;
    // In the order of ranks.
    let mut ordered: Vec<&PartyScript> = scripts.iter().collect();
    ordered.sort_by_key(|script| script.party);
    for script in ordered {
        parties.extend(party(script, step_count as u32, &mut names));
        for line in &script.lines {
            let (action, bytes, amount) = parts(&line.action);
            let at = data.len() as u32;
            data.extend_from_slice(bytes);
            let mut row = [0u8; size_of::<ScriptStep>()];
            put32(&mut row, offset_of!(ScriptStep, action), action);
            put32(&mut row, offset_of!(ScriptStep, line), line.line);
            put32(&mut row, offset_of!(ScriptStep, data), at);
            put32(&mut row, offset_of!(ScriptStep, len), bytes.len() as u32);
            row[offset_of!(ScriptStep, amount)..].copy_from_slice(&amount.to_le_bytes());
            steps.extend(row);
            step_count += 1;
        }
        if step_count > MAX_STEPS {
            return Err(PartyError::TooMuch("too many lines", MAX_STEPS));
        }
        if data.len() > DATA_BYTES {
            return Err(PartyError::TooMuch("too many bytes", DATA_BYTES));
        }
    }
    if let Some(log) = log.filter(|_| data.is_empty()) {
        data.extend_from_slice(log.as_os_str().as_encoded_bytes());
        data.push(0);
    }
    let counts = scripts.len() as u64 | (step_count as u64) << 32;
    Ok(vec![
        (offset_of!(Scripts, parties_used), vec![counts]),
        (offset_of!(Scripts, parties), words(&parties)),
        (offset_of!(Scripts, steps), words(&steps)),
        (offset_of!(Scripts, data), words(&data)),
    ])
}

fn put32(row: &mut [u8], at: usize, value: u32) {
    row[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

fn words(bytes: &[u8]) -> Vec<u64> {
    let word = |chunk: &[u8]| {
        let mut word = [0; WORD];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(word)
    };
    bytes.chunks(WORD).map(word).collect()
}

fn parts(script_action: &ScriptAction) -> (u32, &[u8], u64) {
    match script_action {
        ScriptAction::Send(data) => (action::SEND, data, 0),
        ScriptAction::Expect(data) => (action::EXPECT, data, 0),
        ScriptAction::ExpectBytes(count) => (action::EXPECT_BYTES, &[], *count),
        ScriptAction::ExpectUntil(data) => (action::EXPECT_UNTIL, data, 0),
        ScriptAction::ExpectClose => (action::EXPECT_CLOSE, &[], 0),
        ScriptAction::Shutdown => (action::SHUTDOWN, &[], 0),
        ScriptAction::Close => (action::CLOSE, &[], 0),
        ScriptAction::Reset => (action::RESET, &[], 0),
        ScriptAction::Delay(nanoseconds) => (action::DELAY, &[], *nanoseconds),
    }
}

/// A party; `names` are those of hosts so far, each of which has an address of its own.
fn party<'a>(script: &'a PartyScript, first: u32, names: &mut Vec<&'a str>) -> Vec<u8> {
    let name = script.address.host_name();
    let position = name.map(|name| {
        names.iter().position(|known| *known == name).unwrap_or_else(|| {
            names.push(name);
            names.len() - 1
        })
    });
    let address = address_bytes(&script.address, position.unwrap_or(0) as u8 + 1);
    let mut row = vec![0u8; size_of::<ScriptParty>()];
    put32(&mut row, offset_of!(ScriptParty, component), script.party.component());
    put32(&mut row, offset_of!(ScriptParty, first_step), first);
    put32(&mut row, offset_of!(ScriptParty, steps), script.lines.len() as u32);
    put32(&mut row, offset_of!(ScriptParty, address_len), address.len() as u32);
    let at = offset_of!(ScriptParty, address);
    let len = address.len().min(ADDRESS_BYTES);
    row[at..at + len].copy_from_slice(&address[..len]);
    let (at, host) = (offset_of!(ScriptParty, host), name.unwrap_or_default().as_bytes());
    let len = host.len().min(HOST_BYTES - 1);
    row[at..at + len].copy_from_slice(&host[..len]);
    row
}

/// The address in the form of the system.
fn address_bytes(address: &PartyAddress, number_of_name: u8) -> Vec<u8> {
    match (address, address.ip(number_of_name)) {
        (PartyAddress::Unix(name), _) => {
            let mut bytes = FAMILY_UNIX.to_ne_bytes().to_vec();
            match name.strip_prefix('@') {
                Some(name) => {
                    bytes.push(0);
                    bytes.extend(name.as_bytes());
                }
                None => {
                    bytes.extend(name.as_bytes());
                    bytes.push(0);
                }
            }
            bytes
        }
        (PartyAddress::Tcp { port, .. }, Some(IpAddr::V6(ip))) => {
            let mut bytes = FAMILY_INET6.to_ne_bytes().to_vec();
            bytes.extend(port.to_be_bytes());
            bytes.extend([0; 4]);
            bytes.extend(ip.octets());
            bytes.extend([0; 4]);
            bytes
        }
        (PartyAddress::Tcp { port, .. }, ip) => {
            let octets = match ip {
                Some(IpAddr::V4(ip)) => ip.octets(),
                _ => [127, 0, 0, 1],
            };
            let mut bytes = FAMILY_INET.to_ne_bytes().to_vec();
            bytes.extend(port.to_be_bytes());
            bytes.extend(octets);
            bytes.extend([0; 8]);
            bytes
        }
    }
}
