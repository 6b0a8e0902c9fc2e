//! The list of applications, `bench/apps/apps.toml`.

use std::path::PathBuf;

use serde::Deserialize;

use crate::tools::{BenchError, root};

/// An application; its fields are explained in the file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct App {
    pub name: String,
    pub from: Vec<Package>,
    pub build: String,
    #[serde(default)]
    pub lines: Vec<String>,
    #[serde(default)]
    pub check: Vec<String>,
    #[serde(default)]
    pub args: Vec<String>,
    #[serde(default)]
    pub run: Vec<String>,
    #[serde(default)]
    pub known: String,
}

/// Where sources come from.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(try_from = "String")]
pub enum Package {
    /// A source package of the system.
    Debian(String),
    /// A package of cargo's registry, and its version.
    Crate(String, String),
}

impl TryFrom<String> for Package {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.split_once(':') {
            Some(("debian", name)) => Ok(Package::Debian(name.into())),
            Some(("crate", package)) => {
                let (name, version) = package.split_once('=').ok_or("a crate needs its version: NAME=VERSION")?;
                Ok(Package::Crate(name.into(), version.into()))
            }
            _ => Err(format!("{text} is neither debian:NAME nor crate:NAME=VERSION")),
        }
    }
}

impl Package {
    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            Package::Debian(name) | Package::Crate(name, _) => name,
        }
    }
}

/// The directory of the list.
pub fn directory() -> PathBuf {
    root().join("bench/apps")
}

/// Reads the list.
pub fn read() -> Result<Vec<App>, BenchError> {
    #[derive(Deserialize)]
    struct Catalog {
        app: Vec<App>,
    }
    let text = std::fs::read_to_string(directory().join("apps.toml"))?;
    Ok(toml::from_str::<Catalog>(&text)?.app)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_can_be_read() {
        let apps = read().unwrap();
        assert!(apps.len() > 10);
        assert!(apps.iter().all(|app| !app.from.is_empty()));
    }
}
