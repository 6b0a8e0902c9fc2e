//! `RADDLE_LOG` shows what a search decides; without it nothing is logged.

use crate::common::{Place, built, finish, raddle};

/// A thread that waits in a spin loop: the search starts again when it is discovered.
const SPINS: &str = r#"
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
static atomic_int flag;
static void *waiter(void *arg) { while (!atomic_load(&flag)) { } return arg; }
int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, waiter, NULL);
    atomic_store(&flag, 1);
    pthread_join(thread, NULL);
    return 0;
}
"#;

#[test]
fn a_restart_is_logged_only_if_asked_for() {
    let place = Place::new();
    let source = place.write("spins.c", SPINS);
    let program = built(&source, &[]);
    let check = |log: Option<&str>| {
        let mut command = place.command(raddle());
        command.args(["check", "--quiet", "--jobs", "1"]).arg(&program);
        if let Some(log) = log {
            command.env("RADDLE_LOG", log);
        }
        finish(&mut command)
    };
    let logged = check(Some("explore=debug"));
    assert!(logged.stderr.contains("search restarts"), "{}", logged.all());
    let silent = check(None);
    assert_eq!(silent.stderr, "", "{}", silent.all());
    assert_eq!(logged.code(), silent.code());
}

/// Two threads that add under a lock, with CHANGES behind a change of a file.
const ADDS: &str = r#"
#include <pthread.h>
#include <unistd.h>
#include <fcntl.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int sum;
static void *add(void *arg) {
    pthread_mutex_lock(&lock);
    sum++;
    pthread_mutex_unlock(&lock);
    return arg;
}
int main(void) {
    pthread_t threads[2];
#ifdef CHANGES
    if (write(open("log", O_CREAT | O_RDWR, 0600), "x", 1) != 1) return 1;
#endif
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, add, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    return sum != 2;
}
"#;

#[test]
fn why_a_state_is_not_compared_is_logged_if_asked_for() {
    let place = Place::new();
    let source = place.write("adds.c", ADDS);
    let logged = |flags: &[&str]| {
        let program = built(&source, flags);
        let mut command = place.command(raddle());
        command.args(["check", "--quiet", "--jobs", "1", "--strategy", "stateful"]).arg(&program);
        finish(command.env("RADDLE_LOG", "exec::keys=debug"))
    };
    let changes = logged(&["-DCHANGES"]);
    assert_eq!(changes.code(), Some(0), "{}", changes.all());
    assert!(changes.stderr.contains("a state has no key: the kernel's state was changed"), "{}", changes.all());
    let only_adds = logged(&[]);
    assert_eq!(only_adds.stderr, "", "{}", only_adds.all());
    assert_eq!(only_adds.code(), Some(0));
}
