//! Builds the runtime, the hooks that programs are linked with, the plug-in for the emulator, and
//! those for clang and gcc, so that this crate can carry them inside itself.
//!
//! The runtime is a shared library with a profile of its own (no_std, abort on panic, always
//! optimised). A second cargo builds it into a directory of its own: sharing the outer one would
//! wait for its lock for ever.
//!
//! Runtime and hooks are built for aarch64, too, if rustc has that target and
//! `aarch64-linux-gnu-gcc` is there. Otherwise empty files take their places.
//!
//! The plug-ins need the headers of LLVM 19 and of the gcc that is called `gcc`. Where they are not
//! there, an empty file takes the place of a plug-in.

use std::env;
use std::error::Error;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Variables by which the outer cargo would change what the inner one does (lints instead of code,
/// foreign flags).
const FOREIGN: [&str; 7] = [
    "RUSTC_WRAPPER",
    "RUSTC_WORKSPACE_WRAPPER",
    "RUSTFLAGS",
    "CARGO_ENCODED_RUSTFLAGS",
    "CARGO_BUILD_TARGET",
    "CARGO_TARGET_DIR",
    "CARGO_BUILD_TARGET_DIR",
];

/// Says where the headers of LLVM are.
const LLVM_CONFIG: &str = "llvm-config-19";

/// The gcc that the plug-in is built for.
const GCC: &str = "gcc";

/// The gcc for programs for aarch64 on other machines.
const FOREIGN_GCC: &str = "aarch64-linux-gnu-gcc";

/// The profile of the runtime, in the workspace's Cargo.toml.
const PROFILE: &str = "runtime";

fn main() -> Result<(), Box<dyn Error>> {
    let own = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let workspace = own.parent().and_then(Path::parent).ok_or("this package is not inside its workspace")?;
    let out = PathBuf::from(env::var("OUT_DIR")?);
    for name in ["rt", "wire", "vocab", "liveness", "x86", "aarch64", "observer"] {
        println!("cargo::rerun-if-changed={}", workspace.join("crates").join(name).display());
    }
    println!("cargo::rerun-if-changed=build.rs");
    let built = build_library("rt", workspace, &out.join("runtime"), None)?;
    let mut bytes = fs::read(&built)?;
    fs::write(out.join("libraddle_rt.so"), &bytes)?;
    let observer = fs::read(build_library("observer", workspace, &out.join("runtime"), None)?)?;
    fs::write(out.join("libraddle_observer.so"), &observer)?;
    bytes.extend(observer);
    let hooks = workspace.join("crates/cc/hooks");
    bytes.extend(build_hooks(&hooks, &out, &own_tools())?);
    bytes.extend(build_foreign(workspace, &hooks, &out.join("foreign"))?);
    println!("cargo::rerun-if-env-changed=CXX");
    for header in ["assembly.h", "frames.h"] {
        println!("cargo::rerun-if-changed={}", own.join(header).display());
    }
    let for_clang = out.join("raddle-clang-hooks.so");
    let version = build_clang_hooks(&own.join("clang/hooks.cpp"), &for_clang)?;
    println!("cargo::rustc-env=RADDLE_CLANG_HOOKS_VERSION={version}");
    bytes.extend(fs::read(&for_clang)?);
    let for_gcc = out.join("raddle-gcc-hooks.so");
    let build = build_gcc_hooks(GCC, &own.join("gcc/hooks.cpp"), &for_gcc)?;
    println!("cargo::rustc-env=RADDLE_GCC_HOOKS_BUILD={build}");
    bytes.extend(fs::read(&for_gcc)?);
    let for_gcc = out.join("foreign/raddle-gcc-hooks.so");
    let build = build_gcc_hooks(FOREIGN_GCC, &own.join("gcc/hooks.cpp"), &for_gcc)?;
    println!("cargo::rustc-env=RADDLE_FOREIGN_GCC_HOOKS_BUILD={build}");
    bytes.extend(fs::read(&for_gcc)?);
    // Part of the path under which all are installed: another runtime never replaces one in use.
    println!("cargo::rustc-env=RADDLE_RUNTIME_HASH={:016x}", hash(&bytes));
    Ok(())
}

/// What builds the files that a program is linked with.
struct Tools {
    compiler: OsString,
    archiver: OsString,
    options: &'static [&'static str],
}

