//! Scripts of clients and peers: what is refused, what a witness keeps of them, and how they are
//! recorded.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::tools::Place;

/// Every test with its name.
pub const TESTS: &[(&str, fn())] = &[
    ("scripts_are_read_before_the_program_runs", scripts_are_read_first),
    ("a_witness_holds_its_scripts", a_witness_holds_its_scripts),
    ("runs_and_predictions_have_clients", runs_and_predictions_have_clients),
    ("clients_are_recorded", clients_are_recorded),
    ("peers_are_recorded", peers_are_recorded),
    ("a_server_that_is_interrupted_is_recorded", a_server_that_is_interrupted_is_recorded),
    ("directories_of_scripts_are_read_first", directories_of_scripts_are_read_first),
    ("a_client_without_an_answer_is_in_a_deadlock", no_answer),
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
    // In the run that is observed one worker serves both. That the server then waits is no
    // deadlock.
    assert_eq!(predicted.status(), Some(3), "{}", predicted.all());
    assert!(!predicted.stdout().contains("deadlock"), "{}", predicted.all());
}

/// A port that is free.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Connects as soon as the server listens.
fn connect(port: u16) -> TcpStream {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        match TcpStream::connect(("127.0.0.1", port)) {
            Ok(stream) => return stream,
            Err(error) => assert!(Instant::now() < deadline, "{error}"),
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn asks(stream: &mut TcpStream, text: &[u8]) {
    stream.write_all(text).unwrap();
    let mut answer = vec![0; text.len()];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(answer, text);
}

fn clients_are_recorded() {
    let place = Place::new();
    let program = place.build(&case("echo.c"), &[]);
    let (program, port) = (program.to_str().unwrap(), free_port());
    let (directory, number) = (place.text("peers"), port.to_string());
    let clients = std::thread::spawn(move || {
        for round in 0..2 {
            let mut stream = connect(port);
            asks(&mut stream, &[b'0' + round, b'"', b'\n', 0, 0xff]);
            asks(&mut stream, b"again");
        }
    });
    let run = place.raddle(&["run", "--record-peers", &directory, program, "--", &number, "2"]);
    clients.join().unwrap();
    assert_eq!(run.status(), Some(0), "{}", run.all());
    assert!(run.stderr().contains("2 connections recorded: raddle check --peers"), "{}", run.all());
    let read = |name: &str| std::fs::read_to_string(place.path("peers").join(name)).unwrap();
    let first = "# A client that connected to tcp:N.\nsend \"0\\\"\\n\\x00\\xff\"\n\
                 expect \"0\\\"\\n\\x00\\xff\"\nsend \"again\"\nexpect \"again\"\nclose\n";
    assert_eq!(read("client1.script"), first.replace('N', &number));
    assert_eq!(read("client2.script"), first.replace('N', &number).replace("\"0", "\"1"));
    let index = "# The connections of a run, in the order in which they were made.\n\
                 client tcp:N=client1.script\nclient tcp:N=client2.script\n";
    assert_eq!(read("index"), index.replace('N', &number));
    let checked = place.raddle(&["check", "--quiet", "--peers", &directory, program, "--", &number, "2"]);
    assert_eq!(checked.status(), Some(0), "{}", checked.all());
    // The recording finds the race of the wrong server, and its witness can be replayed.
    let wrong = place.build(&case("echo.c"), &["-DRACE"]);
    let wrong = wrong.to_str().unwrap();
    let checked = place.raddle(&["check", "--quiet", "--peers", &directory, wrong, "--", &number, "2"]);
    assert!(checked.stdout().contains("data race on `served`"), "{}", checked.all());
    for words in [&["replay", "r1"][..], &["replay", "--peers", &directory, "r1"]] {
        let replayed = place.raddle(words);
        assert!(replayed.stdout().contains("reproduced: r1"), "{}", replayed.all());
    }
    let again = place.raddle(&["run", "--record-peers", &directory, program, "--", &number, "2"]);
    assert_eq!(again.status(), Some(2), "{}", again.all());
    assert!(again.stderr().contains("peers: it holds scripts already"), "{}", again.all());
    let nothing = place.raddle(&["run", "--record-peers", "other", "./nowhere"]);
    assert_eq!((nothing.status(), place.path("other").exists()), (Some(2), false), "{}", nothing.all());
}

fn peers_are_recorded() {
    let place = Place::new();
    let program = place.build(&case("asks.c"), &[]);
    let program = program.to_str().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let number = listener.local_addr().unwrap().port().to_string();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut question = [0; 6];
        stream.read_exact(&mut question).unwrap();
        stream.write_all(b"answer\r\n").unwrap();
    });
    let directory = place.text("peers");
    let run = place.raddle(&["run", "--record-peers", &directory, program, "--", "127.0.0.1", &number]);
    server.join().unwrap();
    assert_eq!((run.status(), run.stdout().as_str()), (Some(0), "answer\r\n"), "{}", run.all());
    let script = std::fs::read_to_string(place.path("peers/peer1.script")).unwrap();
    let wanted =
        "# The program connected to tcp:127.0.0.1:N.\nexpect \"ask\\x00x\\n\"\nsend \"answer\\r\\n\"\nexpect-close\n";
    assert_eq!(script, wanted.replace('N', &number));
    // The server is gone. Its script answers.
    for command in ["check", "run"] {
        let done = place.raddle(&[command, "--quiet", "--peers", &directory, program, "--", "127.0.0.1", &number]);
        assert_eq!(done.status(), Some(0), "{}", done.all());
    }
}

