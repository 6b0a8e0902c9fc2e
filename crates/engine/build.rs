//! Builds the runtime, so that this crate can carry it inside itself.
//!
//! The runtime is a shared library with a profile of its own (no_std, abort on panic, always
//! optimised). A second cargo builds it into a directory of its own: sharing the outer one would
//! wait for its lock for ever.

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
    let bytes = fs::read(&built)?;
    fs::write(out.join("libraddle_rt.so"), &bytes)?;
    // Part of the path under which it is installed: another runtime never replaces one in use.
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

/// FNV-1a: names versions apart, guards against nothing.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
