//! Options from the file `raddle.toml` and the variable `RADDLE_OPTIONS`. A flag beats the
//! variable, which beats the file. Each key is the long name of a flag of `raddle check`.

use std::ffi::{OsStr, OsString};

use clap::{Arg, ArgAction, CommandFactory};

use raddle_exec::remote::TOKEN_VARIABLE;

use crate::args::Cli;
use crate::error::{CommandError, say};

/// The file, in the working directory.
const FILE: &str = "raddle.toml";
/// The variable.
const VARIABLE: &str = "RADDLE_OPTIONS";
/// Variables that mean something.
const KNOWN: [&str; 8] = [
    VARIABLE,
    "RADDLE_CC",
    "RADDLE_CXX",
    "RADDLE_CC_VERBOSE",
    "RADDLE_CC_INSIDE",
    "RADDLE_HIDE_TSAN",
    TOKEN_VARIABLE,
    crate::log::VARIABLE,
];

/// The command line with the options of file and variable put before the user's own, for the
/// command that takes them.
///
/// # Errors
/// An option that does not exist, or a file that cannot be read.
pub fn complete(words: Vec<OsString>) -> Result<Vec<OsString>, CommandError> {
    if words.get(1).and_then(|word| word.to_str()) != Some("check") {
        return Ok(words);
    }
    let mut all: Vec<OsString> = words[..2].to_vec();
    match std::fs::read_to_string(FILE) {
        Ok(text) => all.extend(flags(&from_file(&text)?, FILE)?),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(CommandError(format!("{FILE}: {error}"))),
    }
    if let Some(text) = std::env::var_os(VARIABLE) {
        let text = text.to_str().ok_or_else(|| CommandError(format!("{VARIABLE} is not text")))?;
        all.extend(flags(&from_variable(text)?, VARIABLE)?);
    }
    all.extend_from_slice(&words[2..]);
    Ok(all)
}

/// Variables of the runtime and of the build.
const SET_BY_RADDLE: [&str; 5] = [
    "RADDLE_TARGET_FD",
    "RADDLE_TARGET_SERVER",
    "RADDLE_RUNTIME_HASH",
    "RADDLE_CLANG_HOOKS_VERSION",
    "RADDLE_GCC_HOOKS_BUILD",
];

/// Warns about variables that look as if they were meant for raddle, but are not.
pub fn warn_about_unknown_variables() {
    let of_ours = |name: &OsStr| name.to_str().is_some_and(|name| name.starts_with("RADDLE_"));
    for (name, _) in std::env::vars_os().filter(|(name, _)| of_ours(name)) {
        let name = name.to_string_lossy();
        // Those of the tests and of the runtime are set by raddle itself.
        let own = name.starts_with("RADDLE_TEST_") || SET_BY_RADDLE.contains(&name.as_ref());
        if !own && !KNOWN.contains(&name.as_ref()) {
            say(&format!("raddle: warning: {name} means nothing to raddle; options go into {VARIABLE} or {FILE}"));
        }
    }
}

/// A name with its value; a switch that is on has none.
type Setting = (String, Vec<String>);

/// `key = value` pairs at the top of the file or below `[check]`.
fn from_file(text: &str) -> Result<Vec<Setting>, CommandError> {
    let wrong = |what: String| CommandError(format!("{FILE}: {what}"));
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| wrong(error.to_string()))?;
    let mut settings = Vec::new();
    for (key, value) in &table {
        match value {
            toml::Value::Table(inner) if key == "check" => {
                for (key, value) in inner {
                    settings.extend(setting(key, value).map_err(wrong)?);
                }
            }
            value => settings.extend(setting(key, value).map_err(wrong)?),
        }
    }
    Ok(settings)
}

fn setting(key: &str, value: &toml::Value) -> Result<Vec<Setting>, String> {
    let name = key.replace('_', "-");
    let wrong = || format!("{key} must be a text, a list of texts, a number, true or false");
    Ok(match value {
        toml::Value::Boolean(false) => vec![],
        toml::Value::Boolean(true) => vec![(name, vec![])],
        toml::Value::String(text) => vec![(name, vec![text.clone()])],
        toml::Value::Integer(number) => vec![(name, vec![number.to_string()])],
        toml::Value::Float(number) => vec![(name, vec![number.to_string()])],
        // For options that may be given several times.
        toml::Value::Array(texts) => {
            let one = |text: &toml::Value| text.as_str().map(|text| (name.clone(), vec![text.to_string()]));
            texts.iter().map(one).collect::<Option<_>>().ok_or_else(wrong)?
        }
        _ => return Err(wrong()),
    })
}

