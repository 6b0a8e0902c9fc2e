//! Projects that build unchanged with `CC=raddle-cc`: a configure script with make, CMake, Meson.
//! Each runs programs while it is configured and built, as ordinary programs without raddle.

use crate::common::{Workshop, output, succeeded};
use raddle_testkit::tools::require;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Copies the project and the program that all projects build.
fn check_out(shop: &Workshop, project: &str) {
    let projects = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/projects");
    fs::create_dir(shop.path("src")).expect("created");
    for folder in ["shared", project] {
        for entry in fs::read_dir(projects.join(folder)).expect("listed") {
            let file = entry.expect("readable").path();
            // By another process: the configure script could not be run while a child of this one,
            // between fork and exec, has it open for writing.
            succeeded(output(shop.command("cp").arg(file).arg(shop.path("src"))));
        }
    }
}

/// A command with the wrapper as the compiler, in a directory below the workshop.
fn building(shop: &Workshop, directory: &str, line: &[&str]) -> Command {
    let mut command = shop.command(line[0]);
    command
        .args(&line[1..])
        .current_dir(shop.path(directory))
        .env("CC", shop.wrapper("raddle-cc"))
        .env("CXX", shop.wrapper("raddle-c++"))
        .env_remove("CFLAGS")
        .env_remove("LDFLAGS");
    command
}

fn build(shop: &Workshop, directory: &str, line: &[&str]) {
    eprintln!("{line:?}");
    succeeded(output(&mut building(shop, directory, line)));
}

/// Both programs print the right thing, end as they should, and are linked with the runtime.
fn assert_built(shop: &Workshop, directory: &str) {
    let main = shop.run(&format!("{directory}/main"));
    assert_eq!(String::from_utf8_lossy(&main.stdout), "sum 285\n");
    assert_eq!(main.status.code(), Some(3));
    assert_eq!(shop.printed(&format!("{directory}/tool")), "sum 285\n");
    for program in ["main", "tool"] {
        shop.assert_linked(&format!("{directory}/{program}"));
    }
}

#[test]
fn a_configure_script_and_make() {
    require("make");
    for shop in Workshop::each() {
        check_out(&shop, "configure");
        build(&shop, "src", &["./configure"]);
        build(&shop, "src", &["make"]);
        assert_built(&shop, "src");
        shop.assert_linked("src/liblocked.so");
        assert!(shop.undefined("src/locked.o").contains(&"__tsan_write4".to_owned()));
        assert!(shop.read("src/table.d").contains("generated.h"), "dependencies are tracked");
    }
}

#[test]
fn a_cmake_project() {
    require("cmake");
    require("ninja");
    for shop in Workshop::each() {
        check_out(&shop, "cmake");
        let [cc, cxx] = ["raddle-cc", "raddle-c++"].map(|name| shop.wrapper(name).display().to_string());
        let (cc, cxx) = (format!("-DCMAKE_C_COMPILER={cc}"), format!("-DCMAKE_CXX_COMPILER={cxx}"));
        let prefix = format!("-DCMAKE_INSTALL_PREFIX={}", shop.path("installed").display());
        build(&shop, "src", &["cmake", "-G", "Ninja", "-B", "../build", &cc, &cxx, &prefix]);
        build(&shop, "build", &["ninja"]);
        assert_built(&shop, "build");
        shop.assert_linked("build/liblocked.so");
        build(&shop, "build", &["ctest", "--output-on-failure"]);
        build(&shop, "build", &["cmake", "--install", "."]);
        assert_built(&shop, "installed/bin");
        assert!(shop.printed("installed/bin/generator").starts_with("static const int"));
    }
}

#[test]
fn a_cmake_project_with_makefiles_in_release_mode() {
    require("cmake");
    require("make");
    for shop in Workshop::each() {
        check_out(&shop, "cmake");
        let release = "-DCMAKE_BUILD_TYPE=Release";
        build(&shop, "src", &["cmake", "-G", "Unix Makefiles", "-B", "../build", release]);
        build(&shop, "build", &["make"]);
        assert_built(&shop, "build");
    }
}

#[test]
fn a_meson_project() {
    require("meson");
    require("ninja");
    for shop in Workshop::each() {
        check_out(&shop, "meson");
        let prefix = format!("--prefix={}", shop.path("installed").display());
        build(&shop, "src", &["meson", "setup", "--libdir=lib", &prefix, "../build"]);
        build(&shop, "build", &["ninja"]);
        assert_built(&shop, "build");
        build(&shop, "build", &["meson", "test", "--print-errorlogs"]);
        build(&shop, "build", &["meson", "install"]);
        assert_built(&shop, "installed/bin");
    }
}

#[test]
fn meson_with_its_own_thread_sanitizer_switched_on() {
    require("meson");
    require("ninja");
    for shop in Workshop::each() {
        check_out(&shop, "meson");
        build(&shop, "src", &["meson", "setup", "-Db_sanitize=thread", "-Db_lundef=false", "../build"]);
        build(&shop, "build", &["ninja"]);
        assert_built(&shop, "build");
    }
}

#[test]
fn static_builds_are_refused_where_a_build_system_asks_for_them() {
    require("cmake");
    for shop in Workshop::each() {
        check_out(&shop, "cmake");
        let mut command = building(&shop, "src", &["cmake", "-B", "../build", "-DCMAKE_EXE_LINKER_FLAGS=-static"]);
        let output = output(&mut command);
        assert!(!output.status.success());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("`-static` cannot be used"), "{said}");
    }
}
