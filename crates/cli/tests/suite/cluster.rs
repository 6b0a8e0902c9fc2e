//! Searches that workers of a NATS server share, against searches of one process.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{Done, Place, built, finish, raddle};
use raddle_testkit::effort::is_more;
use raddle_vocab::policy::mix;
use serde_json::Value;

/// Leases of tests are short, so that what a dead worker had is soon done by another one.
const LEASE: &str = "1";
/// Searches that are killed, with `--more`.
const MANY: u64 = 24;

fn bench(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../bench/{name}.c"))
}

fn several_findings() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/programs/several_findings.c")
}

fn case(name: &str) -> PathBuf {
    crate::common::sources("cases").join(name)
}

/// A process that ends with its owner.
struct Process(Child);

impl Process {
    fn start(command: &mut Command) -> Self {
        Process(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }

    fn kill(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A server on loopback with a store of its own.
struct Server {
    store: Place,
    port: u16,
    options: Vec<String>,
    process: Option<Process>,
}

impl Server {
    fn new(options: &[&str]) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let options = options.iter().map(|word| word.to_string()).collect();
        let mut server = Server { store: Place::new(), port, options, process: None };
        server.start();
        server
    }

    fn start(&mut self) {
        let mut command = Command::new("nats-server");
        command.args(["--addr", "127.0.0.1", "--port", &self.port.to_string(), "--jetstream", "--store_dir"]);
        command.arg(self.store.path("store")).args(&self.options);
        self.process = Some(Process::start(&mut command));
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            assert!(begun.elapsed() < Duration::from_secs(60), "nats-server does not start");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn kill(&mut self) {
        self.process = None;
    }

    fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// Stores a message without any header, as a client of another program would.
    fn publish(&self, subject: &str, payload: &[u8]) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        write!(stream, "CONNECT {{\"verbose\":false}}\r\nPUB {subject} {}\r\n", payload.len()).unwrap();
        stream.write_all(payload).unwrap();
        stream.write_all(b"\r\nPING\r\n").unwrap();
        let (mut heard, mut bytes) = (String::new(), [0; 4096]);
        while !heard.contains("PONG") {
            let count = stream.read(&mut bytes).unwrap();
            assert!(count > 0 && !heard.contains("-ERR"), "{heard}");
            heard += &String::from_utf8_lossy(&bytes[..count]);
        }
    }
}

/// A program that is searched.
struct Shared {
    place: Place,
    program: PathBuf,
    options: Vec<&'static str>,
    server: Server,
}

impl Shared {
    fn of(source: &Path, options: &[&'static str]) -> Self {
        let program = built(source, &["-O1"]);
        Shared { place: Place::new(), program, options: options.to_vec(), server: Server::new(&[]) }
    }

    fn raddle(&self, words: &[&str]) -> Command {
        let mut command = self.place.command(raddle());
        command.args(words).env_remove("NATS_URL").env("NATS_URL", self.server.url());
        command
    }

    fn coordinate(&self) -> Command {
        let mut command = self.raddle(&["coordinate", "--quiet", "--lease", LEASE, "--share", "0.1"]);
        command.args(["--out", "shared", "--json", "shared.json"]).args(&self.options).arg(&self.program);
        command
    }

    fn worker(&self) -> Command {
        let mut command = self.raddle(&["worker", "--quiet"]);
        command.arg(&self.program);
        command
    }

    /// The report of one process, but for what depends on order and time.
    fn local(&self) -> Value {
        let mut command = self.raddle(&["check", "--quiet", "--strategy", "optimal", "--jobs", "1", "--out", "local"]);
        command.args(["--json", "local.json"]).args(&self.options).arg(&self.program);
        self.report(&finish(&mut command), "local.json")
    }

    /// The report of this many workers.
    fn with_workers(&self, count: usize) -> Value {
        let workers: Vec<Process> = (0..count).map(|_| Process::start(&mut self.worker())).collect();
        let done = finish(&mut self.coordinate());
        drop(workers);
        self.report(&done, "shared.json")
    }

    fn report(&self, done: &Done, name: &str) -> Value {
        assert!(matches!(done.code(), Some(0 | 1 | 3)), "{}", done.all());
        let text = std::fs::read_to_string(self.place.path(name)).unwrap();
        let mut report: Value = serde_json::from_str(&text).unwrap();
        report["stats"].as_object_mut().unwrap().remove("seconds");
        let mut findings: Vec<Value> = report["findings"].as_array().unwrap().iter().map(essence).collect();
        findings.sort_by_key(Value::to_string);
        report["findings"] = findings.into();
        report
    }
}

/// A finding without what depends on which execution showed it first.
fn essence(finding: &Value) -> Value {
    let place = |access: &Value| access["place"].clone();
    let mut places: Vec<Value> = finding["accesses"].as_array().into_iter().flatten().map(place).collect();
    places.sort_by_key(Value::to_string);
    let of = |name: &str| finding[name].clone();
    serde_json::json!({
        "kind": of("kind"), "severity": of("severity"), "variable": of("variable"), "places": places,
        "is_cause": finding["group"].is_null(),
    })
}

#[test]
fn reports_are_those_of_one_process_whatever_the_number_of_workers() {
    for (source, options) in [
        (bench("programs/philosophers_ordered"), &[][..]),
        (several_findings(), &[]),
        (bench("programs/indexer_cas"), &[]),
        (bench("programs/account"), &["--granularity", "access"]),
    ] {
        let shared = Shared::of(&source, options);
        let local = shared.local();
        assert!(local["stats"]["executions"].as_u64() > Some(0));
        for workers in 1..=3 {
            assert_eq!(shared.with_workers(workers), local, "{} with {workers} workers", source.display());
        }
    }
}

#[test]
fn a_program_that_waits_busily_is_searched_by_the_coordinator() {
    let shared = Shared::of(&bench("lockfree/ticket"), &[]);
    let local = shared.local();
    let _worker = Process::start(&mut shared.worker());
    let mut command = shared.coordinate();
    let done = finish(&mut command);
    assert!(done.stderr.contains("this process searches by itself"), "{}", done.all());
    assert_eq!(shared.report(&done, "shared.json"), local);
}

/// Kills one of the parties at a random moment, again and again.
fn killed(shared: &mut Shared, seed: u64) -> Value {
    let mut workers: Vec<Process> = (0..2).map(|_| Process::start(&mut shared.worker())).collect();
    let mut coordinator = shared.coordinate().stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let begun = Instant::now();
    let mut number = 0;
    loop {
        number += 1;
        std::thread::sleep(Duration::from_millis(100 + mix(seed ^ mix(number)) % 300));
        if let Some(status) = coordinator.try_wait().unwrap() {
            let mut text = String::new();
            let _ = coordinator.stderr.take().unwrap().read_to_string(&mut text);
            assert!(matches!(status.code(), Some(0 | 1 | 3)), "{status}: {text}");
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(250), "the search does not end");
        // In the end it has to be left alone.
        if number > 9 {
            continue;
        }
        match mix(seed ^ number) % 4 {
            0 => {
                let _ = coordinator.kill();
                let _ = coordinator.wait();
                coordinator = shared.coordinate().stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
            }
            1 => {
                shared.server.kill();
                shared.server.start();
            }
            which => {
                let at = which as usize - 2;
                workers[at].kill();
                workers[at] = Process::start(&mut shared.worker());
            }
        }
    }
    let text = std::fs::read_to_string(shared.place.path("shared.json")).unwrap();
    assert!(!text.is_empty());
    let done = finish(Command::new("true").arg("the coordinator has ended"));
    shared.report(&done, "shared.json")
}

#[test]
fn whoever_is_killed_nothing_is_lost_or_counted_twice() {
    let programs = ["programs/indexer_cas", "everyday/bank", "programs/readers"];
    let searches = if is_more() { MANY } else { 2 };
    for seed in 0..searches {
        let mut shared = Shared::of(&bench(programs[seed as usize % programs.len()]), &[]);
        let local = shared.local();
        assert_eq!(killed(&mut shared, 7000 + seed), local, "seed {seed}");
    }
}

/// Between record and children, a worker has done its work and told no one.
#[test]
fn a_worker_that_dies_around_its_record_loses_nothing() {
    let shared = Shared::of(&bench("programs/indexer_cas"), &[]);
    let local = shared.local();
    let dying = |place: &str| Process::start(shared.worker().env("RADDLE_TEST_WORKER_DIES", place));
    let _dying = [dying("before-record"), dying("behind-record"), dying("behind-record")];
    let mut coordinator = Process::start(&mut shared.coordinate());
    std::thread::sleep(Duration::from_secs(2));
    let _worker = Process::start(&mut shared.worker());
    let status = coordinator.0.wait().unwrap();
    let done = finish(Command::new("true").arg(format!("{status}")));
    assert_eq!(shared.report(&done, "shared.json"), local);
}

/// The identifier of the search under way.
fn search_of(shared: &Shared) -> String {
    let begun = Instant::now();
    loop {
        assert!(begun.elapsed() < Duration::from_secs(60), "no search is under way");
        let done = finish(&mut shared.raddle(&["status", "--json"]));
        let status: Value = serde_json::from_str(&done.stdout).unwrap_or_default();
        if let Some(id) = status["searches"][0]["id"].as_str() {
            return id.into();
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn forged_records_and_tasks_are_refused() {
    let shared = Shared::of(&bench("programs/philosophers_ordered"), &[]);
    let local = shared.local();
    let mut coordinator = shared.coordinate();
    let coordinator = coordinator.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let id = search_of(&shared);
    let stray = "0123456789abcdef0123456789abcdef";
    shared.server.publish(&format!("raddle.{id}.done.{stray}"), b"nonsense");
    shared.server.publish(&format!("raddle.{id}.done.{stray}f"), b"nonsense");
    shared.server.publish(&format!("raddle.{id}.task.{stray}"), b"nonsense");
    // The first task is there already, with another content than this one.
    let store = shared.place.path("root");
    std::fs::write(&store, shared.root(&id)).unwrap();
    shared.server.publish(&format!("raddle.{id}.done.{}", shared.root(&id)), b"\x01stale");
    std::thread::sleep(Duration::from_millis(500));
    let _worker = Process::start(&mut shared.worker());
    let output = coordinator.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("a record belongs to no task of the search: it is refused"), "{said}");
    assert!(said.contains("a record makes no sense: it is refused"), "{said}");
    let done = finish(Command::new("true").arg(&*said));
    assert_eq!(shared.report(&done, "shared.json"), local);
}

impl Shared {
    /// The name of the first task of a search.
    fn root(&self, search: &str) -> String {
        let work = raddle_engine::distributed::SharedJob::whole();
        raddle_cluster::tree::Task::root(work).id(search).to_string()
    }
}

#[test]
fn a_worker_fetches_programs_only_if_it_is_told_to() {
    let shared = Shared::of(&bench("programs/philosophers_ordered"), &[]);
    let local = shared.local();
    let other = built(&bench("everyday/bank"), &["-O1"]);
    let nothing = finish(&mut shared.raddle(&["worker"]));
    assert_eq!(nothing.code(), Some(2), "{}", nothing.all());
    assert!(nothing.stderr.contains("runs only what you let it run"), "{}", nothing.all());
    let mut coordinator = Process::start(&mut shared.coordinate());
    search_of(&shared);
    let mut refusing = shared.raddle(&["worker", "--once"]);
    let refused = finish(refusing.arg(&other));
    assert_eq!(refused.code(), Some(2), "{}", refused.all());
    assert!(refused.stderr.contains("the program that is searched is none of"), "{}", refused.all());
    let mut fetching = shared.raddle(&["worker", "--once", "--fetch"]);
    let fetched = finish(&mut fetching);
    assert_eq!(fetched.code(), Some(0), "{}", fetched.all());
    let status = coordinator.0.wait().unwrap();
    let done = finish(Command::new("true").arg(format!("{status}")));
    assert_eq!(shared.report(&done, "shared.json"), local);
    let left = finish(&mut shared.raddle(&["status"]));
    assert_eq!(left.stdout, "no search is under way\n", "{}", left.all());
}

#[test]
fn servers_that_cannot_be_used_are_named_with_what_to_do() {
    let place = Place::new();
    let program = built(&bench("programs/philosophers_ordered"), &["-O1"]);
    let said = |url: &str, variables: &[(&str, &str)]| {
        let mut command = place.command(raddle());
        command.args(["coordinate", "--nats", url]).arg(&program).envs(variables.iter().copied());
        let done = finish(&mut command);
        assert_eq!(done.code(), Some(2), "{}", done.all());
        assert!(!done.stderr.contains("geheim"), "a secret is shown: {}", done.all());
        done.stderr
    };
    assert!(said("nats://127.0.0.1:1", &[]).contains("nats://127.0.0.1:1: the NATS server cannot be reached"));
    assert!(said("http://127.0.0.1", &[]).contains("this is no address of a NATS server"));
    let closed = Server::new(&["--user", "anna", "--pass", "geheim"]);
    assert!(said(&closed.url(), &[]).contains("refuses the credentials"));
    let wrong = format!("nats://anna:geheim2@127.0.0.1:{}", closed.port);
    assert!(said(&wrong, &[]).contains("refuses the credentials"));
    let mut status = place.command(raddle());
    status.args(["status", "--nats", &closed.url()]).env("NATS_USER", "anna").env("NATS_PASSWORD", "geheim");
    let done = finish(&mut status);
    assert_eq!((done.code(), &*done.stdout), (Some(0), "no search is under way\n"), "{}", done.all());
}

#[test]
fn options_that_cannot_be_shared_are_refused() {
    let shared = Shared::of(&case("race/after_the_unlock.c"), &[]);
    for words in [&["--strategy", "stateful"][..], &["--preemptions", "2"], &["--stop-at-first"], &["--jobs", "2"]] {
        let done = finish(shared.coordinate().args(words));
        assert_eq!(done.code(), Some(2), "{}", done.all());
        assert!(done.stderr.contains(words[0]), "{}", done.all());
    }
}
