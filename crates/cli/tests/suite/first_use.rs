//! What a new user of raddle stumbles over.

use raddle_testkit::effort::is_more;
use serde_json::Value;

use crate::common::{Done, Place};

/// Two clerks, and an auditor that takes the locks the other way round. The search meets that in an
/// order with several preemptions.
const BANK: &str = r#"#include <pthread.h>
static pthread_mutex_t account[3], audit;
static long balance[3], entries;
static void transfer(int from, int to) {
    int low = from < to ? from : to, high = from < to ? to : from;
    pthread_mutex_lock(&account[low]);
    pthread_mutex_lock(&account[high]);
    balance[from] -= 10;
    balance[to] += 10;
    pthread_mutex_lock(&audit);
    entries++;
    pthread_mutex_unlock(&audit);
    pthread_mutex_unlock(&account[high]);
    pthread_mutex_unlock(&account[low]);
}
static void *clerk(void *number) {
    int from = (int)(long)number;
    transfer(from, (from + 1) % 3);
    return 0;
}
static void *auditor(void *unused) {
    pthread_mutex_lock(&audit);
    for (int i = 0; i < 3; i++) pthread_mutex_lock(&account[i]);
    for (int i = 0; i < 3; i++) pthread_mutex_unlock(&account[i]);
    pthread_mutex_unlock(&audit);
    return unused;
}
int main(void) {
    pthread_t threads[4];
    for (int i = 0; i < 3; i++) pthread_mutex_init(&account[i], 0);
    pthread_mutex_init(&audit, 0);
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], 0, clerk, (void *)(long)i);
    pthread_create(&threads[3], 0, auditor, 0);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
    for (int i = 0; i < 3; i++) pthread_mutex_destroy(&account[i]);
    pthread_mutex_destroy(&audit);
    return 0;
}
"#;

fn checked(place: &Place, name: &str, source: &str, words: &[&str], status: i32) -> Done {
    place.write(name, source);
    let done = place.raddle([&["check"], words, &[name]].concat());
    assert_eq!(done.code(), Some(status), "{}", done.all());
    done
}

fn findings(place: &Place, run: &str) -> Vec<Value> {
    let report = place.raddle(["report", run, "--format", "json"]);
    let report: Value = serde_json::from_str(&report.stdout).unwrap_or_else(|_| panic!("{}", report.all()));
    report["findings"].as_array().unwrap().clone()
}

/// A witness has no more preemptions than a search within that bound needs.
#[test]
fn witnesses_have_few_preemptions() {
    let place = Place::new();
    let done = checked(&place, "bank.c", BANK, &[], 1);
    let found = findings(&place, "bank");
    assert!(!found.is_empty());
    for finding in &found {
        assert!(finding["preemptions"].as_u64().unwrap() <= 1, "{}", done.all());
        let replay = place.raddle(["replay", finding["id"].as_str().unwrap()]);
        assert!(replay.code() == Some(1) && replay.stdout.contains("reproduced: "), "{}", replay.all());
    }
    // Runs for that count in no statistics.
    let bounded = place.raddle(["check", "--preemptions", "1", "bank.c"]);
    assert_eq!(bounded.code(), Some(1), "{}", bounded.all());
    let kinds = |found: &[Value]| found.iter().map(|finding| finding["detail"].clone()).collect::<Vec<_>>();
    assert_eq!(kinds(&findings(&place, "bank")), kinds(&found));
}

/// A deadlock as ThreadSanitizer tells it: a cycle of locks with the places of all acquisitions.
#[test]
fn a_cycle_of_locks_has_all_its_places_for_other_tools() {
    let place = Place::new();
    checked(&place, "bank.c", BANK, &[], 1);
    let tsan = place.raddle(["report", "bank", "--format", "tsan"]).stdout;
    assert!(tsan.contains("  Cycle in lock order graph: M"), "{tsan}");
    assert!(tsan.contains(" previously acquired by the same thread here:\n    #0 auditor bank.c:22"), "{tsan}");
    assert!(!tsan.contains("0x0\n") && !tsan.contains("failed to restore"), "{tsan}");
}

