//! Real programs, built with real compilers through the wrapper, and run.

use crate::common::{self, Workshop, runtime_directory, silent, succeeded};
use raddle_cc::{REFUSED_STATUS, Runtime, SourceBuild, execute};

/// Two threads add under a lock; the sum and the status are fixed.
const MAIN_C: &str = r#"
#include <pthread.h>
#include <stdio.h>
#include "sum.h"
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int total;
static void *work(void *argument) {
    pthread_mutex_lock(&lock);
    total = sum(total, *(int *)argument);
    pthread_mutex_unlock(&lock);
    return 0;
}
int main(void) {
    pthread_t threads[2];
    int values[2] = {3, 4};
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, work, &values[i]);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    printf("total %d\n", total);
    return total;
}
"#;
const SUM_H: &str = "int sum(int a, int b);\n";
const SUM_C: &str = "#include \"sum.h\"\nint calls;\nint sum(int a, int b) { calls++; return a + b; }\n";

const THREADS_CPP: &str = r#"
#include <atomic>
#include <iostream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>
int main() {
    std::atomic<int> count{0};
    std::mutex lock;
    std::string text;
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; i++)
        threads.emplace_back([&] {
            count.fetch_add(1);
            std::atomic_thread_fence(std::memory_order_seq_cst);
            std::lock_guard<std::mutex> guard(lock);
            text += "x";
        });
    for (auto &thread : threads) thread.join();
    try { throw 5; } catch (int value) { count += value; }
    std::cout << text << " " << count << std::endl;
    return 0;
}
"#;

fn program(shop: &Workshop) {
    shop.write("main.c", MAIN_C);
    shop.write("sum.c", SUM_C);
    shop.write("sum.h", SUM_H);
}

fn assert_runs(shop: &Workshop, name: &str) {
    let output = shop.run(name);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "total 7\n");
    assert_eq!(output.status.code(), Some(7));
}

#[test]
fn files_compiled_one_by_one_are_hooked_and_linked_with_the_runtime() {
    for shop in Workshop::each() {
        program(&shop);
        for level in ["-O0", "-O2", "-Os"] {
            silent(shop.cc(&format!("{level} -c main.c -o main.o")));
            silent(shop.cc(&format!("{level} -c sum.c")));
            shop.assert_hooked("main.o");
            shop.assert_hooked("sum.o");
            silent(shop.cc("-pthread main.o sum.o -o prog"));
            shop.assert_linked("prog");
            assert_runs(&shop, "prog");
        }
    }
}

#[test]
fn one_command_compiles_and_links() {
    for shop in Workshop::each() {
        program(&shop);
        silent(shop.cc("-pthread main.c sum.c"));
        shop.assert_linked("a.out");
        assert!(shop.called("a.out").contains(&"__tsan_func_entry".to_owned()));
        assert_runs(&shop, "a.out");
    }
}

#[test]
fn cxx_programs_run() {
    for shop in Workshop::each() {
        shop.write("threads.cpp", THREADS_CPP);
        for flags in ["-O0 -std=c++17", "-O2 -std=c++20"] {
            silent(shop.cxx(&format!("{flags} -pthread threads.cpp -o prog")));
            shop.assert_linked("prog");
            assert_eq!(shop.printed("prog"), "xxx 8\n");
            silent(shop.cxx(&format!("{flags} -pthread -c threads.cpp")));
            silent(shop.cxx("threads.o -static-libstdc++ -static-libgcc -o prog2"));
            assert_eq!(shop.printed("prog2"), "xxx 8\n");
        }
    }
}

#[test]
fn shared_libraries_and_archives_are_linked() {
    for shop in Workshop::each() {
        program(&shop);
        silent(shop.cc("-shared -fPIC sum.c -Wl,--no-undefined -Wl,-soname,libsum.so -o libsum.so"));
        shop.assert_linked("libsum.so");
        silent(shop.cc("-pthread main.c -L. -lsum -Wl,-rpath,$ORIGIN -o shared"));
        shop.assert_linked("shared");
        assert!(shop.needed("shared").contains(&"libsum.so".to_owned()));
        assert_runs(&shop, "shared");

        silent(shop.cc("-c sum.c -o sum.o"));
        shop.archive("libarchive.a", "sum.o");
        silent(shop.cc("-pthread main.c libarchive.a -o with_file"));
        assert_runs(&shop, "with_file");
        silent(shop.cc("-pthread main.c -Wl,-Bstatic -L. -larchive -Wl,-Bdynamic -o with_l"));
        assert_runs(&shop, "with_l");
    }
}

