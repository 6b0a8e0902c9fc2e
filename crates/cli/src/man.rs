//! `raddle man`: manual pages, made from the table of the command line.

use std::io::Write;
use std::path::Path;

use clap::CommandFactory;

use crate::args::Cli;
use crate::error::{CommandError, CommandResult};
use crate::exit_codes;

/// Prints the page of the whole command, or writes one for each command to a directory.
pub fn run(directory: Option<&Path>) -> CommandResult {
    match directory {
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(Cli::command()).render(&mut page)?;
            std::io::stdout().write_all(&page)?;
        }
        Some(directory) => {
            let wrong = |error: std::io::Error| CommandError(format!("{}: {error}", directory.display()));
            std::fs::create_dir_all(directory).map_err(wrong)?;
            clap_mangen::generate_to(Cli::command(), directory).map_err(wrong)?;
        }
    }
    Ok(exit_codes::FINE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_page_for_each_command() {
        let directory = tempfile::tempdir().unwrap();
        run(Some(directory.path())).unwrap();
        for command in Cli::command().get_subcommands() {
            let name = format!("raddle-{}.1", command.get_name());
            let page = std::fs::read_to_string(directory.path().join(&name)).unwrap_or_else(|_| panic!("{name}"));
            for argument in command.get_arguments().filter_map(clap::Arg::get_long) {
                assert!(page.contains(&argument.replace('-', "\\-")), "{name} lacks --{argument}");
            }
        }
        assert!(run(Some(Path::new("/dev/null/x"))).is_err());
    }
}
