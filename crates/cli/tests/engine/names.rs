//! What reports call things, and how they count events.

use crate::tools::Place;

/// Every test with its name.
pub const TESTS: &[(&str, fn())] = &[
    ("one_lock_has_one_name", one_lock_has_one_name),
    ("pipes_have_names", pipes_have_names),
    ("a_block_that_was_moved_is_not_named_after_its_successor", a_moved_block),
    ("events_have_the_same_numbers_everywhere", events_have_the_same_numbers_everywhere),
];

const LOCKS: &str = "#include <pthread.h>\n#include <stdlib.h>\n\
    struct account { int value; pthread_mutex_t lock; };\n\
    static struct account *first, *second;\n\
    static void move(struct account *from, struct account *to) {\n\
        pthread_mutex_lock(&from->lock);\n\
        pthread_mutex_lock(&to->lock);\n\
        from->value--;\n\
        to->value++;\n\
        pthread_mutex_unlock(&to->lock);\n\
        pthread_mutex_unlock(&from->lock);\n\
    }\n\
    static void *worker(void *arg) { move(second, first); return arg; }\n\
    int main(void) {\n\
        pthread_t thread;\n\
        first = calloc(1, sizeof *first);\n\
        second = calloc(1, sizeof *second);\n\
        pthread_mutex_init(&first->lock, 0);\n\
        pthread_mutex_init(&second->lock, 0);\n\
        pthread_create(&thread, 0, worker, 0);\n\
        move(first, second);\n\
        pthread_join(thread, 0);\n\
        return 0;\n\
    }\n";

/// Checks a program and returns its report.
fn report(place: &Place, source: &str, options: &[&str]) -> serde_json::Value {
    std::fs::write(place.path("prog.c"), source).unwrap();
    let done = place.raddle(&[&["check", "--json", "-", "--quiet"], options, &["prog.c"]].concat());
    serde_json::from_str(&done.stdout()).unwrap_or_else(|_| panic!("{}", done.all()))
}

fn finding<'a>(report: &'a serde_json::Value, kind: &str) -> &'a serde_json::Value {
    let findings = report["findings"].as_array().unwrap();
    findings.iter().find(|finding| finding["kind"] == kind).unwrap_or_else(|| panic!("no {kind} in {report}"))
}

/// Each thread waits for what the other holds, so the names have to be the same.
fn one_lock_has_one_name() {
    let place = Place::new();
    let report = report(&place, LOCKS, &[]);
    let accesses = finding(&report, "deadlock")["accesses"].as_array().unwrap();
    assert_eq!(accesses.len(), 2);
    for (one, other) in [(0, 1), (1, 0)] {
        let (waits, holds) = (&accesses[one]["waits"]["object"], &accesses[other]["locks"]);
        assert_eq!(holds, &serde_json::json!([waits]), "{report}");
        assert!(waits.as_str().unwrap().starts_with("account#"), "{waits}");
    }
    // The schedule names it in the same way.
    let shown = place.raddle(&["report", "--format", "text"]).stdout();
    assert!(shown.contains("lock account#1.lock") && !shown.contains("lock heap#"), "{shown}");
}

fn pipes_have_names() {
    let place = Place::new();
    let text = |make: &str, by_thread: bool| {
        let (in_main, in_thread) = if by_thread { ("", make) } else { (make, "") };
        format!(
            "#define _GNU_SOURCE\n#include <pthread.h>\n#include <sys/eventfd.h>\n\
             #include <sys/socket.h>\n#include <unistd.h>\n\
             static int p[2];\n\
             static void *worker(void *arg) {{ {in_thread} long c; (void)!read(p[0], &c, sizeof c); return arg; }}\n\
             int main(void) {{\n\
                 pthread_t thread;\n\
                 {in_main}\n\
                 pthread_create(&thread, 0, worker, 0);\n\
                 pthread_join(thread, 0);\n\
                 return 0;\n\
             }}\n"
        )
    };
    for (make, by_thread, name) in [
        ("if (pipe(p)) return 0;", false, "pipe#1"),
        ("if (pipe(p) || pipe(p)) return 0;", false, "pipe#2"),
        ("if (pipe(p)) return 0;", true, "pipe#T1.1"),
        ("p[0] = eventfd(0, 0);", false, "eventfd#1"),
        ("if (socketpair(AF_UNIX, SOCK_STREAM, 0, p)) return 0;", false, "socketpair#1"),
    ] {
        let report = report(&place, &text(make, by_thread), &[]);
        let deadlock = finding(&report, "deadlock");
        let names: Vec<&serde_json::Value> =
            deadlock["accesses"].as_array().unwrap().iter().map(|access| &access["waits"]["object"]).collect();
        assert!(names.contains(&&serde_json::json!(name)), "{name} is not in {names:?}");
    }
}

