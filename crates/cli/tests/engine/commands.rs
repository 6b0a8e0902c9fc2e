//! Commands that take more than one call.

use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::time::{Duration, Instant};

use raddle_testkit::tools::require;

use crate::tools::{Place, program};

/// Every test with its name.
pub const TESTS: &[(&str, fn())] = &[
    ("a_trace_leads_through_the_same_run", a_trace_leads_through_the_same_run),
    ("seeds_give_different_runs_and_each_the_same_again", seeds_differ_and_repeat),
    ("a_rebuilt_program_diverges_by_name", a_rebuilt_program_diverges),
    ("a_finding_is_reproduced", a_finding_is_reproduced),
    ("replay_can_stop_at_an_event", replay_can_stop),
    ("broken_recordings_are_refused", broken_recordings_are_refused),
    ("self_check_passes", self_check_passes),
    ("the_programs_status_and_input_are_its_own", status_and_input),
    ("what_cannot_be_run_is_named", what_cannot_be_run),
    ("without_raddle_it_is_an_ordinary_program", an_ordinary_program),
    ("no_process_survives_the_command", no_process_survives),
    ("a_signal_ends_the_command_in_order", a_signal_ends_the_command),
    ("doctor_finds_what_is_here", doctor_finds),
    ("help_completions_and_manual_come_from_one_table", help_and_manual),
    ("links_are_the_compiler", links_are_the_compiler),
    ("gdb_stops_where_it_is_told", gdb_stops),
    ("a_suppressed_race_hides_no_order", a_suppressed_race_hides_no_order),
    ("a_program_keeps_its_processors", a_program_keeps_its_processors),
];

fn a_trace_leads_through_the_same_run() {
    let place = Place::new();
    let two = place.build(&program("two"), &[]);
    let (two, trace) = (two.to_str().unwrap(), place.text("trace"));
    for seed in ["1", "2", "3"] {
        let first = place.raddle(&["run", "--seed", seed, "--trace", &trace, two]);
        assert_eq!(first.status(), Some(0), "{}", first.all());
        let again = place.text("again");
        let second = place.raddle(&["run", "--schedule", &trace, "--trace", &again, two]);
        assert_eq!((second.status(), second.stdout()), (Some(0), first.stdout()), "{}", second.all());
        // The very same execution: the second trace is equal to the first, byte by byte.
        assert_eq!(std::fs::read(&trace).unwrap(), std::fs::read(&again).unwrap());
        let replayed = place.raddle(&["replay", &trace]);
        assert_eq!(replayed.status(), Some(0), "{}", replayed.all());
        assert!(replayed.stdout().contains("nothing is wrong"), "{}", replayed.all());
    }
}

fn seeds_differ_and_repeat() {
    let place = Place::new();
    let two = place.build(&program("two"), &[]);
    let run =
        |seed: u32| place.raddle(&["run", "--quiet", "--seed", &seed.to_string(), two.to_str().unwrap()]).stdout();
    let outputs: Vec<String> = (0..12).map(run).collect();
    let distinct: std::collections::BTreeSet<&String> = outputs.iter().collect();
    assert!(distinct.len() > 3, "{distinct:?}");
    for (seed, output) in outputs.iter().enumerate() {
        assert_eq!(*output, run(seed as u32));
    }
}

fn a_rebuilt_program_diverges() {
    let place = Place::new();
    let two = place.build(&program("two"), &[]);
    let trace = place.text("trace");
    place.raddle(&["run", "--trace", &trace, two.to_str().unwrap()]);
    place.build(&program("two"), &["-DFIXED"]);
    let replayed = place.raddle(&["replay", &trace]);
    assert_eq!(replayed.status(), Some(3), "{}", replayed.all());
    let text = replayed.stdout();
    assert!(text.contains("was built again"), "{text}");
    assert!(text.contains("diverged at event") && text.contains("T1 lock lock at"), "{text}");
    let run = place.raddle(&["run", "--schedule", &trace, two.to_str().unwrap()]);
    assert_eq!(run.status(), Some(3), "{}", run.all());
}

fn a_finding_is_reproduced() {
    let place = Place::new();
    let program = place.build(&program("deadlock"), &[]);
    let trace = place.text("trace");
    let first = place.raddle(&["run", "--trace", &trace, program.to_str().unwrap()]);
    assert_eq!(first.status(), Some(1), "{}", first.all());
    let replays: Vec<String> = (0..2)
        .map(|_| {
            let replayed = place.raddle(&["replay", &trace]);
            assert_eq!(replayed.status(), Some(1), "{}", replayed.all());
            replayed.stdout()
        })
        .collect();
    assert_eq!(replays[0], replays[1]);
    assert!(replays[0].contains("T0 waits for right") && replays[0].contains("T1 waits for left"), "{}", replays[0]);
}