fn own_tools() -> Tools {
    println!("cargo::rerun-if-env-changed=CC");
    println!("cargo::rerun-if-env-changed=AR");
    let program = |name: &str, usual: &str| env::var_os(name).unwrap_or_else(|| usual.into());
    let options = if cfg!(target_arch = "aarch64") { FOR_AARCH64 } else { FOR_X86_64 };
    Tools { compiler: program("CC", "cc"), archiver: program("AR", "ar"), options }
}

const FOR_X86_64: &[&str] = &["-mcx16", "-fcf-protection=none"];
const FOR_AARCH64: &[&str] = &["-mno-outline-atomics", "-mbranch-protection=none"];

/// Builds runtime and hooks for aarch64 on another machine, and returns their bytes; empty files
/// where rustc or a cross compiler for it is not there.
fn build_foreign(workspace: &Path, hooks: &Path, out: &Path) -> Result<Vec<u8>, Box<dyn Error>> {
    const TARGET: &str = "aarch64-unknown-linux-gnu";
    const NAMES: [&str; 3] = ["libraddle_rt.so", "raddle-hooks.o", "libraddle-hooks.a"];
    fs::create_dir_all(out)?;
    let library =
        asked(Command::new(env::var("RUSTC")?).args(["--print", "target-libdir", "--target", TARGET]), |output| {
            &output.stdout
        });
    let has_library = library.is_some_and(|path| Path::new(&path).exists());
    let has_compiler = asked(Command::new(FOREIGN_GCC).arg("--version"), |output| &output.stdout).is_some();
    if cfg!(target_arch = "aarch64") || !has_library || !has_compiler {
        for name in NAMES {
            fs::write(out.join(name), [])?;
        }
        return Ok(Vec::new());
    }
    let built = build_library("rt", workspace, &out.join("runtime"), Some((TARGET, FOREIGN_GCC)))?;
    let mut bytes = fs::read(&built)?;
    fs::write(out.join(NAMES[0]), &bytes)?;
    let archiver = FOREIGN_GCC.replace("gcc", "ar").into();
    bytes.extend(build_hooks(hooks, out, &Tools { compiler: FOREIGN_GCC.into(), archiver, options: FOR_AARCH64 })?);
    Ok(bytes)
}

/// Builds a crate as a shared library, for this machine or for a target with a linker.
fn build_library(
    name: &str,
    workspace: &Path,
    directory: &Path,
    target: Option<(&str, &str)>,
) -> Result<PathBuf, Box<dyn Error>> {
    let mut cargo = Command::new(env::var("CARGO")?);
    // What it needs was fetched for the outer build already.
    cargo.current_dir(workspace).args(["rustc", "--profile", PROFILE, "--offline", "--quiet", "--package"]);
    cargo.arg(format!("raddle-{name}"));
    cargo.args(["--crate-type", "cdylib"]).arg("--target-dir").arg(directory);
    let mut built = directory.to_path_buf();
    if let Some((target, linker)) = target {
        let variable = target.to_uppercase().replace('-', "_");
        cargo.args(["--target", target]).env(format!("CARGO_TARGET_{variable}_LINKER"), linker);
        built.push(target);
    }
    for name in FOREIGN {
        cargo.env_remove(name);
    }
    let status = cargo.status()?;
    if !status.success() {
        return Err(format!("{name} could not be built as a library: cargo ended with {status}").into());
    }
    Ok(built.join(PROFILE).join(format!("libraddle_{name}.so")))
}