fn a_server_that_is_interrupted_is_recorded() {
    let place = Place::new();
    let program = place.build(&case("echo.c"), &[]);
    let (port, directory) = (free_port(), place.text("peers"));
    let mut command = place.command();
    command.args(["run", "--record-peers", &directory]).arg(&program).args(["--", &port.to_string(), "9"]);
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    asks(&mut connect(port), b"one");
    std::thread::sleep(Duration::from_millis(300));
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let done = child.wait_with_output().unwrap();
    assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
    let index = std::fs::read_to_string(place.path("peers/index")).unwrap();
    assert!(index.contains("=client1.script"), "{index}");
    assert!(!place.path("peers/log").exists());
}

fn directories_of_scripts_are_read_first() {
    let place = Place::new();
    let directory = place.text("peers");
    let told = || {
        let refused = place.raddle(&["check", "--peers", &directory, "/bin/true"]);
        assert_eq!(refused.status(), Some(2), "{}", refused.all());
        refused.stderr()
    };
    assert!(told().contains("peers/index: No such file"), "{}", told());
    std::fs::create_dir(place.path("peers")).unwrap();
    for (index, says) in [
        ("# one\n cliont tcp:80=a\n", "peers/index:2:2: a line is `client ADDRESS=FILE`"),
        ("client tcp:80\n", "peers/index:1:8: ADDRESS=FILE is missing"),
        ("client tcp:0=a\n", "a port is a number from 1 to 65535"),
        ("client tcp:80=a\n", "peers/a: No such file"),
        ("client tcp:80=wrong\n", "peers/wrong:2:1: there is no action `expext`"),
    ] {
        std::fs::write(place.path("peers/index"), index).unwrap();
        std::fs::write(place.path("peers/wrong"), "send \"a\"\nexpext \"b\"\n").unwrap();
        assert!(told().contains(says), "{}", told());
    }
}

fn no_answer() {
    let place = Place::new();
    let program = place.build(&case("echo.c"), &[]);
    let program = program.to_str().unwrap();
    std::fs::write(place.path("more.script"), "send \"x\"\nexpect \"xy\"\n").unwrap();
    for (port, says) in [
        ("9999", "deadlock: client1 waits for the program to listen at port 9999, T0 waits for TCP port 8080"),
        (
            "8080",
            "deadlock: client1 waits for \"xy\" and has received \"x\", T0 waits for TCP port 8080, \
                  T1 waits for a socket (descriptor ",
        ),
    ] {
        let client = format!("--client=tcp:{port}={}", place.text("more.script"));
        let checked = place.raddle(&["check", "--quiet", &client, program, "--", "8080", "2"]);
        assert_eq!(checked.status(), Some(1), "{}", checked.all());
        let text = checked.stdout();
        assert!(text.contains(says) && !text.contains("32767"), "{text}");
    }
}