#[test]
fn a_library_without_the_standard_ones_is_linked() {
    for shop in Workshop::each() {
        shop.write("a.c", "int counter; int next(void) { return ++counter; }\n");
        silent(shop.cc("-shared -fPIC -nostdlib -nostartfiles a.c -o liba.so"));
        shop.assert_linked("liba.so");
        silent(shop.cc("-ffreestanding -c a.c"));
        shop.assert_hooked("a.o");
    }
}

#[test]
fn objects_combine_to_an_object() {
    for shop in Workshop::each() {
        program(&shop);
        silent(shop.cc("-c main.c"));
        silent(shop.cc("-c sum.c"));
        silent(shop.cc("-r -nostdlib main.o sum.o -o both.o"));
        shop.assert_hooked("both.o");
        silent(shop.cc("-r -nostdlib main.c sum.o -o again.o"));
        silent(shop.cc("-pthread both.o -o prog"));
        assert_runs(&shop, "prog");
        silent(shop.cc("-pthread again.o -o prog"));
        assert_runs(&shop, "prog");
    }
}

#[test]
fn response_files_are_read_nested_and_quoted() {
    for shop in Workshop::each() {
        program(&shop);
        shop.write("a dir/name.c", "#include <stdio.h>\nint main(void) { puts(NAME); return 0; }\n");
        shop.write("outer.rsp", "'a dir/name.c' @inner.rsp\n-o prog\n");
        shop.write("inner.rsp", r#"-DNAME=\"two\ words\" -DOTHER"#);
        silent(shop.cc("@outer.rsp"));
        shop.assert_linked("prog");
        assert_eq!(shop.printed("prog"), "two words\n");

        // Too long for a command line once it is expanded.
        silent(shop.cc("-c sum.c"));
        let long = "long_directory_name/".repeat(10);
        std::fs::create_dir_all(shop.path(&long)).expect("created");
        let archive = format!("{long}libsum.a");
        shop.archive(&archive, "sum.o");
        shop.write("many.rsp", &format!("{archive}\n").repeat(1500));
        silent(shop.cc("-pthread main.c @many.rsp -o many"));
        assert_runs(&shop, "many");
    }
}

/// Builds the same thing with the wrapper and with the real compiler, in a directory each, and
/// compares which files come out.
fn assert_same_files(shop: &Workshop, line: &str) {
    let name = format!("{:x}", line.bytes().fold(7_u64, |hash, byte| hash * 31 % 1_000_003 + u64::from(byte)));
    let mut results = Vec::new();
    for (side, program) in [("ours", shop.wrapper("raddle-cc")), ("real", shop.toolchain.cc.program.clone())] {
        let directory = format!("{side}-{name}");
        for (file, text) in [("main.c", MAIN_C), ("sum.c", SUM_C), ("sum.h", SUM_H)] {
            shop.write(&format!("{directory}/{file}"), text);
        }
        let mut command = shop.command(program);
        command.current_dir(shop.path(&directory)).args(common::words(line));
        succeeded(common::output(&mut command));
        results.push(shop.files(&directory));
    }
    assert_eq!(results[0], results[1], "{line}");
}

#[test]
fn the_same_files_come_out_as_from_the_real_compiler() {
    for shop in Workshop::each() {
        for line in [
            "-pthread main.c sum.c",
            "-c main.c sum.c",
            "-S main.c",
            "-E main.c -o main.i",
            "-fsyntax-only main.c",
            "-MD -c main.c -o x.o",
            "-MMD -MP -MF deps.d -MT target -c main.c",
            "-MD main.c sum.c -pthread -o prog",
            "-MM main.c -MF deps.d",
            "-Wp,-MMD,deps.d -c main.c",
            "-save-temps -pthread main.c sum.c -o prog",
            "-g -gsplit-dwarf -pthread main.c sum.c -o prog",
            "-g -gsplit-dwarf -c main.c -o x.o",
            "sum.h",
            "-x c-header sum.h -o sum.pch",
        ] {
            assert_same_files(&shop, line);
        }
        let shared_library = "-shared -fPIC sum.c -o libsum.so";
        assert_same_files(&shop, shared_library);
    }
}

#[test]
fn dependency_files_say_what_the_real_ones_say() {
    for shop in Workshop::each() {
        program(&shop);
        for line in ["-M main.c", "-MM main.c", "-MM -MT x main.c sum.c"] {
            assert_eq!(silent(shop.cc(line)).stdout, succeeded(shop.real_cc(line)).stdout, "{line}");
        }
        for (line, file) in [("-MMD -c main.c -o x.o", "x.d"), ("-MD -MF y.d -MP -pthread main.c sum.o", "y.d")] {
            silent(shop.cc("-c sum.c"));
            silent(shop.cc(line));
            let ours = shop.read(file);
            succeeded(shop.real_cc(&format!("{line} -c").replace(" sum.o -c", " -c")));
            let real = shop.read(file);
            let sources = |text: &str| text.split_once(':').expect("a rule").1.to_owned();
            assert_eq!(sources(&ours), sources(&real), "{line}");
        }
    }
}

#[test]
fn questions_are_answered_as_by_the_real_compiler() {
    for shop in Workshop::each() {
        for line in [
            "--version",
            "-dumpversion",
            "-dumpmachine",
            "-print-search-dirs",
            "-print-file-name=libc.so.6",
            "-print-prog-name=ld",
            "-print-multi-os-directory",
            "-v",
            "-Wl,--version",
            "",
            "--help",
            "-c",
            "nosuchfile.c",
            "-E nosuchfile.c",
            "-nosuchoption",
        ] {
            let (ours, real) = (shop.cc(line), shop.real_cc(line));
            assert_eq!(ours.status.code(), real.status.code(), "{line}");
            assert_eq!(String::from_utf8_lossy(&ours.stdout), String::from_utf8_lossy(&real.stdout), "{line}");
        }
        let ours = shop.cc("-v");
        assert_eq!(String::from_utf8_lossy(&ours.stderr), String::from_utf8_lossy(&shop.real_cc("-v").stderr));
    }
}

#[test]
fn errors_are_the_compilers_own() {
    for shop in Workshop::each() {
        shop.write("wrong.c", "int main(void) { return x; }\n");
        let (ours, real) = (shop.cc("-c wrong.c"), shop.real_cc("-c wrong.c"));
        assert_eq!(ours.status.code(), real.status.code());
        assert_eq!(String::from_utf8_lossy(&ours.stderr), String::from_utf8_lossy(&real.stderr));
    }
}

#[test]
fn standard_input_is_compiled() {
    for shop in Workshop::each() {
        program(&shop);
        for (line, expected) in [("-x c - -c -o piped.o", true), ("-E -", false), ("-dM -E -x c -", false)] {
            let mut command = shop.command(shop.wrapper("raddle-cc"));
            let input = std::fs::File::open(shop.path("sum.c")).expect("opened");
            let output = succeeded(common::output(command.args(common::words(line)).stdin(input)));
            assert_eq!(output.stdout.is_empty(), expected, "{line}");
        }
        shop.assert_hooked("piped.o");
    }
}

#[test]
fn assembly_is_assembled_and_linked() {
    for shop in Workshop::each() {
        let note = ".section .note.GNU-stack,\"\",@progbits\n";
        shop.write("plain.s", &format!(".globl plain\nplain: ret\n{note}"));
        shop.write("macros.S", &format!("#define NAME macros\n.globl NAME\nNAME: ret\n{note}"));
        shop.write("main.c", "void plain(void); void macros(void);\nint main(void) { plain(); macros(); return 0; }\n");
        silent(shop.cc("-Werror -c plain.s macros.S"));
        silent(shop.cc("-Werror main.c plain.o macros.S -o prog"));
        succeeded(shop.run("prog"));
        silent(shop.cc("-Werror main.c plain.s macros.o -o prog"));
        succeeded(shop.run("prog"));
    }
}

#[test]
fn strict_warnings_as_errors_do_not_stop_a_clean_program() {
    for shop in Workshop::each() {
        program(&shop);
        shop.write(
            "fence.c",
            "#include <stdatomic.h>\nint main(void) { atomic_thread_fence(memory_order_seq_cst); return 0; }\n",
        );
        let mut strict = "-std=c11 -Werror -Wall -Wextra -pedantic -Wundef -Wshadow -Wunused-macros".to_owned();
        if !shop.toolchain.is_gcc() {
            strict.push_str(" -Weverything -Wno-padded -Wno-declaration-after-statement -Wno-unsafe-buffer-usage");
            strict.push_str(" -Wno-missing-variable-declarations -Wno-pre-c11-compat -Wno-unknown-warning-option");
            strict
                .push_str(" -Wno-atomic-implicit-seq-cst -Wno-disabled-macro-expansion -Wno-poison-system-directories");
        }
        for level in ["-O0", "-O2", "-O3 -D_FORTIFY_SOURCE=2"] {
            for line in ["-c sum.c", "-S sum.c", "-E sum.c -o x", "-fsyntax-only sum.c", "-M sum.c", "fence.c"] {
                silent(shop.cc(&format!("{strict} {level} {line}")));
            }
            silent(shop.cc(&format!("{strict} {level} -pthread main.c sum.c -o prog")));
            silent(shop.cc("-Werror -fPIC -c sum.c -o sum.o"));
            silent(shop.cc(&format!("{strict} {level} -shared sum.o -o libsum.so")));
        }
    }
}

#[test]
fn unknown_flags_still_fail_the_way_configure_scripts_expect() {
    for shop in Workshop::each() {
        program(&shop);
        assert!(!shop.cc("-Werror -fno-such-flag-at-all -c sum.c").status.success());
        if !shop.toolchain.is_gcc() {
            let unused = shop.cc("-Werror=unused-command-line-argument -Lsomewhere -c sum.c");
            assert!(!unused.status.success(), "gcc has no such warning, clang must keep it");
        }
    }
}

#[test]
fn fortified_copies_are_not() {
    for shop in Workshop::each() {
        shop.write(
            "copy.c",
            "#include <string.h>\nchar to[64];\nvoid copy(const char *from, size_t n) { memcpy(to, from, n); }\n",
        );
        let mut spellings =
            vec!["-D_FORTIFY_SOURCE=2", "-D _FORTIFY_SOURCE=2", "-Wp,-D_FORTIFY_SOURCE=2", "-U_FORTIFY_SOURCE"];
        if shop.toolchain.is_gcc() && shop.toolchain.cc.version.major >= 14 {
            spellings.push("-fhardened");
        }
        for asked in spellings {
            silent(shop.cc(&format!("-Werror -Wall -O2 {asked} -c copy.c")));
            let undefined = shop.undefined("copy.o");
            assert!(!undefined.iter().any(|name| name.ends_with("_chk")), "{asked}: {undefined:?}");
        }
    }
}

/// Memory functions in the forms that compilers like to expand in line; each must stay visible.
const COPIES_C: &str = r#"
#include <stdio.h>
#include <string.h>
char a[64] = "abcdefghijklmno", b[64];
int main(void) {
    memcpy(b, a, 12);
    memmove(b + 1, b, 13);
    memset(a, 'x', 7);
    int same = memcmp(a, b, 11) == 0;
    strcpy(b + 20, "literal");
    strncpy(b + 40, "lit", 7);
    strcat(b + 20, "tail");
    printf("%s %s %d %d %d\n", b + 1, b + 20, same, strcmp(a, "xx") == 0, strncmp(a, "xx", 2) == 0);
    return 0;
}
"#;

#[test]
fn every_copy_is_visible() {
    for shop in Workshop::each() {
        shop.write("copies.c", COPIES_C);
        for level in ["-O0", "-O1", "-O2", "-O3", "-Os"] {
            silent(shop.cc(&format!("{level} copies.c -o prog")));
            assert_eq!(shop.printed("prog"), "abcdefghijkl literaltail 0 0 1\n", "{level}");
            let seen = shop.called("prog");
            for function in ["memcpy", "memmove", "memset", "memcmp", "strcpy", "strcmp", "bcmp"] {
                assert!(!seen.iter().any(|name| name == function), "{level}: {function} is called directly");
            }
            if shop.toolchain.is_gcc() {
                for function in ["memcpy", "memmove", "memset", "memcmp", "strcpy", "strncpy", "strcat", "strncmp"] {
                    assert!(seen.contains(&format!("__wrap_{function}")), "{level}: {function} in {seen:?}");
                }
            } else {
                let compares = |name: &String| name == "__wrap_memcmp" || name == "__wrap_bcmp";
                assert!(seen.iter().any(compares), "{level}: {seen:?}");
            }
        }
    }
}

#[test]
fn reads_before_writes_and_volatile_accesses_have_hooks() {
    for shop in Workshop::each() {
        shop.write("a.c", "int x; volatile int v;\nvoid f(void) { x++; v = 1; }\n");
        for level in ["-O0", "-O2"] {
            silent(shop.cc(&format!("{level} -c a.c")));
            let undefined = shop.undefined("a.o");
            for hook in ["__tsan_read4", "__tsan_write4", "__tsan_volatile_write4"] {
                assert!(undefined.iter().any(|name| name == hook), "{level}: {hook} in {undefined:?}");
            }
        }
    }
}

#[test]
fn built_in_knowledge_that_programs_rely_on_is_kept() {
    for shop in Workshop::each() {
        shop.write(
            "a.c",
            r#"
#include <math.h>
#include <string.h>
static const unsigned long n = strlen("abc");
#ifndef __clang__ /* which does not take this for a constant in the first place */
static const double root = sqrt(4.0);
#else
static const double root = 2.0;
#endif
int main(int argc, char **argv) {
    return n == 3 && root == 2.0 && fabs((double)-argc) == argc && argv[0] ? 0 : 1;
}
"#,
        );
        silent(shop.cc("a.c -o prog"));
        succeeded(shop.run("prog"));
    }
}

/// Prints whether the program can see the sanitizer, and whether other features are still told
/// right.
const VISIBLE_C: &str = r#"
#include <stdio.h>
#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer) || __has_feature(__thread_sanitizer__)
#define SEEN "seen"
#else
#define SEEN "hidden"
#endif
#if defined(__clang__) && !(__has_feature(c_static_assert) == (__STDC_VERSION__ >= 201112L))
#error "a wrong answer about another feature"
#endif
int main(void) { puts(SEEN); return 0; }
"#;

#[test]
fn the_sanitizer_can_be_hidden_from_the_program() {
    for shop in Workshop::each() {
        shop.write("visible.c", VISIBLE_C);
        for standard in ["-std=gnu99", "-std=gnu11", ""] {
            let line = format!("-Wall -Wextra -Werror {standard} visible.c -o prog");
            silent(shop.cc(&line));
            assert_eq!(shop.printed("prog"), "seen\n");
            let mut hiding = shop.command(shop.wrapper("raddle-cc"));
            hiding.env("RADDLE_HIDE_TSAN", "1").args(common::words(&line));
            silent(common::output(&mut hiding));
            assert_eq!(shop.printed("prog"), "hidden\n", "{standard}");
            assert!(shop.called("prog").contains(&"__tsan_func_entry".to_owned()));
        }
    }
}

#[test]
fn debug_information_survives_attempts_to_remove_it() {
    for shop in Workshop::each() {
        program(&shop);
        for flags in ["-g0", "-s", "-Wl,-s", "-Wl,--strip-all,-z,now", "-g0 -s"] {
            silent(shop.cc(&format!("-pthread {flags} main.c sum.c -o prog")));
            let mut readelf = shop.command("readelf");
            let sections = succeeded(common::output(readelf.args(["-S", "-W", "prog"])));
            let text = String::from_utf8_lossy(&sections.stdout).into_owned();
            assert!(text.contains(".debug_info") && text.contains(".symtab"), "{flags}");
        }
    }
}

#[test]
fn link_time_optimisation_does_not_lose_the_hooks() {
    for shop in Workshop::each() {
        program(&shop);
        for flags in ["-flto", "-flto=auto -O2"] {
            silent(shop.cc(&format!("{flags} -c main.c")));
            silent(shop.cc(&format!("{flags} -c sum.c")));
            shop.assert_hooked("sum.o");
            silent(shop.cc(&format!("{flags} -pthread main.o sum.o -o prog")));
            assert_runs(&shop, "prog");
        }
    }
}

#[test]
fn checks_of_undefined_behaviour_work_beside_the_runtime() {
    for shop in Workshop::each() {
        shop.write("shift.c", "#include <stdio.h>\nint main(int argc, char **argv) { return argc << 40 ? 0 : 0; }\n");
        let works = shop.real_cc("-fsanitize=undefined shift.c -o real").status.success();
        assert!(works, "the runtime of -fsanitize=undefined is not installed: install the package libclang-rt-19-dev");
        silent(shop.cc("-fsanitize=undefined,thread -w shift.c -o prog"));
        let output = succeeded(shop.run("prog"));
        assert!(String::from_utf8_lossy(&output.stderr).contains("shift exponent 40 is too large"));
        shop.assert_linked("prog");
        silent(shop.cc("-fsanitize=undefined -w -c shift.c"));
        silent(shop.cc("-fsanitize=undefined shift.o -o prog"));
        succeeded(shop.run("prog"));
    }
}

#[test]
fn what_cannot_work_is_refused_with_a_sentence() {
    for shop in Workshop::each() {
        program(&shop);
        for (line, sentence) in [
            ("-static main.c sum.c", "raddle cc: `-static` cannot be used"),
            ("-static-pie main.c sum.c", "raddle cc: `-static-pie` cannot be used"),
            ("-m32 -c sum.c", "raddle cc: `-m32` cannot be used"),
            ("-fsanitize=address -c sum.c", "raddle cc: `-fsanitize=address` cannot be combined with raddle"),
            ("-fsanitize=leak main.c", "raddle cc: `-fsanitize=leak` cannot be combined with raddle"),
        ] {
            let output = shop.cc(line);
            assert_eq!(output.status.code(), Some(REFUSED_STATUS), "{line}");
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(said.starts_with(sentence) && said.lines().count() == 1, "{line}: {said}");
        }
    }
}

#[test]
fn precompiled_headers_are_made_and_used() {
    for shop in Workshop::each() {
        shop.write("pre.h", "#include <stdio.h>\nstatic int answer(void) { return 42; }\n");
        shop.write("main.c", "int main(void) { printf(\"%d\\n\", answer()); return 0; }\n");
        let made = if shop.toolchain.is_gcc() { "pre.h.gch" } else { "pre.h.pch" };
        silent(shop.cc(&format!("-x c-header pre.h -o {made}")));
        let warn = if shop.toolchain.is_gcc() { "-Winvalid-pch" } else { "" };
        silent(shop.cc(&format!("-Werror {warn} -include pre.h main.c -o prog")));
        assert_eq!(shop.printed("prog"), "42\n");
    }
}

#[test]
fn the_commands_are_shown_on_request() {
    for shop in Workshop::each() {
        program(&shop);
        let mut command = shop.command(shop.wrapper("raddle-cc"));
        command.env("RADDLE_CC_VERBOSE", "1").args(["-flto", "-c", "sum.c"]);
        let output = succeeded(common::output(&mut command));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("raddle cc: `-flto` is left out"), "{said}");
        assert!(said.contains("-fsanitize=thread"), "{said}");
    }
}

