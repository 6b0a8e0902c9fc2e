//! Scripts of clients and peers: what is refused, and what a witness keeps of them.

use std::path::{Path, PathBuf};

use crate::tools::Place;

/// Every test with its name.
pub const TESTS: &[(&str, fn())] = &[
    ("scripts_are_read_before_the_program_runs", scripts_are_read_first),
    ("a_witness_holds_its_scripts", a_witness_holds_its_scripts),
    ("runs_and_predictions_have_clients", runs_and_predictions_have_clients),
];

fn case(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases/servers").join(name)
}

fn scripts_are_read_first() {
    let place = Place::new();
    let write = |name: &str, text: &[u8]| std::fs::write(place.path(name), text).unwrap();
    write("wrong", b"send \"a\"\n  expext \"b\"\n");
    write("right", b"send \"a\"\n");
    write("large", b"send-file data\n");
    write("data", &vec![0; (1 << 20) + 1]);
    write("long", "expect-line\n".repeat(4097).as_bytes());
    write("missing", b"# nothing\nsend-file nowhere\n");
    for (option, says) in [
        ("--client=tcp:80=wrong", "wrong:2:3: there is no action `expext`"),
        ("--client=tcp:80=nowhere", "nowhere: No such file"),
        ("--client=tcp:80=missing", "missing:2:11: nowhere: No such file"),
        ("--client=tcp:80", "`tcp:80` has not the form tcp:PORT=FILE"),
        ("--client=tcp:0=right", "a port is a number from 1 to 65535"),
        ("--client=tcp:example:80=right", "a client connects to this machine"),
        ("--client=udp:80=right", "it begins with neither tcp: nor unix:"),
        ("--client=unix:=right", "a name has 1 to 107 bytes"),
        ("--peer=tcp:80=right", "a host is missing: tcp:HOST:PORT"),
        ("--peer=tcp:a b:80=right", "the host is neither an address nor a name"),
        ("--client=tcp:80=large", "too many bytes, which is more than raddle can follow (1048576)"),
        ("--client=tcp:80=long", "too many lines, which is more than raddle can follow (4096)"),
    ] {
        let refused = place.raddle(&["check", option, "/bin/true"]);
        assert_eq!(refused.status(), Some(2), "{option}: {}", refused.all());
        assert!(refused.stderr().contains(says), "{option}: {}", refused.all());
    }
    let many = ["--client=tcp:80=right"; 65];
    let refused = place.raddle(&[&["check"][..], &many, &["/bin/true"]].concat());
    assert!(refused.stderr().contains("too many parties"), "{}", refused.all());
}

fn a_witness_holds_its_scripts() {
    let place = Place::new();
    let program = place.build(&case("pool.c"), &["-DWRONG"]);
    let script = place.text("client.script");
    std::fs::copy(case("ping.script"), &script).unwrap();
    let client = format!("--client=tcp:8080={script}");
    let words = ["check", "--quiet", "--stop-at-first", &client, &client, program.to_str().unwrap()];
    let checked = place.raddle(&words);
    assert_eq!(checked.status(), Some(1), "{}", checked.all());
    std::fs::remove_file(&script).unwrap();
    let replayed = place.raddle(&["replay", "a1"]);
    assert_eq!(replayed.status(), Some(1), "{}", replayed.all());
    let text = replayed.stdout();
    assert!(text.contains("expected \"pong\\n\", but received \"pang\\n\""), "{text}");
    let stopped = place.raddle(&["replay", "a1", "--break-at", "8"]);
    assert!(stopped.stdout().contains("client1 "), "{}", stopped.all());
}

fn runs_and_predictions_have_clients() {
    let place = Place::new();
    let program = place.build(&case("pool.c"), &["-DRACE", "-DWORKERS=2"]);
    let (program, trace) = (program.to_str().unwrap(), place.text("trace"));
    let client = format!("--client=tcp:8080={}", case("ping.script").display());
    let run = place.raddle(&["run", &client, &client, "--trace", &trace, "--self-check", "2", program]);
    assert_eq!(run.status(), Some(0), "{}", run.all());
    assert!(run.stderr().contains("self-check passed"), "{}", run.all());
    let replayed = place.raddle(&["replay", &trace]);
    assert!(replayed.stdout().contains("nothing is wrong"), "{}", replayed.all());
    let waits = place.raddle(&["run", &client, "--until-exit", program]);
    assert_eq!(waits.status(), Some(1), "{}", waits.all());
    let predicted = place.raddle(&["predict", &client, &client, program]);
    // In the run that is observed one worker serves both. That the server then waits is no deadlock.
    assert_eq!(predicted.status(), Some(3), "{}", predicted.all());
    assert!(!predicted.stdout().contains("deadlock"), "{}", predicted.all());
}
