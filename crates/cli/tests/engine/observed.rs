//! Programs that were not built with raddle, and run under an emulator that records their memory
//! accesses.

use std::path::{Path, PathBuf};
use std::process::Command;

use raddle_testkit::tools::require;

use crate::tools::Place;

/// Every test with its name.
pub const TESTS: &[(&str, fn())] = &[
    ("a_race_is_found_and_replayed_and_a_lock_ends_it", a_race_is_found_and_replayed_and_a_lock_ends_it),
    ("every_kind_of_access_is_seen", every_kind_of_access_is_seen),
    ("atomic_operations_are_scheduling_points", atomic_operations_are_scheduling_points),
    ("every_atomic_instruction_is_made", every_atomic_instruction_is_made),
    ("plain_instructions_are_atomic_where_that_is_known", plain_instructions_are_atomic_where_that_is_known),
    ("orders_that_the_source_may_lack_are_named", orders_that_the_source_may_lack_are_named),
    ("threads_that_wait_busily_are_recognised", threads_that_wait_busily_are_recognised),
    ("atomic_operations_that_are_not_seen_are_not_judged", atomic_operations_that_are_not_seen_are_not_judged),
    ("guarded_initialisers_are_verified", guarded_initialisers_are_verified),
    ("more_jobs_and_forks_learn_the_same", more_jobs_and_forks_learn_the_same),
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

/// As if the source asked for the orders that the processor makes.
fn by_machine_orders(place: &Place) -> Answer {
    answer(place, "plain", &["--observe", "all", "--machine-orders"])
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

/// A failed assertion.
fn assertion() -> Answer {
    ("bug".into(), String::new(), vec![("assertion".into(), String::new())])
}

/// Two threads add 1, and main expects both.
fn two_additions(add: &str) -> String {
    let text = program("atomic_int x;", add, add)
        .replace("return pthread_join(thread, 0);", "pthread_join(thread, 0); assert(x == 2);");
    format!("#include <assert.h>\n{text}")
}

/// Instructions are known by their bytes alone, and where variables lie by those that access them.
fn atomic_operations_are_scheduling_points() {
    let place = Place::new();
    for flags in [["-O0", "-g"], ["-O2", "-g"], ["-O2", "-g0"]] {
        plain(&place, "a.c", &two_additions("atomic_fetch_add(&x, 1)"), &flags);
        assert_eq!(observed(&place), verified(), "{flags:?}");
        plain(&place, "a.c", &two_additions("atomic_store(&x, atomic_load(&x) + 1)"), &flags);
        assert_eq!(by_machine_orders(&place), assertion(), "{flags:?}");
        let replayed = place.raddle(&["replay", "a1"]);
        assert!(replayed.stdout().contains("reproduced: a1"), "{}", replayed.all());
    }
    // A loop of compare-exchanges, and one with too few of them.
    let update = "int seen = atomic_load(&x); while (!atomic_compare_exchange_weak(&x, &seen, seen + 1)) {}";
    plain(&place, "a.c", &two_additions(update), &["-O2"]);
    assert_eq!(observed(&place), verified());
    let once = "int seen = atomic_load(&x); atomic_compare_exchange_strong(&x, &seen, seen + 1)";
    plain(&place, "a.c", &two_additions(once), &["-O2"]);
    assert_eq!(by_machine_orders(&place), assertion());
}

/// Instructions with results that main expects, flags included; the program is run by the processor
/// first.
const INSTRUCTIONS: &str = r#"
#include <assert.h>
#include <pthread.h>
#include <string.h>
typedef unsigned long word;
static word cells[4] = {5, 6, 7, 8};
static unsigned char bytes[8];
static _Thread_local word own = 40;
static struct { word low, high; } pair __attribute__((aligned(16))) = {1, 2};

static void *work(void *arg) {
    word old = 3, index = 2, *base = cells;
    unsigned char carry, zero, small = 200;
    /* By a base and an index. */
    asm volatile("lock xaddq %0, -8(%1,%2,8)" : "+r"(old) : "r"(base), "r"(index) : "memory", "cc");
    assert(old == 6 && cells[1] == 9);
    /* Parts of a word, and the flags. */
    bytes[3] = 100;
    asm volatile("lock xaddb %0, 3(%2); setc %1" : "+q"(small), "=q"(carry) : "r"(bytes) : "memory", "cc");
    assert(small == 100 && bytes[3] == 44 && carry == 1 && bytes[2] == 0 && bytes[4] == 0);
    asm volatile("movb $7, %%ah; xchgb %%ah, 5(%1); movzbl %%ah, %%ecx" : "=c"(old) : "S"(bytes) : "rax", "memory");
    assert(old == 0 && bytes[5] == 7);
    /* A compare-exchange that finds what it expects, and one that does not. */
    word expected = 5;
    asm volatile("lock cmpxchgq %3, %0; sete %2" : "+m"(cells[0]), "+a"(expected), "=q"(zero) : "r"(50ul) : "cc");
    assert(expected == 5 && cells[0] == 50 && zero == 1);
    asm volatile("lock cmpxchgq %3, %0; sete %2" : "+m"(cells[0]), "+a"(expected), "=q"(zero) : "r"(51ul) : "cc");
    assert(expected == 50 && cells[0] == 50 && zero == 0);
    word low = 1, high = 2;
    asm volatile("lock cmpxchg16b %0; sete %3"
                 : "+m"(pair), "+a"(low), "+d"(high), "=q"(zero) : "b"(10ul), "c"(20ul) : "cc");
    assert(zero == 1 && pair.low == 10 && pair.high == 20);
    asm volatile("lock cmpxchg16b %0; sete %3"
                 : "+m"(pair), "+a"(low), "+d"(high), "=q"(zero) : "b"(0ul), "c"(0ul) : "cc");
    assert(zero == 0 && low == 10 && high == 20);
    asm volatile("lock cmpxchg8b %0; sete %3"
                 : "+m"(cells[3]), "+a"(low), "+d"(high), "=q"(zero) : "b"(1), "c"(1) : "cc");
    assert(zero == 0 && low == 8 && high == 0 && cells[3] == 8);
    /* Without a result but the flags. */
    asm volatile("lock subl $50, %0; sete %1" : "+m"(*(unsigned *)cells), "=q"(zero) : : "cc");
    assert(zero == 1 && cells[0] == 0);
    asm volatile("lock btsq $33, %0; setc %1" : "+m"(cells[0]), "=q"(carry) : : "cc");
    assert(carry == 0 && cells[0] == 1ul << 33);
    asm volatile("lock notw %0; lock incq %0; lock negq %0; lock decq %0; lock orb $1, %0" : "+m"(cells[2]) : : "cc");
    assert(cells[2] == (-(0xfff8ul + 1) - 1 | 1));
    asm volatile("lock andw $0x0ff0, %0; lock xorl $3, %0" : "+m"(cells[2]) : : "cc");
    assert((cells[2] & 15) == 3);
    /* Thread-local, and on the stack. */
    asm volatile("lock addq $2, %0" : "+m"(own) : : "cc");
    word local = 1;
    asm volatile("lock addq %1, %0" : "+m"(local) : "r"(own) : "cc");
    assert(own == 42 && local == 43);
    /* Constants behind the operand, and no other register changes. */
    word kept[4];
    asm volatile("mov $11, %%r12; mov $12, %%r13; mov $13, %%r8; mov $14, %%rbp; lock addl $0x12345678, %1;"
                 "mov %%r12, (%0); mov %%r13, 8(%0); mov %%r8, 16(%0); mov %%rbp, 24(%0)"
                 : : "r"(kept), "m"(cells[1]) : "r12", "r13", "r8", "rbp", "memory", "cc");
    assert(kept[0] == 11 && kept[1] == 12 && kept[2] == 13 && kept[3] == 14 && cells[1] == 9 + 0x12345678);
    asm volatile("mfence; lfence; sfence; lock orl $0, (%%rsp)" ::: "memory", "cc");
    return arg;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, work, 0);
    return pthread_join(thread, 0);
}
"#;

fn every_atomic_instruction_is_made() {
    let place = Place::new();
    plain(&place, "a.c", INSTRUCTIONS, &["-O1", "-mno-red-zone", "-fomit-frame-pointer"]);
    assert!(Command::new(place.path("plain")).status().unwrap().success());
    assert_eq!(by_machine_orders(&place), verified());
}

/// Both are plain instructions: the type tells, the header of the library, or that other
/// instructions access the same bytes atomically.
fn plain_instructions_are_atomic_where_that_is_known() {
    let place = Place::new();
    let store = "d = 1; atomic_store_explicit(&x, 1, memory_order_release)";
    let load = "if (atomic_load_explicit(&x, memory_order_acquire)) d = 2";
    for level in ["-O0", "-O2"] {
        plain(&place, "a.c", &program("int d; atomic_int x;", store, load), &[level]);
        assert_eq!(by_machine_orders(&place), verified(), "{level}");
        let broken = program("int d; atomic_int x;", store, "if (atomic_load(&x) == 0) d = 2");
        plain(&place, "a.c", &broken, &[level]);
        assert_eq!(observed(&place), race_on(&["d"]), "{level}");
        let text = "#include <atomic>\n#include <memory>\n#include <thread>\n\
            struct Box { int d = 0; std::atomic<bool> x{false}; };\n\
            int main() {\n\
                auto box = std::make_unique<Box>();\n\
                std::thread thread([&] { box->d = 1; box->x.store(true, std::memory_order_release); });\n\
                if (box->x.load(std::memory_order_acquire)) box->d = 2;\n\
                thread.join();\n\
            }\n";
        plain(&place, "a.cpp", text, &[level]);
        assert_eq!(by_machine_orders(&place), verified(), "{level}");
    }
    // Without debug information the exchange tells.
    plain(&place, "a.c", &program("int d; atomic_int x;", "d = 1; atomic_store(&x, 1)", load), &["-O2", "-g0"]);
    assert_eq!(by_machine_orders(&place), verified());
    plain(&place, "a.c", &program("int d; atomic_int x;", store, load), &["-O2", "-g0"]);
    assert_eq!(observed(&place).0, "bug");
}

/// The memory orders of the source are not in the machine code.
fn orders_that_the_source_may_lack_are_named() {
    let place = Place::new();
    let store = "d = 1; atomic_store_explicit(&x, 1, memory_order_relaxed)";
    let load = "if (atomic_load_explicit(&x, memory_order_relaxed)) d = 2";
    plain(&place, "a.c", &program("int d; atomic_int x;", store, load), &["-O2"]);
    for jobs in ["1", "2"] {
        let options = ["--observe", "all", "--jobs", jobs, "--strategy", "optimal"];
        let (verdict, reason, _) = answer(&place, "plain", &options);
        assert_eq!((verdict.as_str(), reason.as_str()), ("incomplete", "memory-orders"));
        assert_eq!(answer(&place, "plain", &[&options[..], &["--machine-orders"]].concat()), verified());
        let report = std::fs::read_to_string(place.path("report.json")).unwrap();
        assert!(report.contains("where it asks for less, there may be data races"), "{report}");
    }
    // Where no order matters, nothing is said.
    plain(&place, "a.c", &two_additions("atomic_fetch_add(&x, 1)"), &["-O2"]);
    assert_eq!(observed(&place), verified());
    let report = std::fs::read_to_string(place.path("report.json")).unwrap();
    assert!(!report.contains("asks for less"), "{report}");
    // Bytes that are atomic for one thread only.
    plain(&place, "a.c", &program("int x;", "__atomic_fetch_add(&x, 1, 5)", "x = 3"), &["-O2"]);
    assert_eq!(observed(&place).1, "memory-orders");
    let report = std::fs::read_to_string(place.path("report.json")).unwrap();
    assert!(report.contains("asks for less"), "{report}");
}

fn threads_that_wait_busily_are_recognised() {
    let place = Place::new();
    let data = "int d; atomic_int x;";
    for level in ["-O0", "-O2"] {
        let set = "d = 1; atomic_store(&x, 1)";
        plain(&place, "a.c", &program(data, set, "while (!atomic_load(&x)) {} d = 2"), &[level]);
        assert_eq!(by_machine_orders(&place), verified(), "{level}");
        // A lock of its own.
        let lock = "while (atomic_exchange(&x, 1)) {} d++; atomic_store(&x, 0)";
        plain(&place, "a.c", &program(data, lock, lock), &[level]);
        assert_eq!(by_machine_orders(&place), verified(), "{level}");
        plain(&place, "a.c", &program(data, "d = 1", "while (!atomic_load(&x)) {}"), &[level]);
        let (verdict, _, kinds) = observed(&place);
        assert_eq!((verdict.as_str(), kinds[0].0.as_str()), ("bug", "livelock"), "{level}");
        // A counter in a register of the loop is no reason to wait for ever.
        let bounded = "for (int n = 0; n < 3 && !atomic_load(&x); n++) {}";
        plain(&place, "a.c", &program(data, "atomic_store(&x, 1)", bounded), &[level]);
        assert_eq!(by_machine_orders(&place), verified(), "{level}");
    }
}

fn atomic_operations_that_are_not_seen_are_not_judged() {
    let place = Place::new();
    // On a stack, where debug information does not tell the address.
    let text = program("", "atomic_store_explicit((atomic_int *)arg, 1, 3)", "atomic_load_explicit(&x, 2)")
        .replace("pthread_t thread;", "pthread_t thread; atomic_int x = 0;")
        .replace("other, 0)", "other, &x)");
    plain(&place, "a.c", &text, &["-O2"]);
    assert_eq!(observed(&place), not_judged());
    // An offset in a register reaches beyond the operand.
    let set = "asm volatile(\"lock btsl %1, %0\" : \"+m\"(x) : \"r\"(3) : \"memory\")";
    plain(&place, "a.c", &program("int x;", set, set), &["-O2", "-g0"]);
    assert_eq!(observed(&place), not_judged());
    // A vector register.
    let load = "asm volatile(\"movd %0, %%xmm1\" : : \"m\"(x) : \"xmm1\")";
    plain(&place, "a.c", &program("atomic_int x;", "atomic_fetch_add(&x, 1)", load), &["-O2"]);
    assert_eq!(observed(&place), not_judged());
}

/// What is known of instructions and bytes does not depend on the process that has learnt it.
fn more_jobs_and_forks_learn_the_same() {
    let place = Place::new();
    plain(&place, "a.c", &two_additions("atomic_store(&x, atomic_load(&x) + 1)"), &["-O2", "-g0"]);
    for more in [["--jobs", "2"], ["--mode", "fork"], ["--strategy", "dfs"]] {
        assert_eq!(
            answer(&place, "plain", &[&["--observe", "all", "--machine-orders"], &more[..]].concat()),
            assertion(),
            "{more:?}"
        );
    }
    plain(&place, "a.c", &two_additions("atomic_fetch_add(&x, 1)"), &["-O2", "-g0"]);
    for more in [["--jobs", "2"], ["--mode", "fork"], ["--strategy", "dfs"]] {
        assert_eq!(
            answer(&place, "plain", &[&["--observe", "all", "--machine-orders"], &more[..]].concat()),
            verified(),
            "{more:?}"
        );
    }
}

fn guarded_initialisers_are_verified() {
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
    for level in ["-O0", "-O2"] {
        plain(&place, "a.cpp", text, &[level]);
        assert_eq!(observed(&place), verified(), "{level}");
    }
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

/// Cases of all kinds.
const CASES: [&str; 20] = [
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
    "atomics/lost_update.c",
    "atomics/peterson.c",
    "atomics/peterson_flag_too_late.c",
    "atomics/treiber_stack.c",
    "atomics/sizes.c",
    "atomics/compare_exchange_loop.c",
    "fences/release_acquire.c",
    "livelock/nobody_sets_it.c",
    "livelock/test_and_set_lock.c",
    "spin/opposite_orders.c",
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
            assert_eq!(by_machine_orders(&place), answer(&place, "hooked", &[]), "{case} {level}");
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
