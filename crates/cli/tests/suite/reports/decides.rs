//! Reports say what decides: modes of locks and where they were taken, what a signal wakes, and the
//! code that ran.

use super::checked;
use crate::common::Place;

/// Two readers of a lock, one of which writes.
const SHARED: &str = r#"#include <shared_mutex>
#include <thread>

struct Cache {
    std::shared_mutex mutex;
    long hits = 0;
    void get() {
        std::shared_lock<std::shared_mutex> lock(mutex);
        hits++;
    }
};

int main() {
    Cache cache;
    std::thread one([&] { cache.get(); });
    std::thread two([&] { cache.get(); });
    one.join();
    two.join();
}
"#;

#[test]
fn locks_have_modes_and_places_and_threads_the_lines_of_the_program() {
    let place = Place::new();
    place.write("cache.cpp", SHARED);
    let done = place.raddle(["check", "--cflags", "-std=c++17", "cache.cpp"]);
    assert_eq!(done.code(), Some(1), "{}", done.all());
    for line in [
        "holds `cache.mutex` (shared)",
        "holds `cache.mutex` (shared), locked at cache.cpp:8",
        "T1, created by T0 at cache.cpp:15",
        "cause   both threads hold cache.mutex, but in shared mode only: a write needs it in exclusive mode",
        "read-lock cache.mutex",
    ] {
        assert!(done.stdout.contains(line), "{line}: {}", done.all());
    }
    assert!(done.stdout.lines().all(|line| line.chars().count() < 160), "{}", done.all());
    let json = place.raddle(["report", "--format", "json"]);
    assert!(json.stdout.contains("\"shared\": true"), "{}", json.all());
}

/// A signal where a broadcast is needed: one of two waiters sleeps for ever.
const GATE: &str = r#"#include <pthread.h>

static pthread_mutex_t a_mutex_with_a_rather_long_name = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t a_condition_with_a_rather_long_name = PTHREAD_COND_INITIALIZER;
static int open;

static void *pass(void *unused) {
    pthread_mutex_lock(&a_mutex_with_a_rather_long_name);
    while (!open)
        pthread_cond_wait(&a_condition_with_a_rather_long_name, &a_mutex_with_a_rather_long_name);
    pthread_mutex_unlock(&a_mutex_with_a_rather_long_name);
    return unused;
}

int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, pass, 0);
    pthread_mutex_lock(&a_mutex_with_a_rather_long_name);
    open = 1;
    pthread_cond_signal(&a_condition_with_a_rather_long_name);
    pthread_mutex_unlock(&a_mutex_with_a_rather_long_name);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    return 0;
}
"#;

#[test]
fn a_schedule_says_whom_a_signal_wakes_and_fits_the_screen() {
    let place = Place::new();
    place.write("gate.c", GATE);
    let done = place.raddle(["check", "gate.c"]);
    assert_eq!(done.code(), Some(1), "{}", done.all());
    let signal = done.stdout.lines().find(|line| line.contains("signal a_condition"));
    assert!(signal.is_some_and(|line| line.contains(", wakes T") && line.ends_with("gate.c:21")), "{}", done.all());
    let finding: Vec<&str> = done.stdout.lines().take_while(|line| !line.starts_with("bug ")).collect();
    assert!(finding.len() <= 40, "{} lines: {}", finding.len(), done.all());
    assert!(finding.iter().all(|line| line.chars().count() <= 110), "{}", done.all());
}

/// Whichever thread came last, and whatever it did.
#[test]
fn a_thread_that_waits_has_its_whole_stack() {
    const WAIT: &str = "#include <pthread.h>\n\
        static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n\
        static int go;\n\
        static void *set(void *cond) { pthread_mutex_lock(&m); go = 1; pthread_mutex_unlock(&m); return cond; }\n\
        static void inner(pthread_cond_t *c) {\n\
            pthread_mutex_lock(&m); while (!go) pthread_cond_wait(c, &m); pthread_mutex_unlock(&m); }\n\
        static void outer(pthread_cond_t *c) { inner(c); }\n\
        int main(void) {\n\
            pthread_cond_t ready; pthread_cond_init(&ready, 0); pthread_t t; pthread_create(&t, 0, set, &ready);\n\
            outer(&ready); pthread_join(t, 0); }\n";
    let place = Place::new();
    place.write("wait.c", WAIT);
    let done = place.raddle(["check", "wait.c"]);
    let said = &done.stdout;
    assert!(said.contains("T0 waits for ready"), "{}", done.all());
    let frames: Vec<&str> = ["inner  wait.c:6", "outer  wait.c:7", "main  wait.c:10"].to_vec();
    assert!(frames.iter().all(|frame| said.contains(frame)), "{}", done.all());
}

#[test]
fn after_an_edit_the_code_that_ran_is_shown() {
    let (place, _) = checked(&["--quiet"]);
    let before = place.raddle(["report"]);
    assert!(!before.stdout.contains("not as it was"), "{}", before.all());
    let edited = format!("// A new first line.\n{}", super::BANK);
    place.write("bank.c", edited);
    let after = place.raddle(["report"]);
    assert!(after.stdout.contains("15 |     if (from->balance < amount)"), "{}", after.all());
    assert!(after.stdout.contains("changed  bank.c is not as it was when the program ran"), "{}", after.all());
    let shown = place.raddle(["show", "r1", "--step", "5"]);
    assert!(shown.stdout.contains("17 >     pthread_mutex_lock(&from->lock);"), "{}", shown.all());
    assert!(shown.stdout.contains("bank.c is not as it was"), "{}", shown.all());
    let page = place.raddle(["report", "--format", "html"]);
    assert!(page.stdout.contains("\"changed\":true"), "{}", page.all());
    let replayed = place.raddle(["replay", "r1"]);
    assert!(replayed.stdout.contains("bank.c was changed after"), "{}", replayed.all());
}

#[test]
fn a_program_is_built_again_for_its_replay() {
    let (place, _) = checked(&["--quiet"]);
    let fixed = super::BANK.replacen("    if (from->balance", "    if (0 && from->balance", 1);
    assert_ne!(fixed, super::BANK);
    place.write("bank.c", format!("// A new first line.\n{}", super::BANK));
    let same = place.raddle(["replay", "r1", "--rebuild"]);
    assert_eq!(same.code(), Some(1), "{}", same.all());
    assert!(same.stdout.contains("was built again since the recording"), "{}", same.all());
    assert!(!same.stdout.contains("was changed after"), "{}", same.all());
    place.write("bank.c", fixed);
    let gone = place.raddle(["replay", "r1", "--rebuild"]);
    assert!(matches!(gone.code(), Some(0 | 3)), "{}", gone.all());
    place.write("bank.c", "no program");
    let broken = place.raddle(["replay", "r1", "--rebuild"]);
    assert_eq!(broken.code(), Some(2), "{}", broken.all());
    std::fs::remove_file(place.path(".raddle/bank/bank.build.json")).unwrap();
    let unknown = place.raddle(["replay", "r1", "--rebuild"]);
    assert_eq!(unknown.code(), Some(2), "{}", unknown.all());
    assert!(unknown.stderr.contains("build it again as you did"), "{}", unknown.all());
}
