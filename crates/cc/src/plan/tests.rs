//! One test per rule of the planner.

use super::*;
use crate::compiler::Version;
use std::path::Path;

/// How the planner is asked: a compiler and a switch.
struct Setting {
    family: Family,
    major: u32,
    language: Language,
    hide_tsan: bool,
}

const GCC: Setting = Setting { family: Family::Gcc, major: 12, language: Language::C, hide_tsan: false };
const GXX: Setting = Setting { language: Language::Cxx, ..GCC };
const CLANG: Setting = Setting { family: Family::Clang, major: 19, ..GCC };

impl Setting {
    fn plan(&self, line: &str) -> Result<CommandPlan, Refusal> {
        self.plan_with(line, None)
    }

    /// With a runtime for another processor, too.
    fn plan_with(&self, line: &str, foreign: Option<&'static str>) -> Result<CommandPlan, Refusal> {
        let invocation = Invocation {
            language: self.language,
            args: crate::response::split(line.as_bytes()),
            hide_tsan: self.hide_tsan,
        };
        let compiler = Compiler {
            program: PathBuf::from("/usr/bin/real"),
            leading: vec!["--lead".into()],
            family: self.family,
            version: Version { major: self.major, minor: 0, patch: 0 },
            machine: "x86_64-linux-gnu".to_owned(),
            build: String::new(),
        };
        let runtime = Runtime::in_directory(Path::new("/rt")).expect("absolute").for_machines("x86_64", foreign);
        plan(&invocation, &compiler, &runtime)
    }

    /// The words of the command after `--lead`.
    fn words(&self, line: &str) -> Vec<String> {
        let plan = self.plan(line).expect("planned");
        assert_eq!(plan.program, Path::new("/usr/bin/real"));
        assert_eq!(plan.args[0], "--lead");
        plan.args[1..].iter().map(|word| word.to_str().expect("unicode").to_owned()).collect()
    }

    fn action(&self, line: &str) -> Action {
        self.plan(line).expect("planned").action
    }

    fn notes(&self, line: &str) -> Vec<String> {
        self.plan(line).expect("planned").notes
    }
}

/// The words of both compilers, for rules that are the same.
fn both(line: &str) -> [Vec<String>; 2] {
    [GCC.words(line), CLANG.words(line)]
}

fn has(words: &[String], wanted: &str) -> bool {
    words.iter().any(|word| word == wanted)
}

fn position(words: &[String], wanted: &str) -> usize {
    words.iter().position(|word| word == wanted).unwrap_or_else(|| panic!("no {wanted} in {words:?}"))
}

fn links_runtime(words: &[String]) -> bool {
    has(words, "/rt/raddle-hooks.o") && !has(words, "/rt/libraddle_rt.so")
}

fn instruments(words: &[String]) -> bool {
    words.iter().any(|word| word == "-fsanitize=thread" || word.starts_with("-specs="))
}

#[test]
fn gcc_compiles_with_every_hook() {
    let words = GCC.words("-O2 -c a.c -o a.o");
    let expected = "-O2 -c a.c -o a.o -fsanitize=thread -g -fno-builtin-memcpy -fno-builtin-memmove \
        -fno-builtin-memset -fno-builtin-memcmp -fno-builtin-strcpy -fno-builtin-strncpy -fno-builtin-strcat \
        -fno-builtin-strcmp -fno-builtin-strncmp -fno-builtin-bcmp -fno-builtin-bzero -fno-builtin-mempcpy \
        -fno-builtin-stpcpy -fno-builtin-strncat -fno-ipa-reference \
        -fstack-reuse=none -fno-ivopts --param tsan-distinguish-volatile=1 -Wno-tsan \
        -grecord-gcc-switches -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=0 -isystem /rt/include";
    assert_eq!(words.join(" "), expected);
}

#[test]
fn clang_compiles_with_every_hook() {
    let words = CLANG.words("-O2 -c a.c -o a.o");
    let expected = "-O2 -c a.c -o a.o -Xclang -fsanitize=thread -g -mllvm \
        -tsan-instrument-read-before-write \
        -mllvm -tsan-distinguish-volatile -mllvm -no-stack-coloring -mllvm -disable-lsr -mprefer-vector-width=128 \
        -Xclang -dwarf-debug-flags -Xclang raddle-hooks default -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=0 \
        -isystem /rt/include -Xclang -fembed-bitcode=bitcode";
    assert_eq!(words.join(" "), expected);
}

