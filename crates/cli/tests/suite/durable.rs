//! Searches that are interrupted and resumed, against searches that are not.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use crate::common::{Done, Place, built, finish, for_each, raddle};
use raddle_journal::{Contents, parse, to_bytes};
use raddle_testkit::effort::is_more;
use raddle_testkit::generate::{Knobs, generate};
use raddle_testkit::print::print;
use raddle_vocab::policy::mix;
use serde_json::Value;

/// Searches that are killed, and with `--more`.
const SEARCHES: u64 = 10;
const MANY_SEARCHES: u64 = 200;
/// How often each is killed, at least, unless it ends before.
const KILLS: u32 = 3;

const JOURNAL: &str = "search.journal";

const BENCHES: [&str; 12] = [
    "everyday/buffer",
    "everyday/bank",
    "everyday/thread_pool",
    "everyday/slots",
    "lockfree/ms_queue",
    "lockfree/twa",
    "lockfree/chase_lev",
    "lockfree/ticket",
    "programs/account",
    "programs/indexer_mutex",
    "programs/readers",
    "lockfree/conf_loop",
];

/// Options of searches, one set for each.
const OPTIONS: [&str; 10] = [
    "--max-executions 4000",
    "--max-executions 4000 --jobs 1",
    "--strategy stateful --max-executions 2000",
    "--strategy optimal --max-executions 6000",
    "--strategy dpor --max-executions 3000",
    "--strategy pct --max-executions 3000",
    "--granularity access --max-executions 3000",
    "--preemptions 2 --max-executions 3000",
    "--strategy pos --max-executions 3000 --jobs 1",
    "--strategy stateful --spurious 1 --max-executions 2000 --cache 200k",
];

fn bench(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../bench/{name}.c"))
}

/// A search: a program in a place, and options.
struct Search {
    place: Place,
    program: PathBuf,
    options: Vec<&'static str>,
}

impl Search {
    fn of(source: &Path, options: &'static str) -> Self {
        Search { place: Place::new(), program: built(source, &["-O1"]), options: options.split(' ').collect() }
    }

    /// `raddle` with these words, with a record every few milliseconds.
    fn raddle(&self, words: &[&str]) -> Command {
        let mut command = self.place.command(raddle());
        command.env("RADDLE_TEST_JOURNAL_PERIOD", "10").args(words);
        command
    }

    fn check(&self, words: &[&str]) -> Command {
        let mut command = self.raddle(&["check", "--quiet", "--out", "out", "--json", "report.json"]);
        command.args(&self.options).args(words).arg(&self.program);
        command
    }

    fn resume(&self, words: &[&str]) -> Command {
        let mut command = self.raddle(&["resume", "checkpoint", "--quiet", "--json", "report.json"]);
        command.args(words);
        command
    }

    fn journal(&self) -> PathBuf {
        self.place.path("checkpoint").join(JOURNAL)
    }

    /// The report, without the time.
    fn report(&self) -> Value {
        let text = std::fs::read_to_string(self.place.path("report.json")).unwrap();
        let mut report: Value = serde_json::from_str(&text).unwrap();
        report["stats"].as_object_mut().unwrap().remove("seconds");
        std::fs::remove_file(self.place.path("report.json")).unwrap();
        report
    }

    /// The report of a search that nothing interrupts.
    fn uninterrupted(&self) -> Value {
        let done = finish(&mut self.check(&[]));
        assert!(matches!(done.code(), Some(0 | 1 | 3)), "{}", done.all());
        self.report()
    }

