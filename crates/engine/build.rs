//! Builds the runtime and the plug-in for clang, so that this crate can carry them inside itself.
//!
//! The runtime is a shared library with a profile of its own (no_std, abort on panic, always
//! optimised). A second cargo builds it into a directory of its own: sharing the outer one would
//! wait for its lock for ever.
//!
//! The plug-in needs the headers of LLVM 19. Where they are not there, an empty file takes its place.

use std::env;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

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

/// The profile of the runtime, in the workspace's Cargo.toml.
const PROFILE: &str = "runtime";

fn main() -> Result<(), Box<dyn Error>> {
    let own = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let workspace = own.parent().and_then(Path::parent).ok_or("this package is not inside its workspace")?;
    let out = PathBuf::from(env::var("OUT_DIR")?);
    for name in ["rt", "wire", "vocab", "x86"] {
        println!("cargo::rerun-if-changed={}", workspace.join("crates").join(name).display());
    }
    println!("cargo::rerun-if-changed=build.rs");
    let built = build_runtime(workspace, &out.join("runtime"))?;
    let mut bytes = fs::read(&built)?;
    fs::write(out.join("libraddle_rt.so"), &bytes)?;
    let plug_in = out.join("raddle-clang-hooks.so");
    let version = build_plug_in(&own.join("clang/hooks.cpp"), &plug_in)?;
    println!("cargo::rustc-env=RADDLE_CLANG_HOOKS_VERSION={version}");
    bytes.extend(fs::read(&plug_in)?);
    // Part of the path under which both are installed: another runtime never replaces one in use.
    println!("cargo::rustc-env=RADDLE_RUNTIME_HASH={:016x}", hash(&bytes));
    Ok(())
}

fn build_runtime(workspace: &Path, target: &Path) -> Result<PathBuf, Box<dyn Error>> {
    let mut cargo = Command::new(env::var("CARGO")?);
    // What it needs was fetched for the outer build already.
    cargo.current_dir(workspace).args([
        "rustc",
        "--profile",
        PROFILE,
        "--offline",
        "--quiet",
        "--package",
        "raddle-rt",
    ]);
    cargo.args(["--crate-type", "cdylib"]).arg("--target-dir").arg(target);
    for name in FOREIGN {
        cargo.env_remove(name);
    }
    let status = cargo.status()?;
    if !status.success() {
        return Err(format!("the runtime could not be built: cargo ended with {status}").into());
    }
    Ok(target.join(PROFILE).join("libraddle_rt.so"))
}

/// Builds the plug-in and returns the version of LLVM that it is for; an empty one where there is
/// no LLVM. Nothing is linked to it: it finds LLVM in the clang that loads it.
fn build_plug_in(source: &Path, built: &Path) -> Result<String, Box<dyn Error>> {
    println!("cargo::rerun-if-changed={}", source.display());
    println!("cargo::rerun-if-env-changed=CXX");
    let about = llvm_config("--version").zip(llvm_config("--includedir"));
    let header = |include: &str| Path::new(include).join("llvm/Passes/PassPlugin.h");
    let Some((version, include)) = about.filter(|(_, include)| header(include).exists()) else {
        fs::write(built, [])?;
        return Ok(String::new());
    };
    println!("cargo::rerun-if-changed={}", header(&include).display());
    let mut compiler = Command::new(env::var_os("CXX").unwrap_or_else(|| "c++".into()));
    compiler.args(["-std=c++17", "-O2", "-fPIC", "-shared", "-s", "-fno-exceptions", "-fno-rtti", "-isystem"]);
    let status = compiler.arg(include).arg(source).arg("-o").arg(built).status()?;
    if !status.success() {
        return Err(format!("the plug-in for clang could not be built: the compiler ended with {status}").into());
    }
    Ok(version)
}

fn llvm_config(question: &str) -> Option<String> {
    let answer = Command::new(LLVM_CONFIG).arg(question).output().ok()?;
    answer.status.success().then(|| String::from_utf8_lossy(&answer.stdout).trim().to_owned())
}

/// FNV-1a: names versions apart, guards against nothing.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