#[test]
fn a_wrapper_around_the_wrapper_does_not_loop() {
    for shop in Workshop::each() {
        program(&shop);
        // `cc` in front of PATH starts the wrapper, as users do to catch makefiles that say `cc`.
        shop.write("front.sh", "#!/bin/sh\nexec raddle-cc \"$@\"\n");
        // By another process: nothing can be run while a child of this one, between fork and exec,
        // has it open for writing.
        succeeded(common::output(shop.command("install").args(["-D", "-m755", "front.sh", "front/cc"])));
        let inherited = std::env::var("PATH").expect("PATH");
        let path = format!("{}:{}:{inherited}", shop.path("front").display(), shop.path("bin").display());
        let mut command = shop.command("cc");
        command.env_remove("RADDLE_CC").env_remove("RADDLE_CXX").env("PATH", &path);
        silent(common::output(command.args(["-pthread", "main.c", "sum.c", "-o", "prog"])));
        assert_runs(&shop, "prog");
        let mut named = shop.command("cc");
        named.env("RADDLE_CC", "cc").env("PATH", &path).args(["-c", "sum.c"]);
        let output = common::output(&mut named);
        assert_eq!(output.status.code(), Some(REFUSED_STATUS));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("raddle would start itself"), "{said}");
    }
}

#[test]
fn sources_named_to_raddle_itself_are_built() {
    for shop in Workshop::each() {
        program(&shop);
        shop.write("twice.cpp", "extern \"C\" int twice(int x);\nint twice(int x) { return 2 * x; }\n");
        let runtime = Runtime::in_directory(runtime_directory()).expect("absolute");
        let mut build = SourceBuild {
            sources: vec![shop.path("main.c"), shop.path("sum.c")],
            cflags: common::words("-DX='a b' -lm"),
            output: shop.path("prog"),
            hide_tsan: false,
        };
        let plan = build.plan(&shop.toolchain.cc, &runtime).expect("planned");
        assert_eq!(execute(&plan).expect("started"), 0);
        shop.assert_linked("prog");
        assert_runs(&shop, "prog");

        build.sources.push(shop.path("twice.cpp"));
        build.output = shop.path("mixed");
        let plan = build.plan(&shop.toolchain.cxx, &runtime).expect("planned");
        assert_eq!(execute(&plan).expect("started"), 0);
        assert_runs(&shop, "mixed");
    }
}
