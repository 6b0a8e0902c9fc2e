//! `raddle replay --gdb`: a witness in the debugger, with commands over the threads of the program.

use std::io::Write as _;
use std::process::Command;
use std::time::Duration;

use raddle_engine::Replay;
use raddle_exec::emulator::Emulator;
use raddle_exec::{NativeTarget, RestoreMode, interrupt};
use raddle_vocab::OpKind;

use crate::args::ReplayArgs;
use crate::error::{CommandError, CommandResult, say};
use crate::exit_codes;

/// The commands, in gdb's own language.
const SCRIPT: &str = include_str!("gdb/raddle.py");

/// Lets gdb take the program over before its first event. The run gets a process of its own,
/// because the write-protected pages of a snapshot would look like crashes to the user.
pub fn debug(args: &ReplayArgs, replay: &Replay) -> CommandResult {
    let (mut options, plan) = replay.for_debugger(args.break_at.is_some())?;
    options.mode = RestoreMode::Fork;
    options.hang_timeout = Duration::MAX;
    interrupt::leave_to_debugger()?;
    let program = options.program.clone();
    if Emulator::for_program(&program).map_err(raddle_engine::Error::from)?.is_some() {
        let advice = "gdb cannot be attached to a program that is emulated: replay the recording on a machine with \
                      the program's processor, or look at it with `--break-at EVENT` and without `--gdb`";
        return Err(CommandError(advice.into()));
    }
    let mut target = NativeTarget::start(options).map_err(raddle_engine::Error::from)?;
    let process = target.process_id().ok_or_else(|| CommandError("the program has ended".into()))?;
    let heartbeat = target.heartbeat_address().ok_or_else(|| CommandError("the program shares no memory".into()))?;
    let mut script = tempfile::Builder::new().prefix("raddle").suffix(".py").tempfile()?;
    script.write_all(commands(heartbeat, args.break_at).as_bytes())?;
    script.flush()?;
    // Stopped until gdb has attached; otherwise the run would be over before.
    let stopped = Command::new("kill").args(["-STOP", &process.to_string()]).status()?;
    if !stopped.success() {
        return Err(CommandError("the program cannot be stopped for gdb".into()));
    }
    target.submit_plan(plan);
    target.hand_over();
    let mut gdb = Command::new("gdb");
    gdb.args(["-q", "-ex", "set follow-fork-mode child", "-ex", "handle SIGSTOP nostop noprint nopass"]);
    gdb.arg("-ex").arg(format!("source {}", script.path().display()));
    gdb.arg(&program).args(["-p", &process.to_string()]);
    let status = gdb.status().map_err(|error| CommandError(format!("gdb cannot be started: {error}")))?;
    say("raddle: gdb has ended");
    Ok(if status.success() { exit_codes::FINE } else { exit_codes::UNUSABLE })
}

/// The script with the figures that it needs.
fn commands(heartbeat: u64, event: Option<u64>) -> String {
    let kinds: Vec<String> = OpKind::ALL.iter().map(|&kind| format!("{}: {:?}", kind as u8, kind.word())).collect();
    let event = event.map_or_else(|| "None".into(), |event| event.to_string());
    format!("{SCRIPT}\nHEARTBEAT = {heartbeat}\nKINDS = {{{}}}\nstart({event})\n", kinds.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_knows_every_operation() {
        let script = commands(4096, Some(7));
        assert!(script.contains("12: \"lock\"") && script.ends_with("start(7)\n"), "{script}");
        assert!(commands(1, None).ends_with("start(None)\n"));
    }
}