    /// Waits until the command has written a record, and a moment more. False if it has ended.
    fn wait_for_record(&self, child: &mut Child, moment: Duration) -> bool {
        let written = || std::fs::metadata(self.journal()).and_then(|about| about.modified()).ok();
        let before: Option<SystemTime> = written();
        let begun = Instant::now();
        let mut seen = None;
        loop {
            if child.try_wait().unwrap().is_some() {
                return false;
            }
            if seen.is_none() && written() > before {
                seen = Some(Instant::now());
            }
            if seen.is_some_and(|seen| seen.elapsed() >= moment) {
                return true;
            }
            assert!(begun.elapsed() < Duration::from_secs(200), "nothing is written");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// The report of a search that is killed at random moments, and how often it was.
    fn killed(&self, seed: u64) -> (Value, u32) {
        let mut kills = 0;
        let mut command = self.check(&["--checkpoint", "checkpoint"]);
        while kills < KILLS {
            let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            let moment = mix(seed ^ mix(u64::from(kills))) % 120;
            let is_running = self.wait_for_record(&mut child, Duration::from_millis(moment));
            let _ = child.kill();
            let status = child.wait().unwrap();
            if !is_running && status.code().is_some() {
                return (self.report(), kills);
            }
            kills += 1;
            command = self.resume(&[]);
        }
        let done = finish(&mut self.resume(&[]));
        assert!(matches!(done.code(), Some(0 | 1 | 3)), "{}", done.all());
        assert!(!self.journal().exists(), "a search that has ended needs no journal");
        (self.report(), kills)
    }
}

#[test]
fn killed_searches_report_what_uninterrupted_ones_report() {
    let count = if is_more() { MANY_SEARCHES } else { SEARCHES };
    let kills = std::sync::atomic::AtomicU32::new(0);
    for_each(&(0..count).collect::<Vec<u64>>(), |&seed| {
        let options = OPTIONS[(seed % OPTIONS.len() as u64) as usize];
        let place = Place::new();
        let source = match seed % 2 {
            0 => bench(BENCHES[(mix(seed) % BENCHES.len() as u64) as usize]),
            _ => {
                let knobs = Knobs { length: 6, threads: 4, ..Knobs::drawn(seed, 4, 6) };
                place.write("program.c", print(&generate(seed, &knobs)).text)
            }
        };
        let search = Search::of(&source, options);
        let plain = search.uninterrupted();
        let (report, times) = search.killed(seed);
        kills.fetch_add(times, std::sync::atomic::Ordering::Relaxed);
        if report != plain {
            return Err(format!(
                "seed {seed}, {} {options}, killed {times} times:\n{plain:#}\n{report:#}",
                source.display()
            ));
        }
        Ok(())
    });
    let kills = kills.into_inner();
    assert!(u64::from(kills) > count, "only {kills} kills of {count} searches");
}

/// A search of some seconds.
fn long_search() -> Search {
    Search::of(&bench("programs/indexer_mutex"), "--max-executions 12000 --jobs 1")
}

/// A search with a journal that was killed.
fn interrupted(search: &Search) {
    let mut child = search.check(&["--checkpoint", "checkpoint"]).stderr(Stdio::null()).spawn().unwrap();
    assert!(search.wait_for_record(&mut child, Duration::from_millis(50)));
    child.kill().unwrap();
    child.wait().unwrap();
}

fn said(done: &Done, code: i32, words: &str) {
    assert!(done.code() == Some(code) && done.stderr.contains(words), "{words}: {}", done.all());
}

#[test]
fn time_limits_add_up_and_signals_are_survived() {
    let search = long_search();
    let plain = search.uninterrupted();
    let done = finish(&mut search.check(&["--checkpoint", "checkpoint", "--time-limit", "0.3"]));
    assert_eq!(done.code(), Some(3), "{}", done.all());
    assert_eq!(search.report()["reason"]["code"], "time-limit");
    let mut child = search.resume(&["--time-limit", "100"]).stderr(Stdio::null()).spawn().unwrap();
    let is_running = search.wait_for_record(&mut child, Duration::from_millis(20));
    if is_running {
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(3));
        assert_eq!(search.report()["reason"]["code"], "interrupted");
        // The directory of the run names the journal, too.
        let done =
            finish(search.raddle(&["resume", "out", "--quiet", "--time-limit", "100"]).args(["--json", "report.json"]));
        assert_eq!(done.code(), Some(0), "{}", done.all());
    } else {
        assert_eq!(child.wait().unwrap().code(), Some(0));
    }
    assert_eq!(search.report(), plain);
    assert!(!search.journal().exists() && !search.place.path("out").join(JOURNAL).exists());
}

#[test]
fn a_torn_journal_is_cut() {
    let search = long_search();
    let plain = search.uninterrupted();
    interrupted(&search);
    let mut bytes = std::fs::read(search.journal()).unwrap();
    bytes.extend([7; 100]);
    std::fs::write(search.journal(), bytes).unwrap();
    let done = finish(&mut search.resume(&[]));
    said(&done, 0, "the end of the journal was not written");
    assert_eq!(search.report(), plain);
}

#[test]
fn what_is_no_journal_of_this_search_is_refused() {
    let search = long_search();
    said(&finish(&mut search.resume(&[])), 2, "there is no interrupted search");
    said(&finish(&mut search.raddle(&["resume"])), 2, "there is no interrupted search");
    interrupted(&search);
    let journal = search.journal();
    let whole = std::fs::read(&journal).unwrap();
    let refused = |bytes: &[u8], words: &str| {
        std::fs::write(&journal, bytes).unwrap();
        said(&finish(&mut search.resume(&[])), 2, words);
    };
    refused(b"something else", "it is not a journal of raddle");
    refused(&whole[..40], "it does not say what was searched");
    // Another build of raddle.
    let Contents { mut records, .. } = parse(&whole).unwrap();
    let mut later = records.clone();
    later[0].contents[1] = b'9';
    refused(&to_bytes(&later), "it was written by another raddle");
    // Records that have a checksum and make no sense.
    for record in &mut records[1..] {
        record.contents.iter_mut().for_each(|byte| *byte = byte.rotate_left(3) ^ 0x55);
    }
    refused(&to_bytes(&records), "this search cannot be resumed");
    // Another program.
    std::fs::write(&journal, &whole).unwrap();
    let other = long_search();
    let program = other.place.path("program");
    std::fs::copy(&other.program, &program).unwrap();
    let other = Search { program: program.clone(), ..other };
    interrupted(&other);
    std::fs::remove_file(&program).unwrap();
    std::fs::copy(built(&bench("programs/readers"), &["-O1"]), &program).unwrap();
    said(&finish(&mut other.resume(&[])), 2, "is not what it was when the search began; check the program anew");
}

#[test]
fn one_raddle_goes_on_at_a_time() {
    let search = long_search();
    interrupted(&search);
    let mut child = search.resume(&[]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    assert!(search.wait_for_record(&mut child, Duration::ZERO));
    said(&finish(&mut search.resume(&[])), 2, "another raddle writes its journal there");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_journal_that_cannot_be_written_does_not_stop_the_search() {
    let search = long_search();
    let plain = search.uninterrupted();
    let obstacle = search.place.path("checkpoint").join(format!("{JOURNAL}.part")).join("in the way");
    std::fs::create_dir_all(obstacle).unwrap();
    let done = finish(&mut search.check(&["--checkpoint", "checkpoint"]));
    said(&done, 0, "the search is not durable any more");
    assert_eq!(search.report(), plain);
}

#[test]
fn a_short_search_writes_no_journal() {
    let search = Search::of(&bench("everyday/bank"), "--max-executions 100");
    search.uninterrupted();
    assert!(!search.place.path("out").join(JOURNAL).exists());
}

/// A search that was killed before its first record has a journal, which begins it again.
#[test]
fn a_journal_begins_with_the_search() {
    let search = long_search();
    let plain = search.uninterrupted();
    interrupted(&search);
    let Contents { mut records, .. } = parse(&std::fs::read(search.journal()).unwrap()).unwrap();
    records.truncate(2);
    std::fs::write(search.journal(), to_bytes(&records)).unwrap();
    let done = finish(&mut search.resume(&[]));
    said(&done, 0, "it ended before anything of the search was written");
    assert_eq!(search.report(), plain);
}
