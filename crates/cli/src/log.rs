//! What raddle decides and why, on standard error: `RADDLE_LOG=explore=debug,exec=debug`.

use tracing_subscriber::EnvFilter;

/// The variable that says what is logged.
pub const VARIABLE: &str = "RADDLE_LOG";

/// Logs what [`VARIABLE`] asks for; nothing without it.
pub fn install() {
    let Some(directives) = std::env::var(VARIABLE).ok().filter(|text| !text.is_empty()) else { return };
    let filter = EnvFilter::builder().parse_lossy(with_crate_names(&directives));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).without_time().init();
}

/// Raddle's crates may be named without their common prefix.
fn with_crate_names(directives: &str) -> String {
    let full = |directive: &str| match directive.split_once('=') {
        Some((name, _)) if !name.starts_with("raddle") => format!("raddle_{directive}"),
        _ => directive.to_string(),
    };
    directives.split(',').map(full).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_are_named_by_their_folder() {
        assert_eq!(with_crate_names("explore=debug,raddle_exec=info"), "raddle_explore=debug,raddle_exec=info");
        assert_eq!(with_crate_names("debug"), "debug");
    }
}
