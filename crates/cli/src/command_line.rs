//! How the words of the user become a command.

use std::ffi::OsString;

use clap::{Args, FromArgMatches, Parser};

use crate::args::{CheckArgs, Cli, Command, OutputArgs};

impl Cli {
    /// The command line of the user. If it is wrong, this ends the process with a message.
    pub fn of_user(words: &[OsString]) -> Cli {
        Cli::of_check(words).unwrap_or_else(|| Cli::parse_from(words))
    }

    /// The same by the table of `check` alone, which is built in a fifth of the time. `None` for
    /// other commands, and where there is more to say than what was asked for: help, or what is
    /// wrong.
    fn of_check(words: &[OsString]) -> Option<Cli> {
        const NAME: &str = "check";
        if words.get(1)?.as_os_str() != NAME {
            return None;
        }
        let check = CheckArgs::augment_args(clap::Command::new(NAME));
        let table = OutputArgs::augment_args(clap::Command::new("raddle")).subcommand(check);
        let matches = table.try_get_matches_from(words).ok()?;
        let check = CheckArgs::from_arg_matches(matches.subcommand_matches(NAME)?).ok()?;
        let output = OutputArgs::from_arg_matches(&matches).ok()?;
        Some(Cli { command: Command::Check(Box::new(check)), output })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_check_alone_says_the_same() {
        let words = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
        for line in [
            "raddle check a.out",
            "raddle check --strategy optimal --jobs 2 --quiet --json - --out d a.c -- --help x",
            "raddle check --color never a.c --preemptions 2 --strategy dfs --strategy dpor",
        ] {
            let (whole, alone) = (Cli::try_parse_from(words(line)).unwrap(), Cli::of_check(&words(line)).unwrap());
            assert_eq!(format!("{whole:?}"), format!("{alone:?}"), "{line}");
        }
        for line in ["raddle check --help", "raddle check", "raddle check --jobs 0 a.c", "raddle --color never check a"]
        {
            assert!(Cli::of_check(&words(line)).is_none(), "{line}");
        }
    }
}