#[test]
fn cxx_finds_raddles_headers_before_those_of_its_library() {
    for words in [GXX.words("-c a.cc"), GCC.words("-E a.cpp"), CLANG.words("a.cc b.c -o prog")] {
        assert_eq!(position(&words, "-isystem") + 1, position(&words, "/rt/include"));
    }
    let plan = GXX.plan("-c a.cc").expect("planned");
    for name in ["/rt/include/raddle.h", "/rt/include/bits/atomic_wait.h", "/rt/include/bits/basic_string.tcc"] {
        assert!(plan.support_files.iter().any(|file| file.path == Path::new(name)), "{name}");
    }
    assert!(has(&GCC.words("-c a.c"), "/rt/include"), "for raddle.h");
    assert!(!has(&GCC.words("a.o -o prog"), "/rt/include"));
}

#[test]
fn a_link_gets_the_hooks_last_and_no_sanitizer() {
    for words in both("a.o libb.a -lc -o prog") {
        let expected = "-Wl,--wrap=memcpy,--wrap=memmove,--wrap=memset,--wrap=memcmp,--wrap=strcpy,--wrap=strncpy,\
            --wrap=strcat,--wrap=strlen,--wrap=strcmp,--wrap=strncmp,--wrap=strchr,--wrap=strdup,\
            --wrap=bcmp,--wrap=bzero,--wrap=mempcpy,--wrap=stpcpy,--wrap=strncat,--wrap=memchr,--wrap=strrchr,\
            --wrap=strnlen,--wrap=strstr \
            a.o libb.a -lc -o prog \
            -Xlinker /rt/raddle-hooks.o -Xlinker /rt/libraddle-hooks.a";
        assert_eq!(words.join(" "), expected);
    }
    let words = CLANG.words("-o prog -- a.o");
    let all = "-Wl,--whole-archive -Xlinker /rt/libraddle-hooks.a -Wl,--no-whole-archive -- a.o";
    assert!(words.join(" ").ends_with(all), "{words:?}");
}

#[test]
fn gcc_instruments_through_the_specs_file_when_one_command_does_both() {
    let plan = GCC.plan("a.c b.o -o prog").expect("planned");
    assert_eq!(plan.action, Action::CompileAndLink);
    assert_eq!(plan.support_files[0].path, Path::new("/rt/raddle-gcc.specs"));
    let words = GCC.words("a.c b.o -o prog");
    assert!(has(&words, "-specs=/rt/raddle-gcc.specs") && !has(&words, "-fsanitize=thread"));
    assert!(links_runtime(&words));
}

#[test]
fn clang_needs_no_file_when_one_command_does_both() {
    let plan = CLANG.plan("a.c -o prog").expect("planned");
    assert!(plan.support_files.iter().all(|file| file.path.starts_with("/rt/include")));
    let words = CLANG.words("a.c -o prog");
    assert_eq!(position(&words, "-Xclang") + 1, position(&words, "-fsanitize=thread"));
    assert!(links_runtime(&words));
}

#[test]
fn the_stage_decides_what_is_added() {
    for (line, action, compiles, links) in [
        ("-c a.c", Action::Compile, true, false),
        ("-S a.c", Action::Compile, true, false),
        ("-fsyntax-only a.c", Action::Compile, true, false),
        ("-E a.c", Action::Preprocess, true, false),
        ("-M a.c", Action::Preprocess, true, false),
        ("-MM a.c", Action::Preprocess, true, false),
        ("-MD -MF a.d -c a.c", Action::Compile, true, false),
        ("-MMD a.c", Action::CompileAndLink, true, true),
        ("a.c", Action::CompileAndLink, true, true),
        ("-shared a.o -o liba.so", Action::Link, false, true),
        ("-shared -fPIC a.c -o liba.so", Action::CompileAndLink, true, true),
        ("-v a.c", Action::CompileAndLink, true, true),
        ("'-###' a.c", Action::CompileAndLink, true, true),
        ("-lfoo -shared", Action::Link, false, true),
        ("-shared -Wl,--whole-archive,libx.a", Action::Link, false, true),
        ("-nostdlib -nostartfiles a.c", Action::CompileAndLink, true, true),
        ("-ffreestanding -c a.c", Action::Compile, true, false),
    ] {
        for setting in [GCC, CLANG] {
            let words = setting.words(line);
            assert_eq!(setting.action(line), action, "{line}");
            assert_eq!(instruments(&words), compiles, "{line}");
            assert_eq!(links_runtime(&words), links, "{line}");
        }
    }
}