const PIPE: &str = r#"#include <pthread.h>
#include <unistd.h>
int ends[2], late;
static void *writer(void *unused) {
    (void)!write(ends[1], "x", 1);
    late = 1;
    return unused;
}
int main(void) {
    pthread_t thread;
    char byte;
    if (pipe(ends)) return 1;
    pthread_create(&thread, 0, writer, 0);
    (void)!read(ends[0], &byte, 1);
    late = 2;
    pthread_join(thread, 0);
    return 0;
}
"#;

/// Input and output is told by its call, its channel and the descriptor.
#[test]
fn input_and_output_is_told_by_its_call() {
    for flags in ["-O0", "-O2", "-fno-plt"] {
        let place = Place::new();
        checked(&place, "pipe.c", PIPE, &["--cflags", flags], 1);
        let all = place.raddle(["report", "pipe"]).stdout;
        for line in ["write pipe#1 (descriptor 4)  pipe.c:5", "read pipe#1 (descriptor 3)  pipe.c:14"] {
            assert!(all.contains(line), "{flags}: {line}: {all}");
        }
        assert!(!all.contains("input or output"), "{flags}: {all}");
    }
}

/// Objects on a stack have their names where a search that does not end names what is contended.
#[test]
fn contended_objects_on_a_stack_have_names() {
    let place = Place::new();
    let source = r#"#include <pthread.h>
struct queue { int items; pthread_mutex_t lock; };
static void *worker(void *arg) {
    struct queue *queue = arg;
    for (int i = 0; i < 8; i++) {
        pthread_mutex_lock(&queue->lock);
        queue->items++;
        pthread_mutex_unlock(&queue->lock);
    }
    return 0;
}
int main(void) {
    struct queue jobs = {0, PTHREAD_MUTEX_INITIALIZER};
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], 0, worker, &jobs);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
    return jobs.items != 24;
}
"#;
    let done = checked(&place, "stack.c", source, &["--max-executions", "10"], 3);
    assert!(done.stdout.contains("threads compete most for `jobs.lock` ("), "{}", done.all());
    // Samples are no way to a verdict, and were taken anyway.
    let done = checked(&place, "stack.c", source, &["--max-executions", "10", "--strategy", "random"], 3);
    assert!(done.stdout.contains("leave --strategy random out") && !done.stdout.contains("pct"), "{}", done.all());
}

/// A place in raddle's runtime is none of the program's: the destructor of a static object ends
/// with a jump, and returns to there.
#[test]
fn no_place_lies_in_the_runtime() {
    let place = Place::new();
    let source = "#include <condition_variable>\n#include <thread>\nstatic std::condition_variable gate;\n\
        int main() { std::thread([] { gate.notify_one(); }).detach(); }\n";
    let done = checked(&place, "gate.cpp", source, &["--cflags", "-O2"], 1);
    assert!(done.stdout.contains("cond-destroy by T0 at the end of the process"), "{}", done.all());
    for format in ["text", "json", "tsan", "gcc"] {
        let all = place.raddle(["report", "gate", "--format", format]).stdout;
        assert!(!all.contains(".rs:") && !all.contains(".rs\"") && !all.contains("raddle_rt"), "{format}: {all}");
    }
}

/// Two checks at a time have a directory each.
#[test]
fn two_checks_of_one_program_have_a_directory_each() {
    let place = Place::new();
    checked(&place, "bank.c", BANK, &[], 1);
    // What a check that is under way has.
    let lock = std::fs::File::open(place.path(".raddle/bank/.lock")).unwrap();
    lock.lock().unwrap();
    let done = checked(&place, "bank.c", BANK, &[], 1);
    let sentence = "another check of bank is under way: this one is kept in .raddle/bank-2";
    assert!(done.stderr.contains(sentence), "{}", done.all());
    for run in ["bank", "bank-2"] {
        for finding in findings(&place, run) {
            let name = format!("{run}/{}", finding["id"].as_str().unwrap());
            let replay = place.raddle(["replay", &name]);
            assert!(replay.code() == Some(1) && replay.stdout.contains("reproduced: "), "{name}: {}", replay.all());
        }
    }
    drop(lock);
    let done = checked(&place, "bank.c", BANK, &[], 1);
    assert!(!done.stderr.contains("another check"), "{}", done.all());
}

