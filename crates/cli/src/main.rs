//! The `raddle` command.
#![forbid(unsafe_code)]

mod agent;
mod args;
mod bug;
mod check;
mod cluster;
mod command_line;
mod config;
mod csp;
mod csp_args;
mod demo;
mod doctor;
mod error;
mod exit_codes;
mod facts;
mod formats;
mod frameworks;
mod gdb;
mod known;
mod last_resort;
mod list;
mod log;
mod man;
mod predict;
mod remote_args;
mod replay;
mod report;
mod resume;
mod run;
mod semantics_args;
mod serve;
mod show;
mod statuses;
mod values;
mod watch;

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::panic;
use std::path::Path;
use std::process::ExitCode;

use clap::CommandFactory;
use raddle_cc::{Environment, Language};
use raddle_engine::runtime;

use args::{Cli, Command};
use error::{CommandError, CommandResult, say};

fn main() -> ExitCode {
    bug::install_hook();
    // The hook has told the user about a panic.
    let status = panic::catch_unwind(run).unwrap_or(exit_codes::UNUSABLE);
    ExitCode::from(status)
}

fn run() -> u8 {
    log::install();
    let words: Vec<OsString> = std::env::args_os().collect();
    let result = match wrapper(&words) {
        Some((language, args)) => wrap(language, args),
        None => {
            config::warn_about_unknown_variables();
            config::complete(words).and_then(|words| dispatch(Cli::of_user(&words), words))
        }
    };
    result.unwrap_or_else(|error| {
        say(&format!("raddle: {error}"));
        exit_codes::UNUSABLE
    })
}

/// Whether the compiler is meant, by the name of the command or its first argument. This is decided
/// before anything else: all further words belong to the compiler, whatever they look like.
fn wrapper(words: &[OsString]) -> Option<(Language, &[OsString])> {
    let (own, args) = words.split_first()?;
    match Path::new(own).file_name().and_then(OsStr::to_str) {
        Some("raddle-cc") => return Some((Language::C, args)),
        Some("raddle-c++" | "raddle-cxx") => return Some((Language::Cxx, args)),
        _ => {}
    }
    let (command, args) = args.split_first()?;
    match command.to_str()? {
        "cc" => Some((Language::C, args)),
        "c++" => Some((Language::Cxx, args)),
        _ => None,
    }
}

fn wrap(language: Language, args: &[OsString]) -> CommandResult {
    let runtime = runtime::install().map_err(|error| CommandError(error.to_string()))?;
    let status = raddle_cc::wrap(language, args, &Environment::current(), &runtime);
    Ok(u8::try_from(status).unwrap_or(exit_codes::UNUSABLE))
}

fn dispatch(cli: Cli, words: Vec<OsString>) -> CommandResult {
    anstream::ColorChoice::from(cli.output.color).write_global();
    match cli.command {
        Command::Cc(args) => wrap(Language::C, &args.args),
        Command::Cxx(args) => wrap(Language::Cxx, &args.args),
        Command::Check(args) => check::run(&args, &words),
        Command::Resume(args) => resume::run(&args),
        Command::Coordinate(args) => cluster::coordinate(&args),
        Command::Worker(args) => cluster::work(&args),
        Command::Status(args) => cluster::status(&args),
        Command::Agent(args) => agent::run(&args),
        Command::Run(args) => run::run(&args),
        Command::Replay(args) => replay::run(&args),
        Command::Facts(args) => facts::run(&args),
        Command::Predict(args) => predict::run(&args),
        Command::Csp(args::CspCommand::Check(args)) => csp::check(&args),
        Command::Csp(args::CspCommand::Draw(args)) => csp::draw(&args),
        Command::Report(args) => report::run(&args),
        Command::Show(args) => show::run(&args),
        Command::List => list::run(),
        Command::Doctor => doctor::run(),
        Command::Demo => {
            demo::run(Path::new("."), &mut io::stdout())?;
            Ok(exit_codes::FINE)
        }
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "raddle", &mut script);
            print(&script)
        }
        Command::Man { out } => man::run(out.as_deref()),
    }
}

fn print(bytes: &[u8]) -> CommandResult {
    io::stdout().write_all(bytes)?;
    Ok(exit_codes::FINE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn language(line: &str) -> Option<(Language, usize)> {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        wrapper(&words).map(|(language, args)| (language, args.len()))
    }

    #[test]
    fn the_compiler_is_known_by_name_or_first_argument() {
        assert_eq!(language("raddle cc -c a.c"), Some((Language::C, 2)));
        assert_eq!(language("raddle c++ --version"), Some((Language::Cxx, 1)));
        assert_eq!(language("/usr/bin/raddle-cc --help"), Some((Language::C, 1)));
        assert_eq!(language("raddle-c++ cc"), Some((Language::Cxx, 1)));
        assert_eq!(language("raddle check cc"), None);
        assert_eq!(language("raddle"), None);
    }
}