/// `k=v:k=v`; a value with a colon stands in quotes.
fn from_variable(text: &str) -> Result<Vec<Setting>, CommandError> {
    let mut settings = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let end = rest.find(['=', ':']).unwrap_or(rest.len());
        let (key, after) = rest.split_at(end);
        let (value, left) = match after.strip_prefix('=') {
            None => (None, after),
            Some(after) => match after.chars().next().filter(|quote| matches!(quote, '"' | '\'')) {
                Some(quote) => {
                    let (value, left) = after[1..]
                        .split_once(quote)
                        .ok_or_else(|| CommandError(format!("{VARIABLE}: the value of {key} is not closed")))?;
                    (Some(value), left)
                }
                None => after.find(':').map_or((Some(after), ""), |end| (Some(&after[..end]), &after[end..])),
            },
        };
        rest = left.strip_prefix(':').unwrap_or(left).trim_start();
        match (key.trim(), value) {
            ("", _) => {}
            (_, Some("0" | "false")) if is_switch(key.trim()) => {}
            (key, Some("1" | "true")) if is_switch(key) => settings.push((key.replace('_', "-"), vec![])),
            (key, value) => settings.push((key.replace('_', "-"), value.map(String::from).into_iter().collect())),
        }
    }
    Ok(settings)
}

fn is_switch(key: &str) -> bool {
    flag(&key.replace('_', "-")).is_some_and(|flag| matches!(flag.get_action(), ArgAction::SetTrue))
}

/// The flag of `check` with this long name.
fn flag(name: &str) -> Option<Arg> {
    let mut command = Cli::command();
    command.build();
    let check = command.find_subcommand("check")?;
    check.get_arguments().find(|arg| arg.get_long() == Some(name)).cloned()
}

fn flags(settings: &[Setting], origin: &str) -> Result<Vec<OsString>, CommandError> {
    let mut words = Vec::new();
    for (name, values) in settings {
        let Some(flag) = flag(name) else {
            return Err(CommandError(format!("{origin}: there is no option {name}; `raddle check --help` lists them")));
        };
        let takes_value = !matches!(flag.get_action(), ArgAction::SetTrue);
        match (takes_value, values.first()) {
            (true, Some(value)) => words.push(format!("--{name}={value}").into()),
            (false, None) => words.push(format!("--{name}").into()),
            (true, None) => return Err(CommandError(format!("{origin}: {name} needs a value"))),
            (false, Some(_)) => return Err(CommandError(format!("{origin}: {name} is true or false"))),
        }
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(settings: Result<Vec<Setting>, CommandError>) -> Result<Vec<String>, String> {
        let flags = settings.and_then(|settings| flags(&settings, "x")).map_err(|failure| failure.0)?;
        Ok(flags.into_iter().map(|word| word.into_string().unwrap()).collect())
    }

    #[test]
    fn the_variable_is_a_list_of_pairs() {
        let told = words(from_variable("max_executions=10:quiet=1: werror : json='a:b.json':stop-at-first=0")).unwrap();
        assert_eq!(told, ["--max-executions=10", "--quiet", "--werror", "--json=a:b.json"]);
        assert!(words(from_variable("frobnicate=1")).unwrap_err().contains("there is no option frobnicate"));
        assert!(words(from_variable("json='x")).unwrap_err().contains("not closed"));
        assert!(words(from_variable("quiet=maybe")).unwrap_err().contains("true or false"));
        assert!(words(from_variable("json")).unwrap_err().contains("needs a value"));
    }

    #[test]
    fn the_file_may_have_a_section() {
        let told =
            words(from_file("quiet = true\nwerror = false\n[check]\nmax-events = 5\ntime_limit = 1.5\n")).unwrap();
        assert_eq!(told, ["--max-events=5", "--time-limit=1.5", "--quiet"]);
        assert!(words(from_file("quiet = [1]")).unwrap_err().contains("must be"));
        let told = words(from_file("client = ['tcp:80=a', 'tcp:80=b']")).unwrap();
        assert_eq!(told, ["--client=tcp:80=a", "--client=tcp:80=b"]);
        assert!(words(from_file("quiet = ")).is_err());
    }
}
