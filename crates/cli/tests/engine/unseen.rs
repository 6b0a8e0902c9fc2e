//! Code that raddle cannot see keeps the verdict from being verified, however it came in.

use std::process::Command;

use raddle_testkit::tools::require;

use crate::tools::{Done, Place};

/// Every test with its name.
pub const TESTS: &[(&str, fn())] = &[
    ("what_was_compiled_without_raddle_is_named", what_was_compiled_without_raddle_is_named),
    ("an_object_without_symbols_does_not_slip_through", an_object_without_symbols_does_not_slip_through),
    ("assembler_code_is_named", assembler_code_is_named),
    ("what_raddle_compiled_stays_seen", what_raddle_compiled_stays_seen),
    ("a_stripped_program_is_not_verified", a_stripped_program_is_not_verified),
    ("shared_libraries_are_named", shared_libraries_are_named),
    ("archives_of_the_system_are_named", archives_of_the_system_are_named),
];

const COMPILERS: [&str; 2] = ["gcc", "clang-19"];

const LIBRARY: &str = "static int count;\nvoid bump(void) { count++; }\n";
const MAIN: &str = "#include <pthread.h>\n\
    void bump(void);\n\
    static void *worker(void *arg) { bump(); return arg; }\n\
    int main(void) {\n\
        pthread_t thread;\n\
        pthread_create(&thread, 0, worker, 0);\n\
        pthread_join(thread, 0);\n\
        return 0;\n\
    }\n";

/// A place with both sources.
fn sources() -> Place {
    let place = Place::new();
    std::fs::write(place.path("library.c"), LIBRARY).unwrap();
    std::fs::write(place.path("main.c"), MAIN).unwrap();
    place
}

/// Runs a tool in the place.
fn tool(place: &Place, line: &str) {
    let mut words = line.split(' ');
    let status = Command::new(words.next().unwrap()).args(words).current_dir(place.path(".")).status().unwrap();
    assert!(status.success(), "{line}");
}

/// Calls the wrapper with a compiler.
fn cc(place: &Place, compiler: &str, line: &str) {
    let done = place.command().env("RADDLE_CC", compiler).arg("cc").args(line.split(' ')).output().unwrap();
    assert!(done.status.success(), "{line}: {}", String::from_utf8_lossy(&done.stderr));
}

fn check(place: &Place, options: &[&str]) -> Done {
    let mut words = vec!["check", "--json", "report.json"];
    words.extend(options);
    place.raddle(&words)
}

/// The verdict, the code of the reason and the names of what is unseen.
fn answer(place: &Place, options: &[&str]) -> (String, String, Vec<String>) {
    let done = check(place, options);
    let text = std::fs::read_to_string(place.path("report.json")).unwrap_or_else(|_| panic!("{}", done.all()));
    let report: serde_json::Value = serde_json::from_str(&text).unwrap();
    let of = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let unseen = report["unseen"].as_array().into_iter().flatten().map(of).collect();
    (of(&report["verdict"]), of(&report["reason"]["code"]), unseen)
}

fn open(names: &[&str]) -> (String, String, Vec<String>) {
    ("incomplete".into(), "unseen-code".into(), names.iter().map(|&name| name.to_owned()).collect())
}

fn fine(names: &[&str]) -> (String, String, Vec<String>) {
    ("verified".into(), String::new(), names.iter().map(|&name| name.to_owned()).collect())
}

fn what_was_compiled_without_raddle_is_named() {
    for compiler in COMPILERS {
        require(compiler);
        let place = sources();
        tool(&place, &format!("{compiler} -g -c library.c"));
        cc(&place, compiler, "main.c library.o -o prog");
        assert_eq!(answer(&place, &["./prog"]), open(&["library.c"]), "by debug information");
        assert_eq!(answer(&place, &["--trust", "lib*.c", "./prog"]), fine(&["library.c"]));
        assert_eq!(answer(&place, &["--trust", "main.c", "./prog"]), open(&["library.c"]));
        let said = check(&place, &["./prog"]);
        assert_eq!(said.status(), Some(3));
        assert!(said.stdout().contains("1 file was compiled without raddle: library.c"), "{}", said.all());
        tool(&place, &format!("{compiler} -c library.c"));
        cc(&place, compiler, "main.c library.o -o prog");
        assert_eq!(answer(&place, &["./prog"]), open(&["library.o"]), "by its object");
        tool(&place, "ar rc libfoo.a library.o");
        cc(&place, compiler, "-O2 main.c -L. -lfoo -Wl,--gc-sections -o prog");
        assert_eq!(answer(&place, &["./prog"]), open(&["libfoo.a(library.o)"]), "by its archive");
    }
}