fn replay_can_stop() {
    let place = Place::new();
    let two = place.build(&program("two"), &[]);
    let trace = place.text("trace");
    place.raddle(&["run", "--trace", &trace, two.to_str().unwrap()]);
    let stopped = place.raddle(&["replay", &trace, "--break-at", "8"]);
    let text = stopped.stdout();
    assert_eq!(stopped.status(), Some(0), "{}", stopped.all());
    assert!(text.contains("before event 8") && text.contains("main  ") && text.contains("T1 "), "{text}");
    assert_eq!(place.raddle(&["replay", &trace, "--break-at", "999"]).status(), Some(2));
}

fn broken_recordings_are_refused() {
    let place = Place::new();
    let two = place.build(&program("two"), &[]);
    let (two, trace) = (two.to_str().unwrap(), place.text("trace"));
    place.raddle(&["run", "--trace", &trace, two]);
    let bytes = std::fs::read(&trace).unwrap();
    for cut in [0, 5, 20, bytes.len() / 2, bytes.len() - 1] {
        std::fs::write(&trace, &bytes[..cut]).unwrap();
        for words in [vec!["replay", &trace], vec!["run", "--schedule", &trace, two]] {
            let refused = place.raddle(&words);
            assert_eq!(refused.status(), Some(2), "{cut}: {}", refused.all());
            assert!(refused.stderr().starts_with("raddle: "), "{}", refused.all());
        }
    }
    for absent in ["no-such-file", "r1", "a/b"] {
        assert_eq!(place.raddle(&["replay", absent]).status(), Some(2));
    }
    let unwritable = place.raddle(&["run", "--trace", "/no/such/place", two]);
    assert_eq!(unwritable.status(), Some(2), "{}", unwritable.all());
}

fn self_check_passes() {
    let place = Place::new();
    for name in ["two", "deadlock", "exit_in_thread"] {
        let program = place.build(&program(name), &[]);
        for seed in ["1", "2", "3"] {
            let checked = place.raddle(&["run", "--seed", seed, "--self-check", "2", program.to_str().unwrap()]);
            assert!(checked.stderr().contains("self-check passed"), "{name} {seed}: {}", checked.all());
        }
    }
}

fn status_and_input() {
    let place = Place::new();
    let two = place.build(&program("two"), &[]);
    let run = place.raddle(&["run", two.to_str().unwrap(), "--", "argument"]);
    assert_eq!(run.status(), Some(7), "{}", run.all());
    let input = place.build(&program("input"), &[]);
    std::fs::write(place.path("data"), "twelve bytes").unwrap();
    let run = place.raddle(&["run", "--quiet", "--stdin", &place.text("data"), input.to_str().unwrap()]);
    assert_eq!((run.stdout().as_str(), run.stderr().as_str()), ("12 bytes\n", ""));
    let run = place.raddle(&["run", "--stdin", "/no/such/file", input.to_str().unwrap()]);
    assert_eq!(run.status(), Some(2), "{}", run.all());
}

fn what_cannot_be_run() {
    let place = Place::new();
    std::fs::write(place.path("text"), "hello").unwrap();
    for (what, words) in
        [("/no/such/file", "No such file"), ("text", "not an ELF"), (".", "is a directory: name a program")]
    {
        let refused = place.raddle(&["run", what]);
        assert_eq!(refused.status(), Some(2), "{what}: {}", refused.all());
        assert!(refused.stderr().contains(words), "{what}: {}", refused.all());
    }
    for words in [&["frobnicate"][..], &[], &["run"], &["run", "--mode", "magic", "x"]] {
        assert_eq!(place.raddle(words).status(), Some(2));
    }
}

fn an_ordinary_program() {
    let place = Place::new();
    let two = place.build(&program("two"), &[]);
    let output = Command::new(&two).output().unwrap();
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stdout).ends_with("done 6\n"));
    let killed = Command::new(place.build(&program("abort"), &[])).output().unwrap();
    assert_eq!(killed.status.signal(), Some(6));
}

