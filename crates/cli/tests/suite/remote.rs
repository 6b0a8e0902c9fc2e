//! Programs that run beside an agent, against programs that run here.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{Done, Place, built, built_around, finish, raddle};
use raddle_vocab::policy::mix;
use serde_json::Value;

const TOKEN: &str = "a-token-of-the-tests-1";
/// How often a search is disturbed, at least.
const DISTURBANCES: u64 = 3;

fn bench(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../bench/{name}.c"))
}

fn several_findings() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/programs/several_findings.c")
}

/// An agent, killed with its owner.
struct Agent {
    process: Child,
    port: u16,
    said: Receiver<String>,
    heard: Mutex<Vec<String>>,
}

impl Agent {
    fn start(place: &Place, port: u16, options: &[&str], programs: &[&Path]) -> Self {
        let mut command = place.command(raddle());
        command.args(["agent", "--listen", &format!("127.0.0.1:{port}")]).args(options).args(programs);
        command.env("RADDLE_TOKEN", TOKEN).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let lines = BufReader::new(process.stderr.take().unwrap()).lines();
        let (sender, said) = channel();
        thread::spawn(move || lines.map_while(Result::ok).for_each(|line| drop(sender.send(line))));
        let mut agent = Agent { process, port, said, heard: Mutex::default() };
        let line = agent.says("listening on 127.0.0.1:");
        let digits = line.split("127.0.0.1:").nth(1).unwrap().split(' ').next().unwrap();
        agent.port = digits.parse().unwrap();
        agent
    }

    /// Waits for a line with this text.
    fn says(&self, text: &str) -> String {
        while let Ok(line) = self.said.recv_timeout(Duration::from_secs(60)) {
            self.heard.lock().unwrap().push(line.clone());
            if line.contains(text) {
                return line;
            }
        }
        panic!("the agent does not say {text:?}, but {:?}", self.heard.lock().unwrap());
    }

    /// Whether it has started a program so far.
    fn has_started(&self) -> bool {
        self.heard.lock().unwrap().extend(self.said.try_iter());
        self.heard.lock().unwrap().iter().any(|line| line.contains("was started"))
    }