/// What to name instead of a directory, and what to do about a program without hooks.
#[test]
fn hints_say_what_to_do() {
    let place = Place::new();
    std::fs::create_dir(place.path("build")).unwrap();
    let done = place.raddle(["check", "build"]);
    assert!(done.code() == Some(2) && done.stderr.contains("build is a directory: name a program"), "{}", done.all());
    place.write("build/CMakeCache.txt", "");
    place.write("build/CTestTestfile.cmake", "");
    let done = place.raddle(["check", "build"]);
    assert!(done.stderr.contains("`raddle check --framework ctest build`"), "{}", done.all());
    place.write("bank.c", BANK);
    assert!(
        crate::common::finish(place.command("gcc").args(["-g", "-pthread", "bank.c", "-o", "plain"])).status.success()
    );
    let done = place.raddle(["check", "./plain", "--max-executions", "50"]);
    assert!(done.stdout.contains("build it with `raddle cc`"), "{}", done.all());
}

/// After a fix, the schedule may still be followed.
#[test]
fn a_replay_says_that_the_finding_did_not_occur() {
    let place = Place::new();
    let racy = "#include <pthread.h>\n#include <stdatomic.h>\nstatic int x;\n\
        static void *worker(void *p) { x = 1; return p; }\n\
        int main(void) { pthread_t t; pthread_create(&t, 0, worker, 0); x = 2; pthread_join(t, 0); return 0; }\n";
    checked(&place, "fixed.c", racy, &[], 1);
    let right = racy.replace("x = 2; pthread_join(t, 0);", "pthread_join(t, 0); x = 2;");
    place.write("fixed.c", &right);
    let replay = place.raddle(["replay", "r1", "--rebuild"]);
    assert_ne!(replay.code(), Some(1), "{}", replay.all());
    assert!(replay.stdout.contains("r1 did not occur"), "{}", replay.all());
    assert!(!replay.stdout.contains("no longer feasible"), "{}", replay.all());
}

/// The watchdog ends each run behind its patience of ten seconds: not many of them are made where a
/// thread goes on for ever without an operation, and the finding says where that is.
#[test]
fn a_loop_without_operations_ends_the_check() {
    if !is_more() {
        return;
    }
    let spin = "static void *spin(void *p) {\n  for (;;)\n    __asm__ volatile(\"\" ::\"r\"(p));\n}\n";
    let alone = format!("{spin}int main(void) {{ spin(0); }}\n");
    let with_others = format!(
        "{spin}#include <pthread.h>\nstatic pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n\
         static void *use(void *p) {{ pthread_mutex_lock(&m); pthread_mutex_unlock(&m); return p; }}\n\
         int main(void) {{\n\
           pthread_t a, b, c;\n\
           pthread_create(&a, 0, spin, 0); pthread_create(&b, 0, use, 0); pthread_create(&c, 0, use, 0);\n\
           pthread_join(b, 0); pthread_join(c, 0); pthread_join(a, 0);\n\
           return 0;\n\
         }}\n"
    );
    for (name, source, most, thread) in [("alone", alone, 1, "T0"), ("with_others", with_others, 3, "T1")] {
        let place = Place::new();
        let file = format!("{name}.c");
        let done = checked(&place, &file, &source, &["--cflags", "-O0"], 1);
        let words = format!("{thread} goes on for ever without an operation in spin at {file}:");
        assert!(done.stdout.contains(&words), "{words}: {}", done.all());
        let report: Value = serde_json::from_str(&place.raddle(["report", name, "--format", "json"]).stdout).unwrap();
        assert_eq!(report["reason"]["code"], "hang", "{report:#}");
        assert_eq!(report["findings"].as_array().unwrap().len(), 1, "{report:#}");
        let access = &report["findings"][0]["accesses"][0];
        assert_eq!((&access["thread"], &access["place"]["function"]), (&thread.into(), &"spin".into()), "{access:#}");
        assert!(matches!(access["place"]["line"].as_u64(), Some(2 | 3)), "{access:#}");
        let stats = &report["stats"];
        assert_eq!(stats["executions"], 0, "{stats:#}");
        assert!(stats["cut"].as_u64().unwrap() <= most, "{stats:#}");
    }
}
