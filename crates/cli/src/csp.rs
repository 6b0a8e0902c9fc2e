//! `raddle csp`: the assertions of a CSPm script, and the transition systems of its processes.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use raddle_csp::cspm::{AssertOutcome, AssertionVerdict, check_each};
use raddle_csp::{CheckError, CheckStop, LimitReached, Limits, cspm};
use raddle_engine::text_file;
use raddle_exec::interrupt;

use crate::args::{CspCheckArgs, CspDrawArgs, CspLimits};
use crate::error::{CommandError, CommandResult, say};
use crate::exit_codes;
use crate::last_resort::{AfterGivingUp, LastResort};

/// Words of memory that go with each state of the budget.
const CELLS_PER_STATE: u64 = 20;

/// How often the limits are looked at.
const PERIOD: Duration = Duration::from_millis(5);

/// Checks every assertion and prints what became of it, as soon as that is known.
pub fn check(args: &CspCheckArgs) -> CommandResult {
    let source = text_file::read(&args.file)?;
    let brake = Brake::of(&args.limits)?;
    let last_resort = watch(&args.limits, "the assertion under way was not decided");
    let stop = || brake.cause();
    let limits = limits(args.max_states, &stop);
    let name = args.file.display().to_string();
    let mut outcomes = Vec::new();
    let checked = check_each(&source, &limits, |outcome| {
        println(&format!("{name}:{outcome}"));
        outcomes.push(outcome);
    });
    checked.map_err(|error| CommandError(format!("{name}:{error}")))?;
    last_resort.stand_down();
    if outcomes.is_empty() {
        return Err(CommandError(format!("{name}: there is no assertion to check (`assert P [T= Q`)")));
    }
    if let Some(advice) = outcomes.iter().find_map(|outcome| match &outcome.verdict {
        AssertionVerdict::Unknown(limit) => Some(advice(limit)),
        _ => None,
    }) {
        say(&format!("raddle: {advice}"));
    }
    Ok(status(&outcomes))
}

/// Draws the transition system of one process.
pub fn draw(args: &CspDrawArgs) -> CommandResult {
    let source = text_file::read(&args.file)?;
    let brake = Brake::of(&args.limits)?;
    let last_resort = watch(&args.limits, "nothing was drawn");
    let stop = || brake.cause();
    let drawn = cspm::draw(&source, args.process.as_deref(), &limits(args.max_states, &stop));
    let name = args.file.display();
    let lts = match drawn {
        Ok(lts) => lts,
        Err(CheckError::Limit(limit)) => {
            say(&format!("raddle: nothing was drawn: {limit}"));
            return Ok(exit_codes::OPEN);
        }
        Err(error) => return Err(CommandError(format!("{name}:{error}"))),
    };
    last_resort.stand_down();
    write(args.output.as_deref(), &lts.to_string())?;
    if lts.left_out == 0 {
        return Ok(exit_codes::FINE);
    }
    let (states, left_out) = (lts.states.len(), lts.left_out);
    say(&format!(
        "raddle: cut at {states} states: {left_out} transitions to further states are left out; \
         a larger --max-states draws more"
    ));
    Ok(exit_codes::OPEN)
}

fn limits<'a>(max_states: u64, stop: &'a (dyn Fn() -> Option<CheckStop> + Sync)) -> Limits<'a> {
    let number = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
    let cells = number(max_states.saturating_mul(CELLS_PER_STATE)).max(1_000_000);
    Limits { states: number(max_states), cells, stop: Some(stop) }
}

/// Ends the command where it does not look at its limits.
fn watch(limits: &CspLimits, known: &'static str) -> LastResort {
    LastResort::watch(limits.time_limit.map(Duration::from_secs_f64), move |cause| {
        say(&format!("raddle: {known}: {}", cause.reason().text));
        AfterGivingUp::Exit(exit_codes::OPEN)
    })
}

/// Tells a check to stop. A thread looks at the clock, at signals and at the memory, so that asking
/// costs nothing.
struct Brake {
    cause: Arc<AtomicU8>,
}

impl Brake {
    fn of(limits: &CspLimits) -> Result<Brake, CommandError> {
        interrupt::install()?;
        let cause = Arc::new(AtomicU8::new(0));
        let told = Arc::downgrade(&cause);
        let end = limits.time_limit.and_then(|limit| Instant::now().checked_add(Duration::from_secs_f64(limit)));
        let memory = limits.memory_limit;
        std::thread::spawn(move || {
            while let Some(told) = told.upgrade() {
                let number = match () {
                    () if interrupt::requested() => 1,
                    () if end.is_some_and(|end| Instant::now() >= end) => 2,
                    () if memory.is_some_and(|memory| resident() >= memory) => 3,
                    () => 0,
                };
                told.store(number, Ordering::Relaxed);
                if number != 0 {
                    return;
                }
                std::thread::sleep(PERIOD);
            }
        });
        Ok(Brake { cause })
    }

    fn cause(&self) -> Option<CheckStop> {
        match self.cause.load(Ordering::Relaxed) {
            0 => None,
            1 => Some(CheckStop::Interrupt),
            2 => Some(CheckStop::Time),
            _ => Some(CheckStop::Memory),
        }
    }
}

/// Bytes of memory that this process uses; 0 if the system does not tell.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = resident.and_then(|line| line.split_whitespace().next()).and_then(|number| number.parse().ok());
    kilobytes.map_or(0, |kilobytes: u64| kilobytes << 10)
}

/// What to do about a limit that was reached.
fn advice(limit: &LimitReached) -> &'static str {
    match limit {
        LimitReached::Stopped { cause: CheckStop::Time, .. } => "a longer --time-limit may decide it",
        LimitReached::Stopped { cause: CheckStop::Memory, .. } => "a larger --memory-limit may decide it",
        LimitReached::Stopped { cause: CheckStop::Interrupt, .. } => "it was interrupted",
        LimitReached::States { .. } | LimitReached::Cells { .. } => {
            "a larger --max-states may decide it, if the state space is finite"
        }
        LimitReached::Depth { .. } | LimitReached::Evaluation { .. } => "no option changes this limit",
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

fn write(path: Option<&Path>, text: &str) -> Result<(), CommandError> {
    use std::io::Write;
    match path {
        Some(path) => std::fs::write(path, text).map_err(|error| CommandError(format!("{}: {error}", path.display()))),
        None => Ok(std::io::stdout().write_all(text.as_bytes())?),
    }
}

/// Prints a line to standard output; a closed one is no reason to fail.
fn println(line: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stdout(), "{line}");
}
