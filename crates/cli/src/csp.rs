//! `raddle csp check`: the assertions of a CSPm script.

use std::time::{Duration, Instant};

use raddle_csp::cspm::{AssertOutcome, AssertionVerdict, check_file};
use raddle_csp::{LimitReached, Limits};
use raddle_engine::text_file;
use raddle_exec::interrupt;

use crate::args::CspCheckArgs;
use crate::error::{CommandError, CommandResult, say};
use crate::exit_codes;
use crate::last_resort::{AfterGivingUp, LastResort};

/// Words of memory that go with each state of the budget.
const CELLS_PER_STATE: u64 = 20;

/// Checks every assertion and prints what became of it.
pub fn check(args: &CspCheckArgs) -> CommandResult {
    let source = text_file::read(&args.file)?;
    interrupt::install()?;
    let limit = args.time_limit.map(Duration::from_secs_f64);
    let end = limit.and_then(|limit| Instant::now().checked_add(limit));
    let cancel = move || interrupt::requested() || end.is_some_and(|end| Instant::now() >= end);
    let last_resort = LastResort::watch(limit, |cause| {
        say(&format!("raddle: no assertion was decided: {}", cause.reason().text));
        AfterGivingUp::Exit(exit_codes::OPEN)
    });
    let limits = Limits {
        states: usize::try_from(args.max_states).unwrap_or(usize::MAX),
        cells: usize::try_from(args.max_states.saturating_mul(CELLS_PER_STATE)).unwrap_or(usize::MAX).max(1_000_000),
        cancel: Some(&cancel),
    };
    let name = args.file.display();
    let outcomes = check_file(&source, &limits).map_err(|error| CommandError(format!("{name}:{error}")))?;
    last_resort.stand_down();
    if outcomes.is_empty() {
        return Err(CommandError(format!("{name}: there is no assertion to check (`assert P [T= Q`)")));
    }
    for outcome in &outcomes {
        println(&format!("{name}:{outcome}"));
        advise(outcome);
    }
    Ok(status(&outcomes))
}

/// What to do about a budget that ended.
fn advise(outcome: &AssertOutcome) {
    match &outcome.verdict {
        AssertionVerdict::Unknown(LimitReached::Cancelled { .. }) => say("raddle: a longer --time-limit may decide it"),
        AssertionVerdict::Unknown(LimitReached::States { .. } | LimitReached::Cells { .. }) => {
            say("raddle: a larger --max-states may decide it, if the state space is finite");
        }
        _ => {}
    }
}

/// A wrong script outweighs everything, a failed assertion what is open.
fn status(outcomes: &[AssertOutcome]) -> u8 {
    let any = |test: fn(&AssertionVerdict) -> bool| outcomes.iter().any(|outcome| test(&outcome.verdict));
    if any(|verdict| matches!(verdict, AssertionVerdict::Broken(_))) {
        exit_codes::UNUSABLE
    } else if any(|verdict| matches!(verdict, AssertionVerdict::Fails(_))) {
        exit_codes::FOUND
    } else if any(|verdict| matches!(verdict, AssertionVerdict::Unknown(_))) {
        exit_codes::OPEN
    } else {
        exit_codes::FINE
    }
}

/// Prints a line to standard output; a closed one is no reason to fail.
fn println(line: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stdout(), "{line}");
}
