//! A run that a limit cuts names it, in the reason or among the limits.

use crate::tools::Place;

/// Every test with its name.
pub const TESTS: &[(&str, fn())] = &[
    ("too_many_threads_are_named", || named("threads", THREADS, &[], "broken-off", "more than 256 threads")),
    ("too_many_named_semaphores_are_named", || {
        named("semaphores", SEMAPHORES, &[], "broken-off", "more named semaphores")
    }),
    ("the_bound_on_events_is_named", || {
        named("events", ENDLESS, &["--max-events", "500"], "max-events", "--max-events")
    }),
    ("the_bound_on_time_is_named", || named("time", MANY, &["--time-limit", "1"], "time-limit", "--time-limit")),
    ("the_bound_on_executions_is_named", || {
        named("executions", MANY, &["--max-executions", "2"], "max-executions", "--max-executions")
    }),
    ("the_bound_after_exit_is_named", || {
        named("exit", AFTER_EXIT, &["--exit-events", "50"], "not-modelled", "--exit-events")
    }),
    ("the_watchdog_is_named", the_watchdog_is_named),
    ("the_bound_on_memory_is_named", the_bound_on_memory_is_named),
    ("a_run_happens_once", a_run_happens_once),
];

const THREADS: &str = "#include <pthread.h>\n\
    static void *worker(void *arg) { return arg; }\n\
    int main(void) {\n\
        pthread_t threads[300];\n\
        for (int i = 0; i < 300; i++) pthread_create(&threads[i], 0, worker, 0);\n\
        for (int i = 0; i < 300; i++) pthread_join(threads[i], 0);\n\
        return 0;\n\
    }\n";
const SEMAPHORES: &str = "#include <fcntl.h>\n#include <semaphore.h>\n#include <stdio.h>\n\
    int main(void) {\n\
        char name[32];\n\
        for (int i = 0; i < 2000; i++) {\n\
            snprintf(name, sizeof name, \"/raddle-test-%d\", i);\n\
            if (sem_open(name, O_CREAT, 0600, 1) == SEM_FAILED) return 0;\n\
        }\n\
        return 0;\n\
    }\n";
const ENDLESS: &str = "#include <stdatomic.h>\n\
    static atomic_int x;\n\
    int main(void) { for (;;) x++; }\n";
/// Far more orders than can be tried in a second.
const MANY: &str = "#include <pthread.h>\n#include <stdatomic.h>\n\
    static atomic_int x;\n\
    static void *worker(void *arg) { for (int i = 0; i < 20; i++) x++; return arg; }\n\
    int main(void) {\n\
        pthread_t threads[4];\n\
        for (int i = 0; i < 4; i++) pthread_create(&threads[i], 0, worker, 0);\n\
        for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);\n\
        return 0;\n\
    }\n";
const AFTER_EXIT: &str = "#include <pthread.h>\n#include <stdatomic.h>\n#include <stdlib.h>\n\
    static atomic_int x;\n\
    static void *worker(void *arg) { for (int i = 0; i < 1000; i++) x++; return arg; }\n\
    int main(void) {\n\
        pthread_t thread;\n\
        pthread_create(&thread, 0, worker, 0);\n\
        pthread_detach(thread);\n\
        exit(0);\n\
    }\n";
/// Checks a program, whose report has to have this code and these words.
fn named(name: &str, source: &str, options: &[&str], code: &str, words: &str) {
    let place = Place::new();
    let path = place.path(&format!("{name}.c"));
    std::fs::write(&path, source).unwrap();
    let mut all = vec!["check", "--json", "-", "--quiet"];
    all.extend(options);
    all.push(path.to_str().unwrap());
    let done = place.raddle(&all);
    let report: serde_json::Value = serde_json::from_str(&done.stdout()).unwrap_or_else(|_| panic!("{}", done.all()));
    assert_ne!(report["verdict"], "verified", "{}", done.all());
    assert_eq!(report["reason"]["code"], code, "{}", done.all());
    let text = format!("{} {}", report["reason"]["text"], report["limits"]);
    assert!(text.contains(words), "{words:?} is not in {text}");
}

fn the_bound_on_memory_is_named() {
    let place = Place::new();
    let program = place.build(&crate::tools::program("memory"), &[]);
    let done = place.raddle(&["run", "--memory-limit", "200000000", program.to_str().unwrap()]);
    let words = "not modelled: a run was ended because it used more than 190 MB of memory";
    assert!(done.stderr().contains(words), "{}", done.all());
}

fn the_watchdog_is_named() {
    let place = Place::new();
    let program = place.build(&crate::tools::program("spin"), &[]);
    let done = place.raddle(&["run", "--hang-timeout", "1", program.to_str().unwrap()]);
    let words = "not modelled: a run was ended because it made no step for 1 seconds";
    assert!(done.stderr().contains(words), "{}", done.all());
}

/// What the program does to the world happens once, although it waits busily.
fn a_run_happens_once() {
    let place = Place::new();
    let source = place.path("waits.c");
    let text = "#include <pthread.h>\n#include <stdatomic.h>\n#include <unistd.h>\n\
        static atomic_int pending = 1;\n\
        static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n\
        static void *worker(void *arg) {\n\
            for (;;) {\n\
                for (int i = 0; i < 100; i++) if (atomic_load(&pending) == 2) break;\n\
                if (atomic_load(&pending) == 2) break;\n\
                pthread_mutex_lock(&m);\n\
                pthread_mutex_unlock(&m);\n\
            }\n\
            atomic_store(&pending, 0);\n\
            return arg;\n\
        }\n\
        int main(void) {\n\
            pthread_t thread;\n\
            (void)!write(1, \"begin\\n\", 6);\n\
            pthread_create(&thread, 0, worker, 0);\n\
            atomic_store(&pending, 2);\n\
            while (atomic_load(&pending)) ;\n\
            pthread_join(thread, 0);\n\
            (void)!write(1, \"end\\n\", 4);\n\
            return 7;\n\
        }\n";
    std::fs::write(&source, text).unwrap();
    let program = place.build(&source, &[]);
    let program = program.to_str().unwrap();
    for options in [&[][..], &["--seed", "1"], &["--seed", "2"], &["--mode", "snapshot"], &["--granularity", "access"]]
    {
        let trace = place.text("trace");
        let done = place.raddle(&[&["run", "--trace", &trace], options, &[program]].concat());
        assert_eq!((done.status(), done.stdout().as_str()), (Some(7), "begin\nend\n"), "{options:?}: {}", done.all());
        assert!(done.stderr().contains("exit status 7"), "{}", done.all());
        let again = place.raddle(&["run", "--schedule", &trace, program]);
        assert_eq!((again.status(), again.stdout().as_str()), (Some(7), "begin\nend\n"), "{}", again.all());
    }
}
