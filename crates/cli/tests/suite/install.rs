//! Installation and packages, as `./x` makes them, with the command under test.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{Done, Place, finish, raddle};

const PROGRAM: &str = "\
#include <raddle.h>
#include <pthread.h>
static int n;
static void *add(void *p) { n += (int)RADDLE_CHOOSE(2); return p; }
int main(void) {
  pthread_t a;
  pthread_create(&a, 0, add, 0);
  n++;
  pthread_join(a, 0);
  return 0;
}
";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// `./x` with the programs of this build.
fn x(place: &Place, words: &[&str]) -> Command {
    let mut command = place.command(root().join("x"));
    command.args(words).env("X_BUILT", raddle().parent().unwrap()).env_remove("XDG_DATA_HOME");
    command
}

fn succeeded(command: &mut Command) -> Done {
    let done = finish(command);
    assert!(done.status.success(), "{}", done.all());
    done
}

/// Everything below a directory, relative to it.
fn all_below(directory: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let mut open = vec![directory.to_path_buf()];
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let entry = entry.unwrap();
            found.insert(entry.path().strip_prefix(directory).unwrap().to_path_buf());
            if entry.file_type().unwrap().is_dir() {
                open.push(entry.path());
            }
        }
    }
    found
}

/// Uses what is installed in `prefix`, with a home that cannot be written to.
fn use_installed(place: &Place, prefix: &Path) {
    let bin = prefix.join("bin");
    let call = |name: &str, words: &[&str]| {
        let mut command = place.command(bin.join(name));
        finish(command.args(words).env("HOME", "/proc/none").env_remove("XDG_DATA_HOME"))
    };
    place.write("user.c", PROGRAM);
    for name in ["raddle-cc", "raddle-c++"] {
        let source = if name == "raddle-cc" { "user.c" } else { "user.cc" };
        place.write("user.cc", PROGRAM);
        let done = call(name, &["-g", "-pthread", source, "-o", "user"]);
        assert!(done.status.success() && done.stderr.is_empty(), "{}", done.all());
        let checked = call("raddle", &["check", "./user"]);
        assert_eq!(checked.code(), Some(1), "{}", checked.all());
        assert!(checked.stdout.contains("data race on `n`"), "{}", checked.all());
        assert!(succeeded(&mut place.command(place.path("user"))).stdout.is_empty());
    }
    let doctor = call("raddle", &["doctor"]);
    let runtime = prefix.join("lib/raddle").display().to_string();
    assert!(doctor.stdout.contains(&runtime), "{}", doctor.all());
}

#[test]
fn what_is_installed_works_and_can_be_removed() {
    let place = Place::new();
    let prefix = place.path("opt/raddle");
    let words = ["install", "--prefix", "/raddle"];
    let done = succeeded(x(&place, &words).env("DESTDIR", place.path("opt")));
    assert!(done.stderr.contains("export PATH="), "{}", done.all());
    for path in [
        "bin/raddle",
        "bin/raddle-cc",
        "bin/raddle-c++",
        "include/raddle.h",
        "lib/raddle/manifest",
        "share/cmake/Raddle/RaddleConfig.cmake",
        "share/cmake/Raddle/Raddle.cmake",
        "share/man/man1/raddle.1",
        "share/man/man1/raddle-check.1",
        "share/bash-completion/completions/raddle",
        "share/zsh/site-functions/_raddle",
        "share/fish/vendor_completions.d/raddle.fish",
        "share/doc/raddle/README.md",
        "share/doc/raddle/LICENSE-MIT",
        "share/doc/raddle/LICENSE-APACHE",
        "share/doc/raddle/docs/guide/tutorial.md",
        "share/doc/raddle/examples/cmake/CMakeLists.txt",
    ] {
        assert!(prefix.join(path).exists(), "{path}");
    }
    let sections = succeeded(Command::new("readelf").args(["-S", "-W"]).arg(prefix.join("bin/raddle")));
    assert!(!sections.stdout.contains(".debug_info"), "{}", sections.all());
    assert!(all_below(&prefix.join("lib/debug")).iter().any(|path| path.extension().is_some_and(|end| end == "debug")));
    use_installed(&place, &prefix);

    // Another installation replaces it, and removing it leaves what others put there.
    std::fs::write(prefix.join("bin/other"), "").unwrap();
    let before = all_below(&prefix);
    succeeded(x(&place, &words).env("DESTDIR", place.path("opt")));
    assert_eq!(all_below(&prefix), before);
    let words = ["uninstall", "--prefix", "/raddle"];
    succeeded(x(&place, &words).env("DESTDIR", place.path("opt")));
    assert_eq!(all_below(&place.path("opt")), ["raddle", "raddle/bin", "raddle/bin/other"].map(PathBuf::from).into());
    let again = finish(x(&place, &words).env("DESTDIR", place.path("opt")));
    assert!(!again.status.success() && again.stderr.contains("nothing is installed"), "{}", again.all());
}

