//! `raddle replay`: runs a recorded schedule again, and says whether it still leads to what it led
//! to.

use std::path::Path;

use raddle_engine::directory::{EARLIER, ROOT};
use raddle_engine::runs::find_witness;
use raddle_engine::{BuildRecord, DivergedRun, FollowedRun, ParkedThread, Replay, ReplayOutcome, place_text};
use raddle_exec::interrupt;
use raddle_model::finding::Place;

use crate::args::{ReplayArgs, scripts_of};
use crate::error::{CommandError, CommandResult};
use crate::exit_codes;
use crate::gdb::debug;

/// Runs the command.
pub fn run(args: &ReplayArgs) -> CommandResult {
    let witness = find_witness(&args.witness, Path::new(ROOT))?;
    if witness.parent().and_then(Path::file_name).is_some_and(|name| name == EARLIER) {
        println("this is a witness of an earlier check: the last one did not find it");
    }
    let mut replay = Replay::load(&witness)?;
    if let Some(program) = &args.program {
        replay = replay.program(program);
    }
    args.remote.accept(&[(args.gdb, "--gdb"), (args.rebuild, "--rebuild")])?;
    if let Some(agent) = args.remote.find(replay.program_path())? {
        replay = replay.beside(agent);
    }
    if let Some(directory) = &args.peers {
        replay = replay.parties(scripts_of(directory, 0, 0)?);
    }
    if args.show_output || args.gdb {
        replay = replay.show_output();
    }
    if args.rebuild {
        rebuild(replay.program_path())?;
    }
    if replay.is_program_changed() {
        println(&format!("{} was built again since the recording", replay.program_path().display()));
    }
    for file in replay.newer_sources() {
        println(&format!(
            "{file} was changed after {} was built: this runs the old code",
            replay.program_path().display()
        ));
    }
    if args.gdb {
        return debug(args, &replay);
    }
    interrupt::install()?;
    match args.break_at {
        Some(event) => stop_before(event, &replay),
        None => run_schedule(&replay),
    }
}

/// Builds the program again where and as it was built.
fn rebuild(program: &Path) -> Result<(), CommandError> {
    let record = BuildRecord::of(program)?;
    let program = std::path::absolute(program)?;
    let here = std::env::current_dir()?;
    let there = record.directory();
    std::env::set_current_dir(there).map_err(|error| CommandError(format!("{}: {error}", there.display())))?;
    let built = record.sources().compile_into(program.parent().unwrap_or(Path::new("/")));
    std::env::set_current_dir(here)?;
    built.map(drop).map_err(CommandError::from)
}

fn run_schedule(replay: &Replay) -> CommandResult {
    match replay.run()? {
        ReplayOutcome::Diverged(run) => {
            println(&format!("diverged {}", run.divergence));
            for observation in &run.observed {
                println(&observation.text);
            }
            println(&what_diverged(&run));
            Ok(if run.reproduced { exit_codes::FOUND } else { exit_codes::OPEN })
        }
        ReplayOutcome::Followed(run) => {
            for observation in &run.observed {
                println(&observation.text);
            }
            for (number, thread) in run.parked.iter().enumerate() {
                show_parked(number + 1, thread);
            }
            println(&verdict(&run));
            Ok(if run.reproduced { exit_codes::FOUND } else { exit_codes::FINE })
        }
    }
}

/// What became of a finding whose schedule the program does not follow any more.
fn what_diverged(run: &DivergedRun) -> String {
    let how = if run.followed == run.events {
        format!("the threads followed all {} events of the schedule, with other operations", run.events)
    } else {
        format!(
            "the schedule is no longer feasible for this program: of its {} events, {} were followed by their threads",
            run.events, run.followed
        )
    };
    match &run.finding {
        Some(finding) if run.reproduced => format!("{how}\nreproduced: {}: {}", finding.id, finding.message),
        Some(finding) if run.has_ended => {
            let id = &finding.id;
            format!("{how}\nnot reproduced: the program ended without {id}; `raddle check` says whether it is gone")
        }
        Some(finding) => {
            format!("{how}\nnot reproduced: the run did not come to its end, and {} did not show", finding.id)
        }
        None => how,
    }
}

fn verdict(run: &FollowedRun) -> String {
    let events = run.events;
    match (&run.finding, run.reproduced) {
        (Some(finding), true) => format!("reproduced: {}: {}", finding.id, finding.message),
        (Some(finding), false) => {
            format!("followed {events} events: {} did not occur, it is gone on this path", finding.id)
        }
        (None, true) => format!("followed {events} events to the findings above"),
        (None, false) => format!("followed {events} events: nothing is wrong on this path"),
    }
}

fn show_parked(number: usize, parked: &ParkedThread) {
    let what = if parked.writes { "write" } else { "read" };
    println(&format!("({number}) thread {} stands before a {what} of {} bytes", parked.thread, parked.size));
    show_stack(&parked.stack);
}

fn show_stack(stack: &[Place]) {
    for place in stack {
        let function = place.function.as_deref().unwrap_or("?");
        println(&format!("      {function}  {}", place_text(place).unwrap_or_default()));
    }
}

/// Runs up to an event and shows where every thread stands.
fn stop_before(event: u64, replay: &Replay) -> CommandResult {
    let stopped = replay.stop_before(event)?;
    println(&format!("stopped before event {}", stopped.event));
    for thread in &stopped.threads {
        println(&format!("{} ({})", thread.next, thread.state.words()));
        show_stack(&thread.stack);
    }
    Ok(exit_codes::FINE)
}

/// Prints a line to standard output; a closed one is no reason to fail.
fn println(line: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stdout(), "{line}");
}
