//! The analyser, built beside the command, where that looks for it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Set by `./x test`: it builds the whole workspace, the analyser included. Building the analyser
/// alone would compile what it depends on a second time, with other features.
const WORKSPACE_IS_BUILT: &str = "RADDLE_TEST_WORKSPACE_IS_BUILT";

/// Builds it once; where it is.
pub fn analyser() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        if std::env::var_os(WORKSPACE_IS_BUILT).is_none() {
            build();
        }
        let path = Path::new(env!("CARGO_BIN_EXE_raddle")).with_file_name("raddle-analyze");
        assert!(path.is_file(), "{} is missing: unset {WORKSPACE_IS_BUILT}", path.display());
        path
    })
}

fn build() {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["build", "--quiet", "--package", "raddle-analyze"]).current_dir(env!("CARGO_MANIFEST_DIR"));
    if !cfg!(debug_assertions) {
        command.arg("--release");
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