/// Bitcode goes into what is linked later, and into nothing else.
#[test]
fn clang_puts_bitcode_into_machine_code_alone() {
    for (line, outputs) in [
        ("-c a.c -o dir/a.o", &["dir/a.o"][..]),
        ("-c a.c -odir/a.o", &["dir/a.o"]),
        ("-c src/a.c b.x.c c.o", &["a.o", "b.x.o"]),
        ("a.c", &["a.out"]),
        ("a.c b.o -o prog", &["prog"]),
        ("-S a.c", &[]),
        ("-c -emit-llvm a.c", &[]),
        ("-fsyntax-only a.c", &[]),
        ("-E a.c", &[]),
        ("a.h", &[]),
        ("a.o -o prog", &[]),
    ] {
        let plan = CLANG.plan(line).expect("planned");
        let expected: Vec<PathBuf> = outputs.iter().map(PathBuf::from).collect();
        assert_eq!(plan.with_bitcode, expected, "{line}");
        assert_eq!(has(&CLANG.words(line), "-fembed-bitcode=bitcode"), !outputs.is_empty(), "{line}");
        assert!(GCC.plan(line).expect("planned").with_bitcode.is_empty(), "{line}");
    }
}

#[test]
fn preprocessing_sees_the_same_macros_but_gets_no_code_options() {
    let words = GCC.words("-E a.c");
    assert_eq!(words.join(" "), "-E a.c -fsanitize=thread -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=0 -isystem /rt/include");
    let words = CLANG.words("-E -");
    let expected = "-E - -Xclang -fsanitize=thread -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=0 -isystem /rt/include";
    assert_eq!(words.join(" "), expected);
}

#[test]
fn questions_and_empty_command_lines_pass_unchanged() {
    for line in [
        "",
        "-v",
        "--version",
        "-V",
        "-qversion",
        "-dumpversion",
        "-dumpmachine",
        "-print-search-dirs",
        "-print-file-name=libc.so",
        "-print-prog-name=ld a.c",
        "--help",
        "-Wl,--version",
        "-o prog",
        "-E",
        "-fsanitize=address",
        "-static",
        "-m32 --version",
        "-print-multi-os-directory -m32",
        "--analyze a.c",
        "-cc1 -E a.c",
        "-Wl,-v",
    ] {
        for setting in [GCC, CLANG] {
            assert_eq!(setting.action(line), Action::PassThrough, "{line}");
            assert_eq!(setting.words(line).join(" "), line);
        }
    }
}

#[test]
fn a_forced_language_decides_what_is_compiled() {
    assert!(instruments(&GCC.words("-x c -c -")));
    assert!(instruments(&GCC.words("-xc++ -c code.txt")));
    assert!(!instruments(&GCC.words("-x assembler -c a.c")));
    assert_eq!(GCC.action("-x c a.txt -x none b.o"), Action::CompileAndLink);
}

#[test]
fn assembly_is_not_instrumented_but_linked() {
    for words in both("-c a.s b.S") {
        assert_eq!(words.join(" "), "-c a.s b.S");
    }
    for words in both("a.s -o prog") {
        assert!(!instruments(&words) && links_runtime(&words));
    }
    for words in both("a.s b.c -o prog") {
        assert!(instruments(&words) && links_runtime(&words));
    }
}

#[test]
fn a_header_alone_becomes_a_precompiled_header() {
    for setting in [GCC, GXX, CLANG] {
        for line in ["a.h", "-x c++-header a.hpp -o a.gch", "-x c-header -lm a.h"] {
            assert_eq!(setting.action(line), Action::Compile, "{line}");
            assert!(!links_runtime(&setting.words(line)));
        }
    }
}

#[test]
fn linking_to_an_object_adds_nothing_to_the_link() {
    for line in ["-r a.o b.o -o c.o", "-nostdlib -Wl,-r a.o -o c.o", "-Xlinker --relocatable a.o", "-static -r a.o"] {
        for words in both(line) {
            assert_eq!(words.join(" "), line);
        }
    }
    for words in both("-r a.c b.o -o c.o") {
        assert!(instruments(&words) && !links_runtime(&words));
    }
}