fn an_object_without_symbols_does_not_slip_through() {
    for compiler in COMPILERS {
        let place = sources();
        tool(&place, &format!("{compiler} -c library.c"));
        tool(&place, "objcopy --strip-unneeded library.o");
        cc(&place, compiler, "main.c library.o -o prog");
        std::fs::remove_file(place.path("library.o")).unwrap();
        assert_eq!(answer(&place, &["./prog"]), open(&["function bump"]), "its file is gone");
        // No symbol is left at all of code that only a table of constructors refers to.
        let hidden = "static int x; __attribute__((constructor)) static void before(void) { x++; }\n";
        std::fs::write(place.path("hidden.c"), hidden).unwrap();
        tool(&place, &format!("{compiler} -c hidden.c"));
        tool(&place, "objcopy --strip-unneeded hidden.o");
        cc(&place, compiler, "hidden.o main.c library.c -o prog");
        assert_eq!(answer(&place, &["./prog"]), open(&["hidden.o"]), "{compiler}");
        std::fs::remove_file(place.path("hidden.o")).unwrap();
        let (verdict, code, names) = answer(&place, &["./prog"]);
        assert_eq!((verdict.as_str(), code.as_str()), ("incomplete", "unseen-code"), "{names:?}");
        assert!(matches!(&names[..], [name] if name.starts_with("code at 0x")), "{names:?}");
    }
}

fn assembler_code_is_named() {
    let place = sources();
    let text = ".globl bump\n.text\nbump: ret\n.section .note.GNU-stack,\"\",@progbits\n";
    std::fs::write(place.path("library.s"), text).unwrap();
    for compiler in COMPILERS {
        cc(&place, compiler, "-c library.s");
        cc(&place, compiler, "main.c library.o -o prog");
        assert_eq!(answer(&place, &["./prog"]), open(&["library.o"]));
    }
}

/// Objects, archives and partial links of what raddle compiled, and sections that are collected.
fn what_raddle_compiled_stays_seen() {
    for compiler in COMPILERS {
        let place = sources();
        for flags in ["-O0", "-O2", "-O2 -ffunction-sections", "-g1 -gno-record-gcc-switches"] {
            if compiler != "gcc" && flags.contains("gno-record") {
                continue;
            }
            cc(&place, compiler, &format!("{flags} -c library.c"));
            cc(&place, compiler, &format!("{flags} -c main.c"));
            let _ = std::fs::remove_file(place.path("libfoo.a"));
            tool(&place, "ar rc libfoo.a library.o");
            tool(&place, "ld -r main.o -o part.o");
            cc(&place, compiler, "part.o libfoo.a -Wl,--gc-sections -o prog");
            assert_eq!(answer(&place, &["--strict", "./prog"]), fine(&[]), "{compiler} {flags}");
        }
        cc(&place, compiler, "-fsanitize=undefined main.c library.c -o prog");
        assert_eq!(answer(&place, &["./prog"]), fine(&[]), "{compiler} with another sanitizer");
    }
    let place = Place::new();
    let program = "#include <thread>\n#include <string>\n\
        struct A { virtual ~A() {} virtual int f() { return 1; } };\n\
        struct B { virtual ~B() {} virtual int g() { return 1; } };\n\
        struct C : A, B { int g() override { return 2; } };\n\
        thread_local std::string own = \"x\";\n\
        static std::string all = \"y\";\n\
        int main() { C c; B *b = &c; std::thread t([] { own += \"z\"; }); t.join(); return b->g() - 2; }\n";
    std::fs::write(place.path("prog.cpp"), program).unwrap();
    for compiler in ["g++", "clang++-19"] {
        for flags in ["-O0", "-O2 -ffunction-sections -Wl,--gc-sections", "-O2 -static-libstdc++ -static-libgcc"] {
            let line = format!("{flags} prog.cpp -o prog");
            let mut command = place.command();
            let done = command.env("RADDLE_CXX", compiler).arg("c++").args(line.split(' ')).output().unwrap();
            assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
            assert_eq!(answer(&place, &["--strict", "./prog"]), fine(&[]), "{compiler} {flags}");
        }
    }
}

