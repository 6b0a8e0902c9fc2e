//! Containers and hardened systems: what they forbid, raddle does without, or says that it needs
//! it.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{Done, Place, finish, raddle, sources};

/// What Docker's usual filter refuses and raddle would use.
const CONTAINER: &str = "personality,ptrace,process_vm_readv,userfaultfd,kcmp,clone3";

const PROGRAM: &str = "\
#include <pthread.h>
#include <stdlib.h>
static pthread_mutex_t *a, *b;
static int n, *block;
static void *run(void *p) {
  pthread_mutex_lock(a); pthread_mutex_lock(b);
  n++;
  pthread_mutex_unlock(b); pthread_mutex_unlock(a);
#ifdef RACE
  *block += 1;
#endif
  return p;
}
int main(void) {
  pthread_t t[2];
  a = malloc(sizeof *a); b = malloc(sizeof *b); block = calloc(4, 4);
  pthread_mutex_init(a, 0); pthread_mutex_init(b, 0);
  for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, run, 0);
#ifdef DEADLOCK
  pthread_mutex_lock(b); pthread_mutex_lock(a); pthread_mutex_unlock(a); pthread_mutex_unlock(b);
#endif
  for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
  pthread_mutex_destroy(a); pthread_mutex_destroy(b);
  free(a); free(b); free(block);
  return 0;
}
";

/// A place with the launcher that forbids system calls.
fn place() -> Place {
    let place = Place::new();
    let source = sources("programs/hardened/deny.c");
    let done = finish(place.command("gcc").args(["-Wall", "-Wextra", "-Werror"]).arg(source).args(["-o", "deny"]));
    assert!(done.status.success(), "{}", done.all());
    place.write("program.c", PROGRAM);
    place
}

/// raddle without some system calls.
fn denied(place: &Place, calls: &str, words: &[&str]) -> Done {
    finish(place.command(place.path("deny")).arg(calls).arg(raddle()).args(words))
}

/// The figures of a report in a line; times are left out.
fn figures(done: &Done) -> String {
    let line =
        done.stdout.lines().find(|line| line.contains(" transitions, ")).unwrap_or_else(|| panic!("{}", done.all()));
    line.split(" threads").next().unwrap_or_default().trim().to_owned()
}

#[test]
fn searches_are_the_same_without_what_containers_forbid() {
    let place = place();
    for (flag, status) in [("-DNONE", 0), ("-DRACE", 1), ("-DDEADLOCK", 1)] {
        let words = ["check", "--jobs", "2", "--cflags", flag, "program.c"];
        let usual = place.raddle(words);
        assert_eq!(usual.code(), Some(status), "{}", usual.all());
        for calls in [CONTAINER, "personality", "sched_setaffinity", "prctl"] {
            let done = denied(&place, calls, &words);
            assert_eq!(done.code(), Some(status), "{calls}: {}", done.all());
            assert_eq!(figures(&done), figures(&usual), "{calls}");
            let heading = |done: &Done| done.stdout.lines().next().map(str::to_owned);
            assert_eq!(heading(&done), heading(&usual), "{calls}");
        }
    }
    assert_eq!(place.left_behind(), Vec::<String>::new());
}

/// A witness of one process is replayed by another, with other addresses.
#[test]
fn witnesses_do_not_depend_on_addresses() {
    let place = place();
    let check = ["check", "--cflags", "-DDEADLOCK -DRACE", "program.c"];
    for (recorded, replayed) in [("personality", "personality"), ("kcmp", "personality"), ("personality", "kcmp")] {
        let done = denied(&place, recorded, &check);
        assert_eq!(done.code(), Some(1), "{}", done.all());
        for id in ["r1", "d1"] {
            let again = denied(&place, replayed, &["replay", id]);
            assert_eq!(again.code(), Some(1), "{recorded} {replayed}: {}", again.all());
            assert!(again.stdout.contains("reproduced"), "{}", again.all());
        }
    }
    let run = denied(&place, "personality", &["predict", "--cflags", "-DRACE", "program.c"]);
    assert_eq!(run.code(), Some(1), "{}", run.all());
}

#[test]
fn what_cannot_be_done_without_is_said() {
    let place = place();
    let done = denied(&place, "memfd_create", &["check", "program.c"]);
    assert_eq!(done.code(), Some(2), "{}", done.all());
    assert!(done.stderr.contains("raddle needs the system call memfd_create"), "{}", done.all());
    let doctor = denied(&place, "memfd_create", &["doctor"]);
    assert_eq!(doctor.code(), Some(1), "{}", doctor.all());
    assert!(doctor.stdout.contains("BAD   shared memory"), "{}", doctor.all());
    let doctor = denied(&place, "personality", &["doctor"]);
    assert_eq!(doctor.code(), Some(0), "{}", doctor.all());
    assert!(doctor.stdout.contains("all runs are forks of one process"), "{}", doctor.all());
}

/// raddle in a mount namespace, after some commands of a shell.
fn mounted(place: &Place, commands: &str, words: &[&str]) -> Done {
    let script = format!("{commands} && cd \"$PWD\" && exec \"$@\"");
    let mut command = place.command("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", &script, "sh"]);
    finish(command.arg(raddle()).args(words))
}

/// Why this machine makes no namespaces, if it does not.
fn no_namespaces() -> Option<String> {
    let done = finish(Command::new("unshare").args(["--user", "--map-root-user", "--mount", "true"]));
    (!done.status.success()).then(|| format!("this machine forbids namespaces: {}", done.stderr.trim()))
}

#[test]
fn file_systems_may_be_small_hidden_or_read_only() {
    if let Some(reason) = no_namespaces() {
        println!("not run: {reason}");
        return;
    }
    let place = place();
    let here = place.path("").display().to_string();
    let outside = tempfile::tempdir().unwrap();
    let out: PathBuf = outside.path().join("out");
    let built = place.raddle(["cc", "-g", "-pthread", "-DRACE", "program.c", "-o", "program"]);
    assert!(built.status.success(), "{}", built.all());
    let check = |commands: &str, words: &[&str]| mounted(&place, commands, &[&["check", "./program"], words].concat());
    for commands in ["mount -t tmpfs -o size=4k none /dev/shm", "mount -t tmpfs none /proc/sys"] {
        let done = check(commands, &[]);
        assert_eq!(done.code(), Some(1), "{commands}: {}", done.all());
        assert!(done.stdout.contains("data race on"), "{}", done.all());
    }
    let read_only = format!("mount --bind {here} {here} && mount -o remount,bind,ro {here}");
    let done = check(&read_only, &[]);
    assert_eq!(done.code(), Some(2), "{}", done.all());
    assert!(done.stderr.contains("name another directory with --out"), "{}", done.all());
    let done = check(&read_only, &["--out", out.to_str().unwrap()]);
    assert_eq!(done.code(), Some(1), "{}", done.all());
    let done = check("mount -t tmpfs none /proc", &[]);
    assert_eq!(done.code(), Some(2), "{}", done.all());
    assert!(done.stderr.contains("/proc"), "{}", done.all());
    let doctor = mounted(&place, "mount -t tmpfs none /proc", &["doctor"]);
    assert_eq!(doctor.code(), Some(1), "{}", doctor.all());
    assert!(doctor.stdout.contains("BAD   /proc"), "{}", doctor.all());
    assert!(Path::new(&out).exists());
}
