//! Programs that were not built with raddle, and run under an emulator that records their memory accesses.

use std::path::{Path, PathBuf};
use std::process::Command;

use raddle_testkit::tools::require;

use crate::tools::Place;

/// Every test with its name.
pub const TESTS: &[(&str, fn())] = &[
    ("a_race_is_found_and_replayed_and_a_lock_ends_it", a_race_is_found_and_replayed_and_a_lock_ends_it),
    ("every_kind_of_access_is_seen", every_kind_of_access_is_seen),
    ("what_machine_code_orders_is_not_judged", what_machine_code_orders_is_not_judged),
    ("guarded_initialisers_are_not_judged", guarded_initialisers_are_not_judged),
    ("accesses_of_libraries_are_not_the_programs", accesses_of_libraries_are_not_the_programs),
    ("a_call_instead_of_a_return_is_the_programs", a_call_instead_of_a_return_is_the_programs),
    ("a_suppressed_race_keeps_the_verdict_open", a_suppressed_race_keeps_the_verdict_open),
    ("a_race_on_a_stack_is_found", a_race_on_a_stack_is_found),
    ("cases_agree_with_programs_that_have_hooks", cases_agree_with_programs_that_have_hooks),
    ("what_cannot_be_observed_gets_a_sentence", what_cannot_be_observed_gets_a_sentence),
];

/// Verdict, code of the reason, and kinds and variables of the errors.
type Answer = (String, String, Vec<(String, String)>);

/// A thread does `OTHER` while main does `MAIN`.
const TWO_THREADS: &str = "#include <pthread.h>\n#include <stdatomic.h>\n#include <string.h>\n\
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n\
    DATA\n\
    static void *other(void *arg) { OTHER; return arg; }\n\
    int main(void) {\n\
        pthread_t thread;\n\
        pthread_create(&thread, 0, other, 0);\n\
        MAIN;\n\
        return pthread_join(thread, 0);\n\
    }\n";

fn program(data: &str, other: &str, main: &str) -> String {
    TWO_THREADS.replace("DATA", data).replace("OTHER", other).replace("MAIN", main)
}

/// Compiles a program with a plain compiler.
fn plain(place: &Place, name: &str, text: &str, flags: &[&str]) {
    std::fs::write(place.path(name), text).unwrap();
    compiled(place, &place.path(name), flags);
}

fn compiled(place: &Place, source: &Path, flags: &[&str]) {
    let compiler = if source.extension().is_some_and(|extension| extension == "cpp") { "g++" } else { "gcc" };
    let mut command = Command::new(compiler);
    command.args(["-g", "-w", "-pthread"]).args(flags).arg(source).args(["-o", "plain"]).current_dir(place.path("."));
    assert!(command.status().unwrap().success());
}

fn answer(place: &Place, program: &str, options: &[&str]) -> Answer {
    require("qemu-x86_64");
    let words = ["check", "--json", "report.json", program];
    let done = place.raddle(&words.iter().chain(options).copied().collect::<Vec<_>>());
    let text = std::fs::read_to_string(place.path("report.json")).unwrap_or_else(|_| panic!("{}", done.all()));
    let report: serde_json::Value = serde_json::from_str(&text).unwrap();
    let of = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let errors = report["findings"].as_array().unwrap().iter().filter(|finding| finding["severity"] == "error");
    let mut kinds: Vec<_> = errors.map(|finding| (of(&finding["kind"]), of(&finding["variable"]))).collect();
    kinds.sort();
    kinds.dedup();
    (of(&report["verdict"]), of(&report["reason"]["code"]), kinds)
}

fn observed(place: &Place) -> Answer {
    answer(place, "plain", &["--observe", "all"])
}

fn race_on(variables: &[&str]) -> Answer {
    let found = variables.iter().map(|&name| ("data-race".into(), name.into())).collect();
    ("bug".into(), String::new(), found)
}

fn verified() -> Answer {
    ("verified".into(), String::new(), Vec::new())
}

fn not_judged() -> Answer {
    ("incomplete".into(), "not-modelled".into(), Vec::new())
}

fn a_race_is_found_and_replayed_and_a_lock_ends_it() {
    let place = Place::new();
    let locked = "pthread_mutex_lock(&m); x++; pthread_mutex_unlock(&m)";
    for level in ["-O0", "-O2"] {
        plain(&place, "a.c", &program("int x;", locked, locked), &[level]);
        assert_eq!(observed(&place), verified(), "{level}");
        plain(&place, "a.c", &program("int x;", locked, "x++"), &[level]);
        assert_eq!(observed(&place), race_on(&["x"]), "{level}");
    }
    let replayed = place.raddle(&["replay", "r1"]);
    assert_eq!(replayed.status(), Some(1), "{}", replayed.all());
    assert!(replayed.stdout().contains("reproduced: r1"), "{}", replayed.all());
    let run = place.raddle(&["run", "--observe", "all", "plain"]);
    assert!(run.all().contains("data-race"), "{}", run.all());
}

