//! What `raddle cc` built is an ordinary program: it runs for anyone, anywhere, with and without
//! raddle. Who checks it supplies the runtime.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{Done, Place, finish, raddle, sources};

/// A user that has nothing.
const STRANGER: u32 = 65534;

fn succeeded(command: &mut Command) -> Done {
    let done = finish(command);
    assert!(done.status.success(), "{}", done.all());
    done
}

/// Compiles with the wrapper.
fn cc(place: &Place, words: &[&str]) {
    let language = if words.iter().any(|word| word.ends_with(".cpp")) { "c++" } else { "cc" };
    let done = succeeded(place.command(raddle()).arg(language).args(["-g", "-pthread"]).args(words));
    assert_eq!(done.stderr, "");
}

/// Runs a program with nothing in its environment; returns what it prints.
fn printed(program: &Path) -> String {
    succeeded(Command::new(program).env_clear().current_dir("/")).stdout
}

/// The libraries that a program needs.
fn needed(program: &Path) -> String {
    let text = succeeded(Command::new("readelf").args(["-d", "-W"]).arg(program)).stdout;
    text.lines().filter(|line| line.contains("(NEEDED)") || line.contains("PATH)")).collect()
}

/// Whether this test may act as other users do.
fn is_root() -> bool {
    fs::metadata("/proc/self").unwrap().uid() == 0
}

/// A correct and a wrong counter.
const COUNTER: &str = "\
#include <pthread.h>
#include <stdio.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int n;
static void *add(void *p) {
  pthread_mutex_lock(&m); n++; pthread_mutex_unlock(&m);
#ifdef WRONG
  n++;
#endif
  return p;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, add, 0); pthread_create(&b, 0, add, 0);
  pthread_join(a, 0); pthread_join(b, 0);
  printf(\"n %d\\n\", n);
  return 0;
}
";

#[test]
fn programs_need_nothing_of_raddle() {
    let place = Place::new();
    let source = place.write("counter.c", COUNTER);
    fs::copy(&source, place.path("counter.cpp")).unwrap();
    for flags in [
        "",
        "-no-pie",
        "-O2",
        "-Wl,-z,defs,--no-undefined",
        "-Wl,--gc-sections,--as-needed",
        "-Wl,-z,now,-z,relro",
        "-rdynamic",
        "-fuse-ld=gold",
    ] {
        for file in ["counter.c", "counter.cpp"] {
            let words: Vec<&str> = flags.split_whitespace().chain([file, "-o", "prog"]).collect();
            cc(&place, &words);
            let program = place.path("prog");
            assert_eq!(printed(&program), "n 2\n", "{flags}");
            assert!(!needed(&program).contains("raddle") && !needed(&program).contains("PATH"), "{}", needed(&program));
            let done = place.raddle(["check", "./prog"]);
            assert_eq!(done.code(), Some(0), "{flags}: {}", done.all());
        }
    }
}