    fn kill(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A way to an agent that takes time, and can be cut.
struct Way {
    port: u16,
    open: Arc<Mutex<Vec<TcpStream>>>,
    /// Bytes towards the host.
    passed: Arc<AtomicU64>,
}

impl Way {
    fn to(port: u16, delay: Duration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let way = Way { port: listener.local_addr().unwrap().port(), open: Arc::default(), passed: Arc::default() };
        let (open, passed) = (Arc::clone(&way.open), Arc::clone(&way.passed));
        thread::spawn(move || {
            for here in listener.incoming() {
                let Ok(here) = here else { return };
                let Ok(there) = TcpStream::connect(("127.0.0.1", port)) else { continue };
                for stream in [&here, &there] {
                    stream.set_nodelay(true).unwrap();
                    open.lock().unwrap().push(stream.try_clone().unwrap());
                }
                let clone = |stream: &TcpStream| stream.try_clone().unwrap();
                pass(clone(&here), clone(&there), delay, Arc::default());
                pass(there, here, delay, Arc::clone(&passed));
            }
        });
        way
    }

    /// Cuts every connection.
    fn cut(&self) {
        for stream in self.open.lock().unwrap().drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

/// Passes bytes on, each after the delay, without a bound on how many are on the way.
fn pass(mut from: TcpStream, mut to: TcpStream, delay: Duration, passed: Arc<AtomicU64>) {
    let (sender, on_the_way) = channel::<(Instant, Vec<u8>)>();
    thread::spawn(move || {
        let mut bytes = vec![0; 1 << 16];
        while let Ok(count) = from.read(&mut bytes)
            && count > 0
        {
            if sender.send((Instant::now() + delay, bytes[..count].to_vec())).is_err() {
                return;
            }
        }
    });
    thread::spawn(move || {
        for (when, bytes) in on_the_way {
            thread::sleep(when.saturating_duration_since(Instant::now()));
            passed.fetch_add(bytes.len() as u64, Ordering::Relaxed);
            if to.write_all(&bytes).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Both);
    });
}

fn target(port: u16) -> String {
    format!("tcp:127.0.0.1:{port}")
}

/// `raddle` with words, in a directory of its own below the place, so that two reports have the
/// same paths.
fn command(place: &Place, directory: &str, words: &[&str]) -> Command {
    std::fs::create_dir_all(place.path(directory)).unwrap();
    let mut command = place.command(raddle());
    command.current_dir(place.path(directory)).env("RADDLE_TOKEN", TOKEN).args(words);
    command.env("XDG_CACHE_HOME", place.path("cache"));
    command
}

fn check(place: &Place, directory: &str, program: &Path, options: &[&str], at: Option<u16>) -> Command {
    let mut command = command(place, directory, &["check", "--quiet", "--json", "report.json", "--out", "run"]);
    command.args(options).arg(program);
    if let Some(port) = at {
        command.args(["--target", &target(port), "--target-patience", "30"]);
    }
    command
}

/// The report but for time, and all witnesses.
fn report(place: &Place, directory: &str, done: &Done) -> (Value, Vec<String>) {
    assert!(matches!(done.code(), Some(0 | 1 | 3)), "{}", done.all());
    let text = std::fs::read_to_string(place.path(directory).join("report.json")).unwrap();
    let mut report: Value = serde_json::from_str(&text).unwrap();
    report["stats"].as_object_mut().unwrap().remove("seconds");
    // Where the program ran is what differs.
    for finding in report["findings"].as_array_mut().unwrap() {
        finding.as_object_mut().unwrap().remove("target");
    }
    let findings = report["findings"].as_array().unwrap().clone();
    let witness = |finding: &Value| {
        let path = place.path(directory).join(finding["witness"].as_str().unwrap());
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    (report, findings.iter().map(witness).collect())
}

fn same_report(source: &Path, options: &[&str]) {
    let (place, program) = (Place::new(), built(source, &["-O1"]));
    let agent = Agent::start(&place, 0, &[], &[&program]);
    let done = finish(&mut check(&place, "local", &program, options, None));
    let local = report(&place, "local", &done);
    let done = finish(&mut check(&place, "remote", &program, options, Some(agent.port)));
    let remote = report(&place, "remote", &done);
    assert_eq!(remote, local, "{} {options:?}", source.display());
    assert!(local.0["stats"]["executions"].as_u64() > Some(0), "{local:?}");
    assert!(agent.has_started());
}

#[test]
fn reports_are_those_of_a_program_that_runs_here() {
    for (source, options) in [
        (several_findings(), &["--jobs", "1"][..]),
        (several_findings(), &["--jobs", "3"]),
        (several_findings(), &["--strategy", "dpor"]),
        (several_findings(), &["--strategy", "stateful", "--jobs", "1"]),
        (bench("programs/account"), &["--strategy", "optimal", "--jobs", "3"]),
        (bench("programs/account"), &["--granularity", "access", "--max-executions", "3000", "--jobs", "1"]),
        (bench("everyday/bank"), &["--strategy", "pct", "--max-executions", "500", "--jobs", "3"]),
        (bench("lockfree/ticket"), &["--jobs", "1", "--max-executions", "3000"]),
        (bench("everyday/thread_pool"), &["--jobs", "1", "--max-executions", "3000"]),
    ] {
        same_report(&source, options);
    }
}

#[test]
fn findings_are_replayed_there_and_here() {
    let (place, program) = (Place::new(), built(&several_findings(), &["-O1"]));
    let agent = Agent::start(&place, 0, &[], &[&program]);
    let done = finish(&mut check(&place, "run", &program, &["--jobs", "1"], Some(agent.port)));
    assert_eq!(done.code(), Some(1), "{}", done.all());
    let (report, _) = report(&place, "run", &done);
    let findings = report["findings"].as_array().unwrap();
    assert!(findings.len() > 1);
    let told = finish(&mut command(&place, "run", &["report", "run"])).stdout;
    assert!(told.contains(&format!("raddle replay run/r1.json --target {}", target(agent.port))), "{told}");
    for finding in findings {
        let witness = finding["witness"].as_str().unwrap().to_owned();
        let here = finish(&mut command(&place, "run", &["replay", &witness]));
        let there = finish(&mut command(&place, "run", &["replay", &witness, "--target", &target(agent.port)]));
        assert!(here.stdout.contains("reproduced"), "{}", here.all());
        assert_eq!((there.code(), &there.stdout), (here.code(), &here.stdout), "{}", there.all());
    }
    let words = ["replay", "run/r1.json", "--gdb", "--target", &target(agent.port)];
    let refused = finish(&mut command(&place, "run", &words));
    assert!(refused.code() == Some(2) && refused.stderr.contains("--gdb does not go"), "{}", refused.all());
}

#[test]
fn run_and_predict_are_as_here() {
    let place = Place::new();
    let source = place.write(
        "talks.c",
        "#include <pthread.h>\n#include <stdio.h>\nint shared;\n\
         static void *add(void *_) { shared++; return _; }\n\
         int main(int argc, char **argv) {\n\
             char line[64]; pthread_t one, two;\n\
             pthread_create(&one, 0, add, 0); pthread_create(&two, 0, add, 0);\n\
             pthread_join(one, 0); pthread_join(two, 0);\n\
             printf(\"%s %s\\n\", argv[1], fgets(line, sizeof line, stdin) ? line : \"nothing\");\n\
             fprintf(stderr, \"done\\n\"); return 7; }\n",
    );
    let program = built(&source, &[]);
    place.write("input", "from a file");
    let agent = Agent::start(&place, 0, &[], &[&program]);
    let at = target(agent.port);
    for words in [&["run"][..], &["run", "--seed", "3"], &["predict", "--jobs", "1"]] {
        let mut both = [Vec::new(), vec!["--target", &at]].map(|remote| {
            let mut command = command(&place, "both", words);
            let file = place.path("input");
            command.args(remote).arg("--stdin").arg(file).arg(&program).args(["--", "an argument"]);
            finish(&mut command)
        });
        for done in &mut both {
            // Times, and the heights of memory.
            let keep = |line: &&str| !line.contains(" ms") && !line.contains(" s,") && !line.contains(" s)");
            done.stderr = done.stderr.lines().filter(keep).map(|line| format!("{line}\n")).collect();
        }
        let [here, there] = both;
        // A replay needs the agent, which no debugger takes a program over from.
        let told = there.stdout.replace(&format!(" --target {at}"), "");
        let is_debug = |line: &&str| line.trim_start().starts_with("debug ");
        let expected: String =
            here.stdout.lines().filter(|line| !is_debug(line)).map(|line| format!("{line}\n")).collect();
        assert_eq!((there.code(), &told), (here.code(), &expected), "{}\n{}", there.all(), here.all());
        if words[0] == "run" {
            assert!(there.stdout.contains("an argument from a file"), "{}", there.all());
            assert!(there.stderr.contains("done"), "{}", there.all());
        }
    }
}

/// A search that is disturbed again and again gives the report of one that is not.
fn disturbed(source: &Path, options: &[&str], disturb: impl Fn(u64, &mut Agent, &Way, &dyn Fn(u16) -> Agent)) {
    let (place, program) = (Place::new(), built(source, &["-O1"]));
    let done = finish(&mut check(&place, "local", &program, options, None));
    let local = report(&place, "local", &done);
    let start = |port| Agent::start(&place, port, &[], &[&program]);
    let mut agent = start(0);
    // So slow that the search lasts.
    let way = Way::to(agent.port, Duration::from_millis(10));
    let mut searching = check(&place, "remote", &program, options, Some(way.port));
    let search = thread::spawn(move || finish(&mut searching));
    let (mut times, mut seen) = (0, 0);
    while !search.is_finished() {
        thread::sleep(Duration::from_millis(100 + mix(times) % 250));
        // Only where something happened since the last time: otherwise nothing would ever be done.
        let passed = way.passed.load(Ordering::Relaxed);
        if passed > seen + 20_000 && times < 12 {
            times += 1;
            disturb(times, &mut agent, &way, &start);
            seen = way.passed.load(Ordering::Relaxed);
        }
    }
    let done = search.join().unwrap();
    assert_eq!(report(&place, "remote", &done), local, "{}", done.all());
    assert!(times >= DISTURBANCES, "{times} times: the search is too short");
}

#[test]
fn a_search_survives_connections_that_break() {
    for (source, options) in [
        (bench("programs/account"), &["--strategy", "optimal", "--jobs", "1"][..]),
        (bench("everyday/thread_pool"), &["--jobs", "3", "--max-executions", "20000"]),
        (bench("lockfree/ticket"), &["--jobs", "1", "--max-executions", "8000"]),
    ] {
        disturbed(&source, options, |_, _, way, _| way.cut());
    }
}

#[test]
fn a_search_survives_agents_that_are_killed() {
    for (source, options) in [
        (bench("programs/account"), &["--strategy", "optimal", "--jobs", "1"][..]),
        (bench("everyday/thread_pool"), &["--jobs", "3", "--max-executions", "20000"]),
    ] {
        disturbed(&source, options, |_, agent, way, start| {
            agent.kill();
            way.cut();
            *agent = start(agent.port);
        });
    }
}

#[test]
fn an_agent_that_stays_away_ends_the_search_with_a_sentence() {
    let (place, program) = (Place::new(), built(&bench("everyday/thread_pool"), &["-O1"]));
    let mut agent = Agent::start(&place, 0, &[], &[&program]);
    let at = target(agent.port);
    let options = ["--jobs", "1", "--strategy", "optimal", "--target", &at, "--target-patience", "1"];
    let mut searching = check(&place, "run", &program, &options, None);
    let search = thread::spawn(move || finish(&mut searching));
    agent.says("was started");
    thread::sleep(Duration::from_millis(300));
    agent.kill();
    let done = search.join().unwrap();
    assert_eq!(done.code(), Some(3), "{}", done.all());
    let (report, _) = report(&place, "run", &done);
    assert!(report["reason"]["text"].as_str().unwrap().contains("cannot be reached"), "{report}");
}

#[test]
fn many_executions_are_under_way_at_once() {
    let (place, program) = (Place::new(), built(&bench("programs/account"), &["-O1"]));
    let agent = Agent::start(&place, 0, &[], &[&program]);
    let way = Way::to(agent.port, Duration::from_millis(20));
    let options = ["--strategy", "optimal", "--max-executions", "3000"];
    for jobs in ["1", "3"] {
        let options = [&options[..], &["--jobs", jobs]].concat();
        let done = finish(&mut check(&place, jobs, &program, &options, Some(way.port)));
        let (report, _) = report(&place, jobs, &done);
        assert_eq!(report["stats"]["executions"], 3000, "{report}");
        // One at a time, they would take two minutes.
        assert!(done.time < Duration::from_secs(30), "{}", done.all());
    }
    // Traces are compressed: a run of this program has some thousand bytes.
    let bytes = way.passed.load(Ordering::Relaxed) / 6000;
    assert!(bytes < 1500, "{bytes} bytes for an execution");
}

#[test]
fn who_is_not_let_in_runs_nothing() {
    let (place, program) = (Place::new(), built(&bench("programs/account"), &["-O1"]));
    let other = built(&several_findings(), &["-O1"]);
    let agent = Agent::start(&place, 0, &[], &[&program]);
    let refused = |set_up: &dyn Fn(&mut Command), program: &Path, sentence: &str| {
        let mut command = check(&place, "run", program, &["--max-executions", "9"], Some(agent.port));
        set_up(&mut command);
        let done = finish(&mut command);
        assert_eq!(done.code(), Some(2), "{}", done.all());
        assert!(done.stderr.contains(sentence), "{}", done.all());
    };
    refused(
        &|command| {
            command.env_remove("RADDLE_TOKEN");
        },
        &program,
        "the agent wants its token",
    );
    refused(
        &|command| {
            command.env("RADDLE_TOKEN", "another-token-of-16");
        },
        &program,
        "the token is wrong",
    );
    refused(&|_| {}, &other, "no program of that name is offered");
    for path in ["/bin/sh", "../../bin/sh", "/etc/passwd", "."] {
        refused(&|_| {}, Path::new(path), "no program of that name is offered");
    }
    for (option, value) in [("--env", "A=B"), ("--cwd", "/")] {
        refused(
            &|command| {
                command.args([option, value]);
            },
            &program,
            "does not go with --target",
        );
    }
    refused(
        &|command| {
            command.arg("--share-files");
        },
        &program,
        "does not go with --target",
    );
    refused(&|_| {}, Path::new("source.c"), "a source file does not go with --target");
    for garbage in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0xff; 4000], &[0; 4000]] {
        let mut stream = TcpStream::connect(("127.0.0.1", agent.port)).unwrap();
        let _ = stream.write_all(garbage);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        assert!(answer.len() < 1000);
    }
    assert!(!agent.has_started(), "{:?}", agent.heard);
    // It still serves who may.
    let done = finish(&mut check(&place, "run", &program, &["--max-executions", "9"], Some(agent.port)));
    assert_eq!(done.code(), Some(3), "{}", done.all());
    assert!(agent.has_started());
}

#[test]
fn files_that_are_not_here_are_fetched_once() {
    let (place, program) = (Place::new(), built(&several_findings(), &["-O1"]));
    std::fs::create_dir(place.path("offer")).unwrap();
    let there = place.path("offer/several");
    // The debug information is in a file of its own there.
    let debug = place.path("offer/several.debug");
    for words in [&["--only-keep-debug"][..], &["--strip-debug", &format!("--add-gnu-debuglink={}", debug.display())]] {
        let to = if words.len() == 1 { &debug } else { &there };
        let done = finish(place.command("objcopy").args(words).arg(&program).arg(to));
        assert!(done.status.success(), "{}", done.all());
    }
    // Found by its name in a directory that is on offer, whatever the paths of this side are.
    let agent = Agent::start(&place, 0, &[], &[&place.path("offer")]);
    let done = finish(&mut check(&place, "first", Path::new("several"), &["--jobs", "1"], Some(agent.port)));
    let (first, witnesses) = report(&place, "first", &done);
    assert_eq!((done.code(), &first["program"]), (Some(1), &Value::from("several")), "{}", done.all());
    assert!(first["findings"].to_string().contains("several_findings.c"), "{first}");
    assert!(!witnesses.is_empty());
    drop(agent);
    // The copy has the contents, and the witness runs here.
    let here = finish(&mut command(&place, "first", &["replay", "run/r1.json"]));
    assert!(here.stdout.contains("reproduced") || here.code() == Some(1), "{}", here.all());
}

#[test]
fn limits_of_the_operator_hold() {
    let place = Place::new();
    let source = place.write(
        "greedy.c",
        "#include <stdlib.h>\n#include <string.h>\n\
         int main(void) { for (int i = 0; i < 400; i++) { char *p = malloc(1 << 20); memset(p, i, 1 << 20); } }\n",
    );
    let (greedy, long) = (built(&source, &[]), built(&bench("everyday/thread_pool"), &["-O1"]));
    let agent = Agent::start(&place, 0, &["--memory-limit", "100M"], &[&greedy]);
    let done =
        finish(&mut check(&place, "greedy", &greedy, &["--jobs", "1", "--strategy", "optimal"], Some(agent.port)));
    assert!(done.stdout.contains("more than 100 MB"), "{}", done.all());
    drop(agent);
    let agent = Agent::start(&place, 0, &["--time-limit", "3"], &[&long]);
    let options = ["--jobs", "1", "--strategy", "random", "--max-executions", "1000000000"];
    let done = finish(&mut check(&place, "long", &long, &options, Some(agent.port)));
    let (report, _) = report(&place, "long", &done);
    assert!(report["reason"]["text"].as_str().unwrap().contains("may run for 3 seconds"), "{report}");
}

/// ssh is a command that passes a connection on.
#[test]
fn an_agent_is_reached_through_ssh() {
    let (place, program) = (Place::new(), built(&several_findings(), &["-O1"]));
    let agent = Agent::start(&place, 0, &[], &[&program]);
    std::fs::create_dir(place.path("bin")).unwrap();
    place.write_program(
        "bin/ssh",
        "#!/bin/bash\necho \"$@\" >> \"$(dirname \"$0\")/words\"\n\
         while [ \"$1\" != -W ]; do shift; done\n\
         exec 3<>\"/dev/tcp/${2%:*}/${2#*:}\"\ncat <&3 &\ncat >&3\n",
    );
    let path = format!("{}:{}", place.path("bin").display(), std::env::var("PATH").unwrap());
    let options = ["--jobs", "1", "--target", &format!("ssh:me@board:{}", agent.port)];
    let done = finish(check(&place, "remote", &program, &options, None).env("PATH", path));
    let remote = report(&place, "remote", &done);
    let done = finish(&mut check(&place, "local", &program, &["--jobs", "1"], None));
    assert_eq!(remote, report(&place, "local", &done));
    let words = std::fs::read_to_string(place.path("bin/words")).unwrap();
    assert!(words.contains(&format!("-W 127.0.0.1:{} -- me@board", agent.port)), "{words}");
}

#[test]
fn an_arm_program_runs_beside_its_agent() {
    let place = Place::new();
    let program = built_around("aarch64-linux-gnu-gcc", &several_findings(), &["-O1".into()]).unwrap();
    let agent = Agent::start(&place, 0, &[], &[&program]);
    let options = ["--jobs", "1", "--max-executions", "300"];
    let done = finish(&mut check(&place, "local", &program, &options, None));
    let local = report(&place, "local", &done);
    let done = finish(&mut check(&place, "remote", &program, &options, Some(agent.port)));
    assert_eq!(report(&place, "remote", &done), local, "{}", done.all());
}

#[test]
fn nothing_is_left_behind() {
    let (place, program) = (Place::new(), built(&bench("everyday/thread_pool"), &["-O1"]));
    let agent = Agent::start(&place, 0, &["--patience", "1"], &[&program]);
    let mut searching = check(&place, "run", &program, &["--jobs", "1"], Some(agent.port));
    let mut search = searching.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    agent.says("was started");
    search.kill().unwrap();
    search.wait().unwrap();
    // Only the agent itself.
    let begun = Instant::now();
    while place.left_behind().len() > 1 {
        assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", place.left_behind());
        thread::sleep(Duration::from_millis(50));
    }
    drop(agent);
    assert!(place.left_behind().is_empty());
}