/// One variable for each kind of instruction, which the other thread executes on it.
const KINDS: [(&str, &str); 16] = [
    ("v_move", "movl $1, v_move(%%rip)"),
    ("v_byte", "movb $1, v_byte(%%rip)"),
    ("v_add", "addl $1, v_add(%%rip)"),
    ("v_x87", "fld1; fstpt v_x87(%%rip)"),
    ("v_x87_integer", "fld1; fistpll v_x87_integer(%%rip)"),
    ("v_vector", "movaps %%xmm0, v_vector(%%rip)"),
    ("v_scalar", "movsd %%xmm0, v_scalar(%%rip)"),
    ("v_wide", "vmovups %%ymm0, v_wide(%%rip); vzeroupper"),
    ("v_not_temporal", "movnti %%rax, v_not_temporal(%%rip)"),
    ("v_masked", "lea v_masked(%%rip), %%rdi; pcmpeqd %%xmm1, %%xmm1; maskmovdqu %%xmm1, %%xmm0"),
    ("v_string", "lea v_string(%%rip), %%rdi; mov $4, %%ecx; rep stosq"),
    ("v_pop", "pushq $1; popq v_pop(%%rip)"),
    ("v_set", "sete v_set(%%rip)"),
    ("v_pair", "cmpxchg8b v_pair(%%rip)"),
    ("v_quad", "cmpxchg16b v_quad(%%rip)"),
    ("v_state", "fxsave v_state(%%rip)"),
];

fn every_kind_of_access_is_seen() {
    let place = Place::new();
    let of = |form: fn(&str, &str) -> String| -> String { KINDS.iter().map(|(name, text)| form(name, text)).collect() };
    let data = of(|name, _| format!("struct {{ long word[64]; }} {name} __attribute__((aligned(64)));"));
    let clobbers = "\"rdi\", \"rcx\", \"memory\", \"cc\", \"xmm1\"";
    let other = KINDS.iter().map(|(_, text)| format!("asm volatile(\"{text}\" ::: {clobbers});")).collect::<String>();
    let main = of(|name, _| format!("*(volatile char *)&{name} = 1;"));
    plain(&place, "a.c", &program(&data, &other, &main), &["-mno-red-zone", "-mavx"]);
    let mut names = KINDS.map(|(name, _)| format!("{name}.word[0]"));
    names.sort_unstable();
    assert_eq!(observed(&place), race_on(&names.each_ref().map(String::as_str)));
}

fn what_machine_code_orders_is_not_judged() {
    let place = Place::new();
    let add = "atomic_fetch_add(&x, 1)";
    plain(&place, "a.c", &program("atomic_int x;", add, add), &["-O2", "-g0"]);
    assert_eq!(observed(&place), not_judged());
    // Both are plain instructions: only the type tells.
    let store = "d = 1; atomic_store_explicit(&x, 1, memory_order_release)";
    let load = "if (atomic_load_explicit(&x, memory_order_acquire)) d = 2";
    plain(&place, "a.c", &program("int d; atomic_int x;", store, load), &["-O2"]);
    assert_eq!(observed(&place), not_judged());
    plain(&place, "a.c", &program("int x;", "x = 1; asm volatile(\"mfence\")", "x = 2"), &["-O2", "-g0"]);
    assert_eq!(observed(&place), not_judged());
}

fn guarded_initialisers_are_not_judged() {
    let place = Place::new();
    let text = "#include <pthread.h>\n\
        static int make() { return 7; }\n\
        static int get() { static int value = make(); return value; }\n\
        static void *other(void *) { get(); return 0; }\n\
        int main() {\n\
            pthread_t thread;\n\
            pthread_create(&thread, 0, other, 0);\n\
            get();\n\
            return pthread_join(thread, 0);\n\
        }\n";
    plain(&place, "a.cpp", text, &["-O0"]);
    assert_eq!(observed(&place), not_judged());
}

