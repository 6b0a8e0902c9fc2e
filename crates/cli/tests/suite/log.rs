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