/// Builds what programs are linked with, an object and an archive, and returns their bytes.
fn build_hooks(sources: &Path, out: &Path, tools: &Tools) -> Result<Vec<u8>, Box<dyn Error>> {
    println!("cargo::rerun-if-changed={}", sources.display());
    let object = |name: &str| -> Result<PathBuf, Box<dyn Error>> {
        let built = out.join(name).with_extension("o");
        let mut compiler = Command::new(&tools.compiler);
        compiler.args(["-std=gnu11", "-O2", "-fPIC", "-g0", "-fno-stack-protector", "-fno-lto"]).args(tools.options);
        compiler.args(["-fno-asynchronous-unwind-tables", "-Wall", "-Wextra", "-c"]);
        let status = compiler.arg(sources.join(name).with_extension("c")).arg("-o").arg(&built).status()?;
        if !status.success() {
            return Err(format!("the hooks of programs could not be built ({name}): {status}").into());
        }
        Ok(built)
    };
    let every = object("hooks")?;
    let (linked, archive) = (out.join("raddle-hooks.o"), out.join("libraddle-hooks.a"));
    fs::rename(every, &linked)?;
    let _ = fs::remove_file(&archive);
    let mut archiver = Command::new(&tools.archiver);
    // Without times and users, so that equal builds are equal.
    archiver.arg("crsD").arg(&archive);
    for name in ["sections", "verifier", "libatomic"] {
        archiver.arg(object(name)?);
    }
    let status = archiver.status()?;
    if !status.success() {
        return Err(format!("the archive of hooks could not be made: {status}").into());
    }
    Ok([fs::read(linked)?, fs::read(archive)?].concat())
}

/// Builds the plug-in for clang and returns the version of LLVM that it is for; an empty one where
/// there is no LLVM.
fn build_clang_hooks(source: &Path, built: &Path) -> Result<String, Box<dyn Error>> {
    println!("cargo::rerun-if-changed={}", source.display());
    let about = llvm_config("--version").zip(llvm_config("--includedir"));
    let header = |include: &str| Path::new(include).join("llvm/Passes/PassPlugin.h");
    let Some((version, include)) = about.filter(|(_, include)| header(include).exists()) else {
        fs::write(built, [])?;
        return Ok(String::new());
    };
    println!("cargo::rerun-if-changed={}", header(&include).display());
    if !compile_plug_in(Path::new(&include), source, built)? {
        return Err("the plug-in for clang could not be built".into());
    }
    Ok(version)
}

/// Builds the plug-in for gcc and returns the build of gcc that it is for; an empty one where there
/// are no headers. gcc promises nothing to plug-ins from one version to the next, so a plug-in that
/// cannot be built is as one that is not there.
fn build_gcc_hooks(gcc: &str, source: &Path, built: &Path) -> Result<String, Box<dyn Error>> {
    println!("cargo::rerun-if-changed={}", source.display());
    let include = asked(Command::new(gcc).arg("-print-file-name=plugin/include"), |output| &output.stdout);
    let about = include.zip(gcc_build(gcc)).filter(|(include, _)| Path::new(include).join("gcc-plugin.h").exists());
    if let Some((include, build)) = about {
        println!("cargo::rerun-if-changed={}", Path::new(&include).join("gcc-plugin.h").display());
        if compile_plug_in(Path::new(&include), source, built)? {
            return Ok(build);
        }
        println!("cargo::warning=the plug-in for {gcc} could not be built");
    }
    fs::write(built, [])?;
    Ok(String::new())
}

/// What `raddle_cc::Compiler` tells builds of gcc apart by: the two lines of `gcc -v`.
fn gcc_build(gcc: &str) -> Option<String> {
    let answer = asked(Command::new(gcc).arg("-v").env("LC_ALL", "C"), |output| &output.stderr)?;
    let line = |start: &str| answer.lines().find(|line| line.starts_with(start)).map(|line| line.trim().to_owned());
    Some(format!("{} {}", line("gcc version ")?, line("Configured with: ")?))
}

/// Nothing is linked: a plug-in finds what it needs in the compiler that loads it.
fn compile_plug_in(include: &Path, source: &Path, built: &Path) -> Result<bool, Box<dyn Error>> {
    let mut compiler = Command::new(env::var_os("CXX").unwrap_or_else(|| "c++".into()));
    compiler.args(["-std=c++17", "-O2", "-fPIC", "-shared", "-s", "-fno-exceptions", "-fno-rtti", "-isystem"]);
    Ok(compiler.arg(include).arg(source).arg("-o").arg(built).status()?.success())
}

fn llvm_config(question: &str) -> Option<String> {
    asked(Command::new(LLVM_CONFIG).arg(question), |output| &output.stdout)
}

/// What a program answers; nothing if there is no such program or it fails.
fn asked(command: &mut Command, stream: fn(&Output) -> &Vec<u8>) -> Option<String> {
    let output = command.output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(stream(&output)).trim().to_owned())
}

/// FNV-1a: names versions apart, guards against nothing.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