#[test]
fn static_programs_are_refused_by_name() {
    for option in ["-static", "-static-pie", "--static"] {
        for line in [format!("{option} a.c"), format!("a.o {option} -o prog")] {
            let refusal = GCC.plan(&line).expect_err("refused");
            assert_eq!(refusal, Refusal::StaticLink { option: option.to_owned() });
            assert!(refusal.to_string().contains("Link dynamically"));
        }
        assert_eq!(GCC.action(&format!("{option} -c a.c")), Action::Compile, "nothing is linked");
    }
    for words in both("-static-libgcc -static-libstdc++ a.o") {
        assert!(has(&words, "-static-libgcc") && has(&words, "-static-libstdc++"));
    }
}

#[test]
fn narrow_programs_are_refused_by_name() {
    for (line, option) in [
        ("-m32 -c a.c", "-m32"),
        ("-mx32 a.c", "-mx32"),
        ("--target=i686-linux-gnu -c a.c", "--target=i686-linux-gnu"),
        ("-target x86_64-linux-gnux32 -c a.c", "-target x86_64-linux-gnux32"),
    ] {
        let refusal = CLANG.plan(line).expect_err("refused");
        assert_eq!(refusal, Refusal::NotSixtyFourBit { option: option.to_owned() });
    }
    assert_eq!(GCC.action("-m32 -m64 -c a.c"), Action::Compile, "the last one counts");
}

#[test]
fn code_for_other_machines_passes_unchanged() {
    for line in ["-target bpf -O2 -c a.c", "--target=wasm32-wasi a.c", "--target=aarch64-none-elf -static a.c"] {
        assert_eq!(CLANG.words(line).join(" "), line);
        assert_eq!(CLANG.action(line), Action::PassThrough);
    }
    assert!(instruments(&CLANG.words("--target=x86_64-unknown-linux-gnu -c a.c")));
    assert!(instruments(&CLANG.words("--target=amd64-linux -c a.c")));
}

#[test]
fn code_for_aarch64_gets_the_hooks_for_it() {
    let line = "--target=arm64-linux-gnu a.c";
    let plan = CLANG.plan_with(line, Some("aarch64")).expect("planned");
    assert!(plan.args.iter().any(|word| word == "/rt/aarch64/raddle-hooks.o"), "{:?}", plan.args);
    assert_eq!(plan.link_note.expect("a link").machine, "arm64-linux-gnu");
    let refusal = CLANG.plan(line).expect_err("refused");
    assert_eq!(refusal, Refusal::NoRuntime { machine: "arm64-linux-gnu".to_owned() });
    let foreign = Setting { family: Family::Gcc, ..CLANG }.plan_with("a.c", Some("aarch64")).expect("planned");
    assert!(foreign.args.iter().any(|word| word == "/rt/raddle-hooks.o"));
}

#[test]
fn foreign_sanitizers_are_refused_by_name() {
    for name in ["address", "memory", "hwaddress", "leak", "fuzzer", "cfi"] {
        for line in [format!("-fsanitize={name} -c a.c"), format!("-fsanitize=undefined,{name} a.o")] {
            let refusal = CLANG.plan(&line).expect_err("refused");
            assert_eq!(refusal, Refusal::ForeignSanitizer { name: name.to_owned() });
            assert!(refusal.to_string().contains(&format!("`-fsanitize={name}`")));
        }
    }
    for words in both("-fsanitize=address -fno-sanitize=address -c a.c") {
        assert!(!has(&words, "-fsanitize=address") && instruments(&words));
    }
}

#[test]
fn checks_of_undefined_behaviour_stay() {
    for line in ["-fsanitize=thread,undefined -fno-sanitize=vptr -c a.c", "-fsanitize=undefined a.o"] {
        for words in both(line) {
            assert!(has(&words, "-fsanitize=undefined"), "{line}");
        }
    }
    assert!(has(&GCC.words("-fsanitize=undefined -fno-sanitize=vptr -c a.c"), "-fno-sanitize=vptr"));
    assert!(has(&GCC.words("-fsanitize=undefined -fno-sanitize-recover=all a.c"), "-fno-sanitize-recover=all"));
}

#[test]
fn the_users_own_thread_sanitizer_is_raddles() {
    for words in both("-fsanitize=thread a.o -o prog") {
        assert!(!instruments(&words) && links_runtime(&words));
    }
    let words = GCC.words("-fsanitize=thread -static-libtsan a.c");
    assert!(has(&words, "-specs=/rt/raddle-gcc.specs"));
    assert!(!has(&words, "-fsanitize=thread") && !has(&words, "-static-libtsan"));
}