/// The home of the builder is gone, or closed.
#[test]
fn another_user_runs_and_checks_what_was_built() {
    let place = Place::new();
    place.write("counter.c", COUNTER);
    fs::create_dir(place.path("home")).unwrap();
    let words = ["cc", "-g", "-pthread", "-DWRONG", "counter.c", "-o", "prog"];
    let mut build = place.command(raddle());
    succeeded(build.args(words).env("HOME", place.path("home")).env_remove("XDG_DATA_HOME"));
    assert!(place.path("home/.local/share/raddle").exists());
    fs::set_permissions(place.path("home"), fs::Permissions::from_mode(0o0)).unwrap();
    assert!(printed(&place.path("prog")).starts_with("n "));

    // Names that a list of libraries cannot contain.
    fs::create_dir(place.path("another: $home")).unwrap();
    let mut check = place.command(raddle());
    check.args(["check", "./prog"]).env("HOME", place.path("another: $home")).env_remove("XDG_DATA_HOME");
    let done = finish(&mut check);
    assert_eq!(done.code(), Some(1), "{}", done.all());
    assert!(done.stdout.contains("data race on `n`"), "{}", done.all());

    if is_root() {
        let open = tempfile::tempdir_in("/tmp").unwrap();
        fs::set_permissions(open.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let (program, command) = (open.path().join("prog"), open.path().join("raddle"));
        fs::copy(place.path("prog"), &program).unwrap();
        fs::copy(raddle(), &command).unwrap();
        let as_stranger = |words: &[&str]| {
            let user = format!("--reuid={STRANGER}");
            let mut command = Command::new("setpriv");
            command.args([&user, "--clear-groups", "--inh-caps=-all"]).args(words);
            finish(command.env("HOME", open.path()).env_remove("XDG_DATA_HOME").current_dir(open.path()))
        };
        let done = as_stranger(&["./prog"]);
        assert!(done.status.success() && done.stdout.starts_with("n "), "{}", done.all());
        let done = as_stranger(&["./raddle", "check", "./prog"]);
        assert_eq!(done.code(), Some(1), "{}", done.all());
    }
    fs::set_permissions(place.path("home"), fs::Permissions::from_mode(0o700)).unwrap();
}

/// A root that has the C library and nothing else.
#[test]
fn a_program_runs_where_there_is_only_a_c_library() {
    let place = Place::new();
    place.write("counter.c", COUNTER);
    cc(&place, &["counter.c", "-o", "prog"]);
    let root = place.path("root");
    fs::create_dir(&root).unwrap();
    fs::copy(place.path("prog"), root.join("prog")).unwrap();
    let libraries = succeeded(Command::new("ldd").arg(place.path("prog"))).stdout;
    for path in libraries.split_whitespace().filter(|word| word.starts_with('/')) {
        let inside = root.join(&path[1..]);
        fs::create_dir_all(inside.parent().unwrap()).unwrap();
        fs::copy(path, inside).unwrap();
    }
    if let Some(reason) = no_namespaces() {
        println!("not run: {reason}");
        return;
    }
    let mut chroot = Command::new("unshare");
    chroot.args(["--user", "--map-root-user", "chroot"]).arg(&root).arg("/prog");
    let done = succeeded(chroot.env_clear().env("PATH", "/usr/bin:/bin:/usr/sbin:/sbin"));
    assert_eq!(done.stdout, "n 2\n");
}

/// Why this machine makes no namespaces, if it does not.
fn no_namespaces() -> Option<String> {
    let done = finish(Command::new("unshare").args(["--user", "--map-root-user", "true"]));
    (!done.status.success()).then(|| format!("this machine forbids user namespaces: {}", done.stderr.trim()))
}

/// Shared libraries have hooks of their own. Those of a library that is loaded later, too.
#[test]
fn libraries_are_hooked_when_they_are_loaded() {
    let place = Place::new();
    place.write(
        "add.c",
        "#include <stdio.h>\nint n;\n__attribute__((constructor)) static void set(void) { n = 40; }\n\
         void add(void) { n++; }\nint get(void) { return n; }\n",
    );
    let threads = "#include <pthread.h>\nstatic void *run(void *p) { add(); return p; }\n\
         int main(void) { LOAD; pthread_t a, b; pthread_create(&a, 0, run, 0); pthread_create(&b, 0, run, 0);\n\
         pthread_join(a, 0); pthread_join(b, 0); return get() == 42 ? 0 : 3; }\n";
    place.write("linked.c", format!("void add(void);\nint get(void);\n#define LOAD\n{threads}"));
    place.write(
        "loaded.c",
        format!(
            "#include <dlfcn.h>\nstatic void (*add)(void);\nstatic int (*get)(void);\n#define LOAD \\\n\
             void *l = dlopen(\"./libadd.so\", RTLD_NOW); add = dlsym(l, \"add\"); get = dlsym(l, \"get\")\n{threads}"
        ),
    );
    cc(&place, &["-shared", "-fPIC", "-Wl,-z,defs", "add.c", "-o", "libadd.so"]);
    cc(&place, &["linked.c", "-L.", "-ladd", "-Wl,-rpath,$ORIGIN", "-o", "linked"]);
    cc(&place, &["loaded.c", "-o", "loaded"]);
    for program in ["linked", "loaded"] {
        let done = finish(&mut place.command(place.path(program)));
        assert_eq!(done.code(), Some(0), "{}", done.all());
        let done = place.raddle(["check", &format!("./{program}")]);
        assert_eq!(done.code(), Some(1), "{}", done.all());
        // Names of what a run loads are not known.
        let expected = if program == "linked" { "data race on `n`" } else { "data race on" };
        assert!(done.stdout.contains(expected), "{program}: {}", done.all());
    }
}

/// A constructor of a library makes threads: they are controlled, too.
#[test]
fn constructors_of_libraries_are_controlled() {
    let place = Place::new();
    let library = "#include <pthread.h>\nint n;\nstatic void *add(void *p) { n++; return p; }\n\
         __attribute__((constructor)) static void begin(void) {\n\
         pthread_t a; pthread_create(&a, 0, add, 0); n++; pthread_join(a, 0); }\n";
    place.write("early.c", library);
    place.write("main.c", "extern int n;\nint main(void) { return n - 2; }\n");
    cc(&place, &["-shared", "-fPIC", "early.c", "-o", "libearly.so"]);
    cc(&place, &["main.c", "-L.", "-learly", "-Wl,-rpath,$ORIGIN", "-o", "main"]);
    let done = place.raddle(["check", "./main"]);
    assert!(done.stdout.contains("data race on `n`"), "{}", done.all());
}

/// The environment that the program sees is the user's.
#[test]
fn the_program_sees_only_the_users_own_libraries() {
    let place = Place::new();
    place.write(
        "see.c",
        "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\nextern char **environ;\n\
         int main(int c, char **v) { const char *l = getenv(\"LD_PRELOAD\");\n\
         for (char **e = environ; *e; e++) if (strstr(*e, \"raddle_rt\")) return 7;\n\
         return c > 1 ? !l || strcmp(l, v[1]) : l != 0; }\n",
    );
    place.write("own.c", "int own;\n");
    cc(&place, &["see.c", "-o", "see"]);
    cc(&place, &["-shared", "-fPIC", "own.c", "-o", "libown.so"]);
    let check = |words: &[&str], preload: Option<&str>| {
        let mut command = place.command(raddle());
        command.args(["check", "./see"]).args(words);
        let done = finish(command.envs(preload.map(|value| ("LD_PRELOAD", value))));
        assert_eq!(done.code(), Some(0), "{}", done.all());
    };
    check(&[], None);
    let own = place.path("libown.so").display().to_string();
    check(&["--", &own], Some(&own));
    let two = format!("{own}:{own}");
    check(&["--", &two], Some(&two));
}

/// Annotations: weak references, definitions of the program's own, and none of raddle's.
#[test]
fn annotations_work_with_and_without_raddle() {
    let place = Place::new();
    fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../share/raddle.h"), place.path("old.h")).unwrap();
    place.write(
        "weak.c",
        "#include \"old.h\"\n#include <raddle.h>\nvoid AnnotateFlushState(const char *, int) __attribute__((weak));\n\
         static int own;\nvoid AnnotateNoOp(const char *f, int l, const void *a) { own++; }\n\
         void reach_error(void) { own += 10; }\n\
         int main(void) { AnnotateNoOp(0, 0, 0); if (AnnotateFlushState) AnnotateFlushState(0, 0);\n\
         reach_error(); RADDLE_ASSUME(own == 11); return RADDLE_CHOOSE(3) == 2 ? 5 : own - 11; }\n",
    );
    cc(&place, &["weak.c", "-o", "weak"]);
    assert_eq!(finish(&mut place.command(place.path("weak"))).code(), Some(0));
    let done = place.raddle(["check", "./weak"]);
    assert!(done.stdout.contains("exit"), "the third choice is found: {}", done.all());
    assert!(done.stdout.contains("3 executions"), "{}", done.all());
}

/// Functions of SV-COMP that the program does not define.
#[test]
fn open_values_are_zero_without_raddle() {
    let place = Place::new();
    place.write(
        "open.c",
        "extern int __VERIFIER_nondet_int(void);\nextern double __VERIFIER_nondet_double(void);\n\
         extern void __VERIFIER_atomic_begin(void);\nextern void __VERIFIER_atomic_end(void);\n\
         extern void __VERIFIER_assume(int);\nextern void reach_error(void);\n\
         int main(int c, char **v) { __VERIFIER_atomic_begin(); int n = __VERIFIER_nondet_int();\n\
         __VERIFIER_atomic_end(); __VERIFIER_assume(n == 0); if (c > 1) reach_error();\n\
         return n + (__VERIFIER_nondet_double() != 0); }\n",
    );
    cc(&place, &["open.c", "-o", "open"]);
    assert_eq!(finish(&mut place.command(place.path("open"))).code(), Some(0));
    let done = finish(place.command(place.path("open")).arg("error"));
    assert_eq!((done.code(), done.stderr.as_str()), (Some(134), "reach_error was called\n"));
}

/// Programs of other versions get a sentence.
#[test]
fn what_another_version_built_is_refused_with_a_sentence() {
    let place = Place::new();
    place.write("counter.c", COUNTER);
    let refused = |program: &str, sentence: &str| {
        let done = place.raddle(["check", program]);
        assert_eq!(done.code(), Some(2), "{}", done.all());
        assert!(done.stderr.contains(sentence), "{}", done.all());
    };
    // As versions did that linked the runtime.
    place.write("empty.c", "");
    succeeded(place.command("gcc").args(["-shared", "-fPIC", "empty.c", "-o", "libraddle_rt.so"]));
    let words = ["-pthread", "-Wl,--no-as-needed", "counter.c", "./libraddle_rt.so", "-o", "older"];
    succeeded(place.command("gcc").args(words));
    refused("./older", "was built with an older version of raddle: build it again with this one");
    // With hooks that only a later version has.
    cc(&place, &["counter.c", "-o", "prog"]);
    let mut bytes = fs::read(place.path("prog")).unwrap();
    let head: Vec<u8> = [7u32, 12, 2].into_iter().flat_map(u32::to_le_bytes).chain(*b"raddle\0\0").collect();
    let at = bytes.windows(head.len()).position(|part| part == head).expect("the note") + head.len();
    bytes[at] = 77;
    place.write_program("newer", &bytes);
    refused("./newer", "its hooks have version 77");
    if is_root() {
        let program = place.write_program("privileged", fs::read(place.path("prog")).unwrap());
        chown(&program, Some(STRANGER), None).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o4755)).unwrap();
        refused("./privileged", "set-user-ID");
    }
}

/// Programs of the cases give the same output with hooks as without: atomic operations of all
/// widths, copies.
#[test]
fn hooks_change_nothing_without_raddle() {
    let place = Place::new();
    let source: PathBuf = sources("programs/portable/operations.c");
    for compiler in ["gcc", "clang-19"] {
        let mut plain = place.command(compiler);
        succeeded(plain.args(["-mcx16", "-pthread"]).arg(&source).args(["-o", "plain", "-latomic"]));
        let expected = printed(&place.path("plain"));
        assert!(expected.lines().count() > 40, "{expected}");
        for flags in ["-latomic", "-O2"] {
            let mut hooked = place.command(raddle());
            hooked.env("RADDLE_CC", compiler).args(["cc", "-mcx16", "-pthread"]).arg(&source);
            succeeded(hooked.args(["-o", "hooked", flags]));
            assert_eq!(printed(&place.path("hooked")), expected, "{compiler} {flags}");
            let run = place.raddle(["run", "./hooked"]);
            assert_eq!(run.stdout, expected, "{}", run.all());
        }
    }
}