/// The C library has locks of its own in its heap and its streams.
fn accesses_of_libraries_are_not_the_programs() {
    let place = Place::new();
    let work = "char *p = malloc(100); snprintf(p, 100, \"%d\", 5); fputs(p, stdout); free(p)";
    let text = format!("#include <stdio.h>\n#include <stdlib.h>\n{}", program("", work, work));
    plain(&place, "a.c", &text, &["-O0"]);
    assert_eq!(observed(&place), verified());
}

/// With optimisation the last call of a function is a jump: it returns into a library.
fn a_call_instead_of_a_return_is_the_programs() {
    let place = Place::new();
    let data = "char buffer[4096]; volatile int size = 4000;";
    plain(&place, "a.c", &program(data, "return memset(buffer, 1, size)", "buffer[5] = 2"), &["-O2"]);
    assert_eq!(observed(&place), race_on(&["buffer[5]"]));
    let text = format!("#include <unistd.h>\n{}", program(data, "return getcwd(buffer, size)", "buffer[0] = 2"));
    plain(&place, "a.c", &text, &["-O2"]);
    assert_eq!(observed(&place), race_on(&["buffer[0]"]));
    let text = "#include <cstring>\n#include <thread>\n\
        char buffer[4096]; volatile int size = 4000;\n\
        int main() {\n\
            std::thread thread([] { memset(buffer, 1, size); });\n\
            buffer[5] = 2;\n\
            thread.join();\n\
        }\n";
    plain(&place, "a.cpp", text, &["-O2"]);
    assert_eq!(observed(&place), race_on(&["buffer[5]"]));
}

fn a_suppressed_race_keeps_the_verdict_open() {
    let place = Place::new();
    plain(&place, "a.c", &program("int x;", "x++", "x++"), &[]);
    std::fs::write(place.path("known"), "race:x\n").unwrap();
    assert_eq!(answer(&place, "plain", &["--observe", "all", "--suppressions", "known"]), not_judged());
}

/// Cases without atomic operations of their own.
const CASES: [&str; 10] = [
    "mutex/branch_on_protected_value.c",
    "mutex/in_heap_objects.c",
    "mutex/check_then_act.c",
    "race/different_locks.c",
    "race/no_lock.c",
    "cond/never_signalled.c",
    "deadlock/opposite_orders.c",
    "heap/race_on_heap_object.c",
    "rwlock/readers_and_writer.c",
    "sem/handoff.c",
];

fn cases_agree_with_programs_that_have_hooks() {
    let more = std::env::var("RADDLE_TEST_MORE").is_ok();
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/cases"));
    for (number, case) in CASES.iter().enumerate() {
        let levels: &[&str] = match number % 2 {
            _ if more => &["-O0", "-O2"],
            0 => &["-O0"],
            _ => &["-O2"],
        };
        for level in levels {
            let place = Place::new();
            let source = folder.join(case);
            compiled(&place, &source, &[level]);
            let hooked = ["cc", "-g", "-w", "-pthread", level, source.to_str().unwrap(), "-o", "hooked"];
            let built = place.raddle(&hooked);
            assert!(built.status() == Some(0), "{}", built.all());
            assert_eq!(observed(&place), answer(&place, "hooked", &[]), "{case} {level}");
        }
    }
}

/// The frames of the threads are not known when the race is told, so that the variable has no name.
fn a_race_on_a_stack_is_found() {
    let place = Place::new();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/cases/race/stack_variable.c");
    for level in ["-O0", "-O2"] {
        compiled(&place, Path::new(source), &[level]);
        assert_eq!(observed(&place), race_on(&[""]), "{level}");
    }
}

fn what_cannot_be_observed_gets_a_sentence() {
    let place = Place::new();
    plain(&place, "a.c", &program("", "", ""), &[]);
    let refused = |words: &[&str], sentence: &str| {
        let done = place.raddle(words);
        assert_eq!(done.status(), Some(2), "{}", done.all());
        assert!(done.stderr().contains(sentence), "{}", done.all());
    };
    refused(&["predict", "--observe", "all", "plain"], "leave --observe all out");
    refused(&["check", "--observe", "all", "--granularity", "access", "plain"], "--granularity access");
    require("aarch64-linux-gnu-gcc");
    let words = ["-pthread", "a.c", "-o", "foreign"];
    let built = Command::new("aarch64-linux-gnu-gcc").args(words).current_dir(place.path(".")).status();
    assert!(built.unwrap().success());
    refused(&["check", "--observe", "all", "foreign"], "is a program for aarch64");
    let done = place.command().env("PATH", "/nowhere").args(["check", "--observe", "all", "plain"]).output().unwrap();
    let text = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!(done.status.code(), Some(2), "{text}");
    assert!(text.contains("install the package `qemu-user`"), "{text}");
}
