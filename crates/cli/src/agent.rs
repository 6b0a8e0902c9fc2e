//! `raddle agent`: runs programs of this machine for searches on other ones.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use raddle_engine::runtime;
use raddle_exec::interrupt;
use raddle_exec::remote::TOKEN_VARIABLE;
use raddle_exec::remote::agent::{Agent, Offer};
use raddle_remote::{Server, ServerLimits, Timing, Token, address};
use raddle_report::symbols::separate_debug_file;

use crate::args::seconds;
use crate::error::{CommandError, CommandResult, say};
use crate::exit_codes;
use crate::values::size;

/// Where it listens: only programs of this machine get there, and those that ssh brings.
const LOOPBACK: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), address::PORT);
/// Bytes of a message of a host, among them the standard input of a program.
const LONGEST_MESSAGE: usize = 64 << 20;
/// Programs that are named in the first lines.
const MOST_NAMED: usize = 8;

/// `raddle agent`.
#[derive(Clone, Debug, Args)]
pub struct AgentArgs {
    /// Programs that may be run, and directories of such programs
    #[arg(required = true, value_name = "PROG|DIR")]
    pub programs: Vec<PathBuf>,
    /// Listen there; port 0 for any free one
    #[arg(long, value_name = "ADDRESS:PORT", default_value_t = LOOPBACK)]
    pub listen: SocketAddr,
    /// File with the token that hosts have to show [default: the variable RADDLE_TOKEN, or a new
    /// token, which is printed]
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Bytes of memory that each process of a program may have, as in 500M or 2G
    #[arg(long, value_name = "N", value_parser = size)]
    pub memory_limit: Option<u64>,
    /// End a program that a host has had for so many seconds
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub time_limit: Option<f64>,
    /// Programs that may run at the same time
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub max_processes: u32,
    /// Wait so many seconds for a host whose connection broke
    #[arg(long, value_name = "S", default_value = "60", value_parser = seconds)]
    pub patience: f64,
    /// Print nothing but errors
    #[arg(long)]
    pub quiet: bool,
}

/// Runs the command.
pub fn run(args: &AgentArgs) -> CommandResult {
    interrupt::install()?;
    let programs = args
        .programs
        .iter()
        .map(|path| path.canonicalize().map_err(|error| CommandError(format!("{}: {error}", path.display()))));
    let (token, is_new) = token(args)?;
    let quiet = args.quiet;
    let offer = Offer {
        programs: programs.collect::<Result<_, _>>()?,
        memory_limit: args.memory_limit,
        environment: std::env::vars_os().filter(|(name, _)| name != TOKEN_VARIABLE).collect(),
        runtime: Box::new(|program| runtime::library_for(program).map_err(|error| error.to_string())),
        debug_file: |path| separate_debug_file(path),
        tell: Box::new(move |text| {
            if !quiet {
                say(&format!("raddle: {text}"));
            }
        }),
    };
    let agent = Arc::new(Agent::new(offer));
    let offered = agent.programs();
    if offered.is_empty() {
        return Err(CommandError("there is no program among these: an agent runs what it is let run".into()));
    }
    let limits = ServerLimits {
        sessions: args.max_processes as usize,
        time: args.time_limit.map(Duration::from_secs_f64),
        longest: LONGEST_MESSAGE,
        timing: Timing { patience: Duration::from_secs_f64(args.patience), ..Timing::default() },
    };
    let serving = Arc::clone(&agent);
    let handler = Box::new(move |channel| serving.serve(channel));
    let wrong = |error: std::io::Error| CommandError(format!("{}: {error}", args.listen));
    let server = Server::listen(args.listen, token.clone(), limits, handler).map_err(wrong)?;
    let at = server.address().map_err(wrong)?;
    if !args.quiet {
        introduce(at, &offered);
    }
    if is_new {
        say(&format!("raddle: token {}", token.reveal()));
    }
    server.run(interrupt::requested);
    Ok(exit_codes::FINE)
}

/// The token, and whether it is a new one.
fn token(args: &AgentArgs) -> Result<(Token, bool), CommandError> {
    if let Some(path) = &args.token_file {
        let token = Token::from_file(path).map_err(|error| CommandError(format!("{}: {error}", path.display())))?;
        return Ok((token, false));
    }
    match std::env::var(TOKEN_VARIABLE) {
        Ok(text) if !text.is_empty() => {
            let token = Token::of(&text).map_err(|error| CommandError(format!("{TOKEN_VARIABLE}: {error}")))?;
            Ok((token, false))
        }
        _ => Ok((Token::random()?, true)),
    }
}

/// Says what is offered, and how to get here.
fn introduce(at: SocketAddr, programs: &[PathBuf]) {
    let name = |path: &PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let names: Vec<String> = programs.iter().take(MOST_NAMED).map(name).collect();
    let more = if programs.len() > MOST_NAMED { " and others" } else { "" };
    say(&format!("raddle: listening on {at} for searches of {}{more}", names.join(", ")));
    let (port, program) = (at.port(), &names[0]);
    if at.ip().is_loopback() {
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let host = Some(host.trim()).filter(|host| !host.is_empty()).unwrap_or("HOST");
        let own = if port == address::PORT { String::new() } else { format!(":{port}") };
        say(&format!(
            "raddle: from another machine: {TOKEN_VARIABLE}=... raddle check --target ssh:{host}{own} {program}"
        ));
        say(&format!("raddle: or through a tunnel of your own: ssh -N -L {port}:127.0.0.1:{port} {host}"));
    } else {
        say(&format!(
            "raddle: warning: {at} can be reached by other machines, and nothing is encrypted, the token neither: use \
             a network that you trust, or the default address and ssh"
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_listens_on_loopback() {
        assert!(LOOPBACK.ip().is_loopback());
    }
}