#[test]
fn cmake_finds_what_is_installed() {
    let place = Place::new();
    let prefix = place.path("raddle");
    succeeded(&mut x(&place, &["install", &format!("--prefix={}", prefix.display())]));
    place.write("user.c", PROGRAM);
    place.write(
        "CMakeLists.txt",
        "cmake_minimum_required(VERSION 3.16)\nproject(user C)\nenable_testing()\n\
         find_package(Raddle REQUIRED)\nraddle_add_test(NAME user SOURCES user.c WILL_FAIL)\n",
    );
    let set = format!("-DCMAKE_PREFIX_PATH={}", prefix.display());
    succeeded(place.command("cmake").args(["-S", ".", "-B", "build", &set]));
    let done = succeeded(place.command("ctest").args(["--test-dir", "build", "-L", "raddle"]));
    assert!(done.stdout.contains("100% tests passed"), "{}", done.all());
    succeeded(&mut x(&place, &["uninstall", "--prefix", prefix.to_str().unwrap()]));
    assert!(!prefix.exists());
}

/// The package in a root of its own, whose database of packages has nothing else; the archive
/// unpacked.
#[test]
fn packages_are_complete() {
    let place = Place::new();
    succeeded(&mut x(&place, &["package", place.path("out").to_str().unwrap()]));
    let version = env!("CARGO_PKG_VERSION");
    let archive = place.path("out").join(format!("raddle-{version}-x86_64-linux.tar.gz"));
    succeeded(place.command("tar").arg("-xzf").arg(archive));
    use_installed(&place, &place.path(&format!("raddle-{version}-x86_64-linux")));

    let package = place.path("out").join(format!("raddle_{version}_amd64.deb"));
    let control = succeeded(place.command("dpkg-deb").arg("-f").arg(&package));
    assert!(control.stdout.contains("Depends: libc6 (>= "), "{}", control.all());
    for directory in ["updates", "info"] {
        std::fs::create_dir_all(place.path("root/var/lib/dpkg").join(directory)).unwrap();
    }
    for file in ["status", "available"] {
        std::fs::write(place.path("root/var/lib/dpkg").join(file), "").unwrap();
    }
    let dpkg = |words: &[&str], file: &Path| {
        let mut command = place.command("dpkg");
        command.arg(format!("--root={}", place.path("root").display())).args(["--force-not-root", "--force-depends"]);
        command.env("PATH", format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap()));
        succeeded(command.args(words).arg(file))
    };
    dpkg(&["--log=/dev/null", "-i"], &package);
    use_installed(&place, &place.path("root/usr"));
    assert!(place.path("root/usr/share/man/man1/raddle-check.1.gz").exists());
    assert!(place.path("root/usr/share/doc/raddle/copyright").exists());
    dpkg(&["--log=/dev/null", "--purge"], Path::new("raddle"));
    let left = all_below(&place.path("root"));
    let is_database = |path: &&PathBuf| path.starts_with("var") || path == &Path::new("var");
    assert_eq!(left.iter().find(|path| !is_database(path)), None);
}

/// What the container's file names is there.
#[test]
fn the_container_is_made_from_what_is_there() {
    let text = std::fs::read_to_string(root().join("share/Containerfile")).unwrap();
    let usage = std::fs::read_to_string(root().join("x")).unwrap();
    assert!(text.contains("RUN ./x package /package") && usage.contains("    package) package \"$@\" ;;"));
    assert!(text.contains("/package/raddle_*_amd64.deb"));
}
