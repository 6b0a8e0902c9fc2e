//! `raddle resume`: goes on with a check that was interrupted.

use std::path::Path;

use clap::Parser;
use raddle_engine::Interrupted;

use crate::args::{CheckArgs, Cli, Command, ResumeArgs, ShownArgs};
use crate::check;
use crate::error::{CommandError, CommandResult};

/// Runs the command. It works where the check was started, with its words; files that the user
/// names now are relative to where the user is.
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
    let old = &mut check.shown;
    let mut new =
        ShownArgs { serve: args.shown.serve || old.serve, quiet: args.shown.quiet || old.quiet, ..args.shown.clone() };
    if new.report.is_none() && new.files().iter().all(Option::is_none) {
        (old.serve, old.quiet) = (new.serve, new.quiet);
    } else {
        for file in new.files_mut().into_iter().flatten().filter(|file| file.as_os_str() != "-") {
            *file = here.join(&file);
        }
        *old = new;
    }
    check.time_limit = args.time_limit.or(check.time_limit);
}