#[test]
fn the_hooks_cannot_be_switched_off() {
    for line in [
        "-fno-sanitize=thread -c a.c",
        "-fno-sanitize=all -c a.c",
        "-fsanitize-ignorelist=l -c a.c",
        "-fno-sanitize-thread-atomics -c a.c",
        "-fsanitize-blacklist=l -c a.c",
        "-fsanitize-ignorelist=l -fsanitize=undefined -c a.c",
    ] {
        for setting in [GCC, CLANG] {
            let words = setting.words(line);
            assert!(instruments(&words), "{line}");
            assert!(!has(&words, line.split(' ').next().expect("a word")), "{line}");
            assert_eq!(setting.notes(line).len(), 1, "{line}");
        }
    }
}

#[test]
fn how_another_sanitizers_runtime_is_linked_stays_with_it() {
    assert!(has(&CLANG.words("-fsanitize=undefined -static-libsan a.o"), "-static-libsan"));
    assert!(!has(&CLANG.words("-fsanitize=thread -static-libsan a.o"), "-static-libsan"));
}

#[test]
fn link_time_optimisation_is_left_out() {
    for words in both("-flto=auto -ffat-lto-objects -fwhole-program -flto-partition=one -O2 a.c") {
        assert!(!words.iter().any(|word| word.contains("lto") || word == "-fwhole-program"));
        assert!(has(&words, "-O2"));
    }
    assert_eq!(GCC.notes("-flto a.o").len(), 1);
}

#[test]
fn fortified_functions_are_switched_off_wherever_they_are_asked_for() {
    for asked in [
        "-D_FORTIFY_SOURCE=2",
        "-D _FORTIFY_SOURCE=2",
        "-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3",
        "-Wp,-D_FORTIFY_SOURCE=2",
        "-Wp,-U_FORTIFY_SOURCE,-D_FORTIFY_SOURCE=3",
        "-Xpreprocessor -D_FORTIFY_SOURCE=2",
    ] {
        for words in both(&format!("{asked} -c a.c")) {
            let mentions: Vec<_> = words.iter().filter(|word| word.contains("FORTIFY")).collect();
            assert_eq!(mentions, ["-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=0"], "{asked}");
            assert!(!words.iter().any(|word| word.starts_with("-Wp") || word == "-Xpreprocessor"));
        }
    }
    assert!(has(&GCC.words("-Wp,-MD,a.d,-D_FORTIFY_SOURCE=2 -c a.c"), "-Wp,-MD,a.d"));
    assert!(has(&GCC.words("-Wp,-MD,a.d -c a.c"), "-Wp,-MD,a.d"));
}

#[test]
fn debug_information_is_there_and_stays_there() {
    for (line, adds) in [
        ("-c a.c", true),
        ("-g0 -c a.c", true),
        ("-g3 -g1 -c a.c", true),
        ("-gsplit-dwarf -c a.c", true),
        ("-g -c a.c", false),
        ("-g3 -c a.c", false),
        ("-g0 -ggdb3 -c a.c", false),
        ("-gdwarf-4 -c a.c", false),
    ] {
        for words in both(line) {
            let last = words.iter().rposition(|word| word == "-g");
            assert_eq!(last.is_some_and(|at| at > position(&words, "a.c")), adds, "{line}");
        }
    }
    for words in both("-s a.o -Wl,-s,-z,now -Xlinker --strip-all -Wl,-S") {
        assert!(has(&words, "-Wl,-z,now") && !has(&words, "-s") && !has(&words, "-Wl,-S"));
        assert!(!has(&words, "--strip-all"));
    }
    assert_eq!(GCC.notes("-s a.o").len(), 1);
}

#[test]
fn words_for_the_linker_are_not_touched_otherwise() {
    for words in both("a.o -Wl,-rpath,/x,--as-needed -Xlinker -z -Xlinker defs -Wl,-soname,liba.so -pthread") {
        for word in ["-Wl,-rpath,/x,--as-needed", "defs", "-Wl,-soname,liba.so", "-pthread"] {
            assert!(has(&words, word), "{word}");
        }
    }
}

#[test]
fn warnings_of_the_hooks_own_making_are_not_errors() {
    for (setting, option) in [(GCC, "-Wno-error=maybe-uninitialized"), (CLANG, "-Wno-error=pass-failed")] {
        for asked in ["-Werror", "-Werror=all"] {
            assert!(has(&setting.words(&format!("{asked} -c a.c")), option));
        }
        assert!(!has(&setting.words("-Wall -c a.c"), option));
    }
}