fn a_moved_block() {
    let place = Place::new();
    let text = "#include <pthread.h>\n#include <stdlib.h>\n\
        static int *items;\n\
        static void *worker(void *arg) { items[0] = 1; return arg; }\n\
        int main(void) {\n\
            pthread_t thread;\n\
            items = malloc(40);\n\
            pthread_create(&thread, 0, worker, 0);\n\
            long *later = realloc(items, 4000);\n\
            pthread_join(thread, 0);\n\
            later[1] = 2;\n\
            free(later);\n\
            return 0;\n\
        }\n";
    let report = report(&place, text, &[]);
    for race in report["findings"].as_array().unwrap().iter().filter(|finding| finding["kind"] == "data-race") {
        assert!(!race["message"].as_str().unwrap().contains("later"), "{race}");
        assert_eq!(race["object"]["size"], 40, "the block that was there: {race}");
        assert_eq!(race["object"]["allocated"]["line"], 7, "{race}");
    }
}

/// `show`, the page and `--break-at` number the events of a schedule alike.
fn events_have_the_same_numbers_everywhere() {
    let place = Place::new();
    let report = report(&place, LOCKS, &["--html", "report.html"]);
    let id = finding(&report, "deadlock")["id"].as_str().unwrap();
    let page = std::fs::read_to_string(place.path("report.html")).unwrap();
    let data = page.split_once("id=\"data\">").unwrap().1.split_once("</script>").unwrap().0;
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    let events = data["stories"][id]["events"].as_array().unwrap();
    let numbered: Vec<(usize, u64)> =
        events.iter().enumerate().filter_map(|(at, event)| Some((at + 1, event["step"].as_u64()?))).collect();
    assert!(numbered.len() > 6, "{numbered:?}");
    for (position, &(at, step)) in numbered.iter().enumerate() {
        assert_eq!(step, position as u64 + 1, "the events of the schedule are counted without gaps");
        let shown = place.raddle(&["show", id, "--step", &at.to_string()]).stdout();
        let head = shown.lines().next().unwrap();
        let event = &events[at - 1];
        let (thread, text) =
            (&data["stories"][id]["threads"][event["thread"].as_u64().unwrap() as usize], &event["text"]);
        let expected = format!(
            "{at}/{} {}  {}  (--break-at {step})",
            events.len(),
            thread["thread"].as_str().unwrap(),
            text.as_str().unwrap()
        );
        assert_eq!(head, expected);
        let stopped = place.raddle(&["replay", id, "--break-at", &step.to_string()]).stdout();
        assert!(stopped.starts_with(&format!("stopped before event {step}\n")), "{stopped}");
        let next = stopped.lines().find(|line| line.starts_with(thread["thread"].as_str().unwrap())).unwrap();
        let kind = text.as_str().unwrap().split(' ').next().unwrap();
        assert!(next.contains(kind) && next.ends_with(')'), "{next:?} is not {text}");
    }
    for (at, event) in events.iter().enumerate().filter(|(_, event)| event["step"].is_null()) {
        let shown = place.raddle(&["show", id, "--step", &(at + 1).to_string()]).stdout();
        assert!(!shown.lines().next().unwrap().contains("--break-at"), "{event}");
    }
}