/// Waits until the condition holds.
fn eventually(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(120);
    while !condition() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn no_process_survives() {
    let place = Place::new();
    let spin = place.build(&program("spin"), &[]);
    for mode in ["fork", "snapshot"] {
        let mut command = place.start(&["run", "--mode", mode, "--hang-timeout", "1000", spin.to_str().unwrap()]);
        let running = if mode == "fork" { 3 } else { 2 };
        eventually("the program is not started", || place.processes().len() == running);
        // No chance to clean up.
        command.kill().unwrap();
        command.wait().unwrap();
        eventually("the program survives the command", || place.processes().is_empty());
    }
}

fn a_signal_ends_the_command() {
    let place = Place::new();
    let spin = place.build(&program("spin"), &[]);
    for signal in ["-INT", "-TERM"] {
        let mut command = place.start(&["run", "--hang-timeout", "1000", spin.to_str().unwrap()]);
        eventually("the program is not started", || place.processes().len() == 3);
        assert!(Command::new("kill").args([signal, &command.id().to_string()]).status().unwrap().success());
        assert_eq!(command.wait().unwrap().code(), Some(2));
        assert!(place.processes().is_empty());
    }
}

fn doctor_finds() {
    let place = Place::new();
    let doctor = place.raddle(&["doctor"]);
    assert_eq!(doctor.status(), Some(0), "{}", doctor.all());
    assert!(doctor.stdout().contains("runs by snapshot and fork"), "{}", doctor.all());
    let mut poor = place.command();
    poor.arg("doctor").env("PATH", "/nonexistent");
    let output = poor.output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stdout).contains("apt-get install gcc"));
}

fn help_and_manual() {
    let place = Place::new();
    let help = place.raddle(&["check", "--help"]);
    let manual = place.raddle(&["man"]);
    let completions = place.raddle(&["completions", "bash"]);
    assert!(help.stdout().contains("--max-executions") && completions.stdout().contains("--max-executions"));
    assert!(manual.stdout().contains("raddle") && manual.stdout().starts_with(".ie"), "{}", manual.all());
    assert_eq!((help.status(), manual.status(), completions.status()), (Some(0), Some(0), Some(0)));
}

fn links_are_the_compiler() {
    let place = Place::new();
    let source = place.path("a.c");
    std::fs::write(&source, "int main(void) { return 0; }\n").unwrap();
    for (name, compiler) in [("raddle-cc", "gcc"), ("raddle-c++", "g++")] {
        let link = place.path(name);
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_raddle"), &link).unwrap();
        let version =
            Command::new(&link).arg("--version").env("RADDLE_CC", compiler).env("RADDLE_CXX", compiler).output();
        assert!(String::from_utf8_lossy(&version.unwrap().stdout).contains("Free Software Foundation"));
        let output =
            Command::new(&link).arg(&source).args(["-o", "linked"]).current_dir(place.path(".")).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        assert_eq!(place.raddle(&["run", "./linked"]).status(), Some(0));
    }
}

fn gdb_stops() {
    require("gdb");
    let place = Place::new();
    let two = place.build(&program("two"), &[]);
    let trace = place.text("trace");
    place.raddle(&["run", "--trace", &trace, two.to_str().unwrap()]);
    // gdb reads its commands from standard input where there is no terminal.
    let commands = place.path("commands");
    std::fs::write(&commands, "backtrace\nkill\nquit\n").unwrap();
    let mut command = place.command();
    command.args(["replay", &trace, "--gdb", "--break-at", "9"]).stdin(std::fs::File::open(&commands).unwrap());
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        text.contains("stopped before event 9") && text.contains("two.c"),
        "{text}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(place.processes().is_empty(), "{:?}", place.processes());
}

/// The accesses of a suppressed race are scheduling points: what depends on their order is found.
fn a_suppressed_race_hides_no_order() {
    let place = Place::new();
    let (source, known) = (place.text("order.c"), place.text("known"));
    let program = "#include <pthread.h>\n#include <assert.h>\nstatic int x;\n\
        static void *work(void *a) { x = 1; return a; }\n\
        int main(void) { pthread_t t; pthread_create(&t, 0, work, 0); int seen = x; pthread_join(t, 0); \
        assert(!seen); }\n";
    std::fs::write(&source, program).unwrap();
    std::fs::write(&known, "race:work\n").unwrap();
    let checked = place.raddle(&["check", "--suppressions", &known, &source]);
    assert_eq!(checked.status(), Some(1), "{}", checked.all());
    assert!(checked.all().contains("assertion"), "{}", checked.all());
}

/// Where raddle binds a target to, in a search that is long enough for that, does not show in the
/// program.
fn a_program_keeps_its_processors() {
    let place = Place::new();
    let program = place.build(&program("processors"), &[]);
    let output = Command::new(&program).output().unwrap().stdout;
    let all = String::from_utf8(output).unwrap();
    for jobs in ["1", "2"] {
        let options = ["check", "--strategy", "optimal", "--jobs", jobs];
        let checked = place.raddle(&[&options[..], &[program.to_str().unwrap(), "--", all.trim()]].concat());
        assert_eq!(checked.status(), Some(0), "{}", checked.all());
        assert!(checked.all().contains("720 executions"), "{}", checked.all());
    }
}