#[test]
fn optimisation_is_the_users_and_size_keeps_calls_with_gcc() {
    for level in ["-O0", "-O1", "-O2", "-O3", "-Os", "-Og", "-Ofast"] {
        for words in both(&format!("{level} -c a.c")) {
            assert_eq!(words.iter().filter(|word| word.starts_with("-O")).collect::<Vec<_>>(), [level]);
        }
    }
    assert!(has(&GCC.words("-Os -c a.c"), "-mstringop-strategy=libcall"));
    assert!(!has(&GCC.words("-Os -O2 -c a.c"), "-mstringop-strategy=libcall"));
}

#[test]
fn the_sanitizer_is_hidden_only_on_request() {
    for setting in [Setting { hide_tsan: true, ..GCC }, Setting { hide_tsan: true, ..CLANG }] {
        for line in ["-c a.c", "-E a.c", "a.c"] {
            let words = setting.words(line);
            assert!(has(&words, "-U__SANITIZE_THREAD__"), "{line}");
        }
        assert!(!has(&setting.words("a.o"), "-U__SANITIZE_THREAD__"), "nothing is compiled");
    }
    assert!(!has(&GCC.words("-c a.c"), "-U__SANITIZE_THREAD__"));
    let clang = Setting { hide_tsan: true, ..CLANG };
    for (line, hidden) in [("-c a.c", false), ("-std=gnu99 -c a.c", true), ("-ansi -c a.c", true)] {
        let words = clang.words(line);
        assert!(words.iter().any(|word| word.starts_with("-Dthread_sanitizer=")), "{line}");
        assert_eq!(words.iter().any(|word| word.starts_with("-Dc_atomic=")), hidden, "{line}");
    }
}

#[test]
fn old_compilers_get_only_what_they_know() {
    let old_gcc = Setting { major: 9, ..GCC }.words("-c a.c");
    assert!(!has(&old_gcc, "--param") && !has(&old_gcc, "-Wno-tsan") && instruments(&old_gcc));
    let old_clang = Setting { major: 10, ..CLANG }.words("-c a.c");
    assert!(!has(&old_clang, "-tsan-distinguish-volatile") && instruments(&old_clang));
}

#[test]
fn options_come_before_the_end_of_options() {
    let words = CLANG.words("-c -- a.c");
    assert_eq!(words[words.len() - 2..], ["--", "a.c"]);
    assert!(position(&words, "-g") < position(&words, "--"));
}

#[test]
fn unknown_options_pass_in_their_order() {
    let line = "-fnovel-thing -mnovel=3 -Wnovel --novel -march=native -fPIC -std=c11 -I dir -include x.h -c a.c";
    for words in both(line) {
        assert!(words.join(" ").starts_with(line));
    }
}

#[test]
fn raddles_options_stand_where_they_win() {
    for words in both("-c a.c -fbuiltin -o a.o") {
        assert!(position(&words, "a.o") < position(&words, "-fsanitize=thread"));
    }
    for words in both("-Wl,--as-needed -x c a.c -o prog") {
        assert_eq!(words[position(&words, "/rt/raddle-hooks.o") - 1], "-Xlinker", "it is no C file");
    }
}

#[test]
fn a_link_is_recorded_and_nothing_else() {
    let note = GCC.plan("a.c b.o libx.so -Llib -L more -lz -Wl,--whole-archive,liby.a,-lw -o prog").expect("planned");
    let note = note.link_note.expect("a link");
    assert_eq!(note.record.compiler, Path::new("/usr/bin/real"));
    assert_eq!(note.record.inputs, ["b.o", "liby.a"].map(PathBuf::from));
    assert_eq!(note.record.libraries, ["z", "w"].map(OsString::from));
    assert_eq!(note.record.search, ["lib", "more"].map(PathBuf::from));
    // Behind the words that lead every command.
    assert_eq!(note.position, 1);
    for line in ["-c a.c", "-E a.c", "--version"] {
        assert_eq!(GCC.plan(line).expect("planned").link_note, None, "{line}");
    }
}

#[test]
fn the_standard_is_part_of_clangs_mark() {
    let words = CLANG.words("-std=c++20 -c a.cc");
    assert!(has(&words, "raddle-hooks c++20"), "{words:?}");
}

#[test]
fn debug_information_stays_in_the_program() {
    assert!(!has(&GCC.words("-g -gsplit-dwarf -c a.c"), "-gsplit-dwarf"));
}