fn a_stripped_program_is_not_verified() {
    let place = sources();
    cc(&place, "gcc", "main.c library.c -o prog");
    tool(&place, "objcopy --only-keep-debug prog prog.debug");
    tool(&place, "strip prog");
    assert_eq!(answer(&place, &["./prog"]), open(&["./prog"]));
    // What was stripped may be in another file.
    tool(&place, "objcopy --add-gnu-debuglink=prog.debug prog");
    assert_eq!(answer(&place, &["./prog"]).0, "verified");
}

fn shared_libraries_are_named() {
    let place = sources();
    let loads = "#include <dlfcn.h>\n#include <pthread.h>\n\
        static void (*bump)(void);\n\
        static void *worker(void *arg) { bump(); return arg; }\n\
        int main(int count, char **words) {\n\
            void *library = dlopen(words[count - 1], RTLD_NOW);\n\
            if (!library) return 1;\n\
            *(void **)&bump = dlsym(library, \"bump\");\n\
            pthread_t thread;\n\
            pthread_create(&thread, 0, worker, 0);\n\
            pthread_join(thread, 0);\n\
            return 0;\n\
        }\n";
    std::fs::write(place.path("loads.c"), loads).unwrap();
    cc(&place, "gcc", "-shared -fPIC library.c -o libseen.so");
    tool(&place, "gcc -shared -fPIC library.c -o libother.so");
    cc(&place, "gcc", "loads.c -o loads");
    for (name, names) in [("libseen.so", &[][..]), ("libother.so", &["libother.so"][..])] {
        let library = format!("./{name}");
        cc(&place, "gcc", &format!("main.c {library} -Wl,-rpath,$ORIGIN -o prog"));
        for program in [&["./prog"][..], &["./loads", "--", &library][..]] {
            let with = |options: &[&str]| answer(&place, &[options, program].concat());
            assert_eq!(with(&[]), fine(names), "{program:?}");
            let strict = if names.is_empty() { fine(names) } else { open(names) };
            assert_eq!(with(&["--strict"]), strict, "{program:?}");
            assert_eq!(with(&["--strict", "--trust", "libother*"]), fine(names), "{program:?}");
        }
    }
    let predicted = place.raddle(&["predict", "--json", "-", "./prog"]);
    let report: serde_json::Value = serde_json::from_str(&predicted.stdout()).unwrap();
    assert_eq!(report["unseen"], serde_json::json!(["libother.so"]));
}

/// The archives of distributions have no debug information.
fn archives_of_the_system_are_named() {
    let place = Place::new();
    std::fs::write(place.path("test.cpp"), "#include <gtest/gtest.h>\nTEST(A, B) { EXPECT_EQ(1, 1); }\n").unwrap();
    let done = place.raddle(&["c++", "test.cpp", "-lgtest", "-lgtest_main", "-o", "prog"]);
    assert_eq!(done.status(), Some(0), "{}", done.all());
    let (verdict, _, names) = answer(&place, &["./prog"]);
    assert_eq!(verdict, "verified");
    let files: Vec<&str> = names.iter().filter_map(|name| name.rsplit('/').next()).collect();
    assert_eq!(files, ["libgtest.a", "libgtest_main.a"]);
    let (verdict, code, _) = answer(&place, &["--strict", "./prog"]);
    assert_eq!((verdict.as_str(), code.as_str()), ("incomplete", "unseen-code"));
}
