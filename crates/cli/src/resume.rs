//! `raddle resume`: goes on with a check that was interrupted.

use std::path::{Path, PathBuf};

use clap::Parser;
use raddle_engine::Interrupted;

use crate::args::{CheckArgs, Cli, Command, ResumeArgs};
use crate::check;
use crate::error::{CommandError, CommandResult};

/// Runs the command. It works where the check was started, with its words; files that the user names
/// now are relative to where the user is.
pub fn run(args: &ResumeArgs) -> CommandResult {
    let interrupted = Interrupted::load(args.directory.as_deref())?;
    let here = std::env::current_dir()?;
    let journal = std::path::absolute(interrupted.path())?;
    let wrong = |what: String| CommandError(format!("{}: this search cannot be resumed: {what}", journal.display()));
    let words = interrupted.command();
    let there = interrupted.working_directory();
    std::env::set_current_dir(&there).map_err(|error| wrong(format!("{}: {error}", there.display())))?;
    let command = Cli::try_parse_from(&words).map_err(|error| wrong(error.to_string()))?.command;
    let Command::Check(mut check) = command else {
        return Err(wrong("it was not begun by `raddle check`".into()));
    };
    overrule(&mut check, args, &here);
    check::resume(&check, &words, interrupted.at(journal))
}

/// Puts the options of the user in the place of those of the check.
fn overrule(check: &mut CheckArgs, args: &ResumeArgs, here: &Path) {
    let path = |path: &Option<PathBuf>| match path {
        Some(path) if path.as_os_str() == "-" => Some(path.clone()),
        Some(path) => Some(here.join(path)),
        None => None,
    };
    let (new, old) = (&args.shown, &mut check.shown);
    if new.files().iter().any(Option::is_some) || new.report.is_some() {
        (old.json, old.sarif) = (path(&new.json), path(&new.sarif));
        (old.junit, old.html) = (path(&new.junit), path(&new.html));
        old.report = new.report;
    }
    old.serve |= new.serve;
    old.quiet |= new.quiet;
    check.time_limit = args.time_limit.or(check.time_limit);
}
