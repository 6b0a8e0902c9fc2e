//! `raddle replay --gdb`: a witness in the debugger, with commands over the threads of the program.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use raddle_engine::{DebuggedRun, Replay};
use raddle_exec::emulator::Emulator;
use raddle_exec::{NativeTarget, interrupt};
use raddle_vocab::OpKind;

use crate::args::ReplayArgs;
use crate::error::{CommandError, CommandResult, say};
use crate::exit_codes;

/// The commands, in gdb's own language.
const SCRIPT: &str = include_str!("gdb/raddle.py");

/// Lets gdb take the program over before its first event. Whenever the user goes back, the schedule
/// is run again, up to an earlier event.
pub fn debug(args: &ReplayArgs, replay: &Replay) -> CommandResult {
    interrupt::leave_to_debugger()?;
    let place = tempfile::Builder::new().prefix("raddle").tempdir()?;
    let again = place.path().join("again");
    let mut event = args.break_at;
    loop {
        let status = debug_once(replay, event, place.path(), &again)?;
        let wanted = std::fs::read_to_string(&again).ok().and_then(|text| text.trim().parse().ok());
        let Some(wanted) = wanted else {
            say("raddle: gdb has ended");
            return Ok(status);
        };
        std::fs::remove_file(&again)?;
        event = Some(wanted);
    }
}

/// One run in gdb.
fn debug_once(replay: &Replay, event: Option<u64>, place: &Path, again: &Path) -> CommandResult {
    let program = std::path::absolute(replay.program_path())?;
    if Emulator::for_program(&program).map_err(raddle_engine::Error::from)?.is_some() {
        let advice = "gdb cannot be attached to a program that is emulated: replay the recording on a machine with \
                      the program's processor, or look at it with `--break-at EVENT` and without `--gdb`";
        return Err(CommandError(advice.into()));
    }
    let DebuggedRun { mut options, plan, saved, knowledge, failure } = replay.for_debugger(event.is_some())?;
    options.hang_timeout = Duration::MAX;
    let target = NativeTarget::start_again(options, saved, &knowledge);
    let mut target = target.map_err(raddle_engine::Error::from)?;
    let process = target.process_id().ok_or_else(|| CommandError("the program has ended".into()))?;
    let heartbeat = target.heartbeat_address().ok_or_else(|| CommandError("the program shares no memory".into()))?;
    let script = place.join("raddle.py");
    let figures = Figures { heartbeat, process: process.to_string(), program: &program, again, event, failure };
    std::fs::write(&script, commands(&figures))?;
    // Stopped until gdb has attached; otherwise the run would be over before.
    let stopped = Command::new("kill").args(["-STOP", &process.to_string()]).status()?;
    if !stopped.success() {
        return Err(CommandError("the program cannot be stopped for gdb".into()));
    }
    target.submit_plan(plan);
    target.hand_over();
    let mut gdb = Command::new("gdb");
    gdb.arg("-q").arg("-ex").arg(format!("source {}", script.display()));
    let status = gdb.status().map_err(|error| CommandError(format!("gdb cannot be started: {error}")))?;
    Ok(if status.success() { exit_codes::FINE } else { exit_codes::UNUSABLE })
}

/// What the script needs to know.
struct Figures<'a> {
    heartbeat: u64,
    process: String,
    program: &'a Path,
    /// The file that asks for another run.
    again: &'a Path,
    /// The event to stop before.
    event: Option<u64>,
    /// Failures before the one to stop at.
    failure: Option<u32>,
}

/// The script with its figures.
fn commands(figures: &Figures<'_>) -> String {
    let kinds: Vec<String> = OpKind::ALL.iter().map(|&kind| format!("{}: {:?}", kind as u8, kind.word())).collect();
    let number = |number: Option<u64>| number.map_or_else(|| "None".into(), |number| number.to_string());
    let text = |path: &Path| serde_json::Value::from(path.to_string_lossy()).to_string();
    format!(
        "{SCRIPT}\nHEARTBEAT = {}\nPROCESS = {}\nPROGRAM = {}\nAGAIN = {}\nKINDS = {{{}}}\nstart({}, {})\n",
        figures.heartbeat,
        figures.process,
        text(figures.program),
        text(figures.again),
        kinds.join(", "),
        number(figures.event),
        number(figures.failure.map(u64::from))
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_knows_every_operation() {
        let path = Path::new("/tmp/a \"b");
        let figures = |event, failure| Figures {
            heartbeat: 4096,
            process: "7".into(),
            program: path,
            again: path,
            event,
            failure,
        };
        let script = commands(&figures(Some(7), None));
        assert!(script.contains(r#"PROGRAM = "/tmp/a \"b""#), "{script}");
        assert!(script.contains("12: \"lock\"") && script.ends_with("start(7, None)\n"), "{script}");
        assert!(commands(&figures(None, Some(2))).ends_with("start(None, 2)\n"));
    }
}
