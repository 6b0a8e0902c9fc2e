//! Where an agent is.

use std::fmt;
use std::str::FromStr;

use crate::LinkError;

/// The port of an agent unless another one is named.
pub const PORT: u16 = 7377;

/// How an agent is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentAddress {
    /// Directly. Nothing is encrypted.
    Tcp {
        /// Name or address of the machine.
        host: String,
        /// Port of the agent.
        port: u16,
    },
    /// Through `ssh`, which reaches the agent on the loopback address of its machine.
    Ssh {
        /// What `ssh` takes for a destination.
        host: String,
        /// Port of the agent there.
        port: u16,
    },
}

impl FromStr for AgentAddress {
    type Err = LinkError;

    fn from_str(text: &str) -> Result<Self, LinkError> {
        let wrong = || LinkError::Address(text.into());
        let (kind, rest) = text.split_once(':').ok_or_else(wrong)?;
        let (host, port) = match rest.rsplit_once(':') {
            // The last part of an IPv6 address without brackets is no port.
            Some((host, port)) if !host.contains(':') || host.ends_with(']') => {
                (host, Some(port.parse::<u16>().ok().filter(|&port| port > 0).ok_or_else(wrong)?))
            }
            _ => (rest, None),
        };
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        // `ssh` would take it for an option.
        if host.is_empty() || host.starts_with('-') || host.contains(|sign: char| sign.is_whitespace()) {
            return Err(wrong());
        }
        match (kind, port) {
            ("tcp", Some(port)) => Ok(AgentAddress::Tcp { host: host.into(), port }),
            ("ssh", port) => Ok(AgentAddress::Ssh { host: host.into(), port: port.unwrap_or(PORT) }),
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for AgentAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, host, port) = match self {
            AgentAddress::Tcp { host, port } => ("tcp", host, port),
            AgentAddress::Ssh { host, port } => ("ssh", host, port),
        };
        if host.contains(':') { write!(f, "{kind}:[{host}]:{port}") } else { write!(f, "{kind}:{host}:{port}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_shown() {
        for (text, shown) in [
            ("tcp:localhost:7000", "tcp:localhost:7000"),
            ("tcp:[::1]:7000", "tcp:[::1]:7000"),
            ("ssh:me@board", "ssh:me@board:7377"),
            ("ssh:me@board:99", "ssh:me@board:99"),
            ("ssh:fe80::1", "ssh:[fe80::1]:7377"),
        ] {
            assert_eq!(text.parse::<AgentAddress>().unwrap().to_string(), shown);
        }
        for wrong in ["", "board", "tcp:board", "tcp:board:0", "tcp::7", "ssh:-oProxyCommand=x", "ssh:a b", "udp:a:1"] {
            assert!(wrong.parse::<AgentAddress>().is_err(), "{wrong}");
        }
    }
}
