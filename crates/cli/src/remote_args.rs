//! `--target`: programs that run beside an agent.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use raddle_engine::Program;
use raddle_exec::remote::{RemoteProgram, TOKEN_VARIABLE};
use raddle_remote::{AgentAddress, AgentEndpoint, Timing, Token};

use crate::error::CommandError;

/// Where a program runs.
#[derive(Clone, Debug, Args)]
pub struct RemoteArgs {
    /// Let an agent (`raddle agent`) run the program: ssh:HOST, ssh:HOST:PORT or tcp:HOST:PORT
    #[arg(long, value_name = "AGENT")]
    pub target: Option<AgentAddress>,
    /// File with the token of the agent [default: the variable RADDLE_TOKEN]
    #[arg(long, value_name = "FILE", requires = "target")]
    pub token_file: Option<PathBuf>,
    /// Try for so many seconds to reach the agent [default: once, and for 60 seconds after a
    /// connection broke]
    #[arg(long, value_name = "S", requires = "target", value_parser = crate::args::seconds)]
    pub target_patience: Option<f64>,
}

impl RemoteArgs {
    /// Says which of these does not go with an agent.
    ///
    /// # Errors
    /// The first of them that is there, if there is an agent.
    pub fn accept(&self, others: &[(bool, &str)]) -> Result<(), CommandError> {
        match others.iter().find(|(is_there, _)| *is_there && self.target.is_some()) {
            None => Ok(()),
            Some((_, word)) => Err(CommandError(format!(
                "{word} does not go with --target, which runs a program that the agent offers"
            ))),
        }
    }

    /// The program that this path names, if an agent is to run it.
    ///
    /// # Errors
    /// If the agent cannot be reached, or does not offer it.
    pub fn find(&self, named: &Path) -> Result<Option<RemoteProgram>, CommandError> {
        let Some(address) = &self.target else { return Ok(None) };
        let mut timing = Timing::default();
        let wanted = self.target_patience.map(Duration::from_secs_f64);
        timing.patience = wanted.unwrap_or(timing.patience);
        let endpoint = AgentEndpoint { address: address.clone(), token: self.token()?, timing };
        Ok(Some(RemoteProgram::find(endpoint, named, wanted.unwrap_or_default()).map_err(raddle_engine::Error::from)?))
    }

    /// The program where it is to run.
    ///
    /// # Errors
    /// As [`RemoteArgs::find`].
    pub fn place(&self, program: Program) -> Result<Program, CommandError> {
        Ok(match self.find(program.path())? {
            Some(agent) => program.beside(agent),
            None => program,
        })
    }

    fn token(&self) -> Result<Token, CommandError> {
        if let Some(path) = &self.token_file {
            return Token::from_file(path).map_err(|error| CommandError(format!("{}: {error}", path.display())));
        }
        let text = std::env::var(TOKEN_VARIABLE).unwrap_or_default();
        if text.is_empty() {
            let what = format!("the agent wants its token: set {TOKEN_VARIABLE}, or name a file with --token-file");
            return Err(CommandError(what));
        }
        Token::of(&text).map_err(|error| CommandError(format!("{TOKEN_VARIABLE}: {error}")))
    }
}
