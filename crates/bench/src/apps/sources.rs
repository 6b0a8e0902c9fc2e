//! Gets sources by the names of their packages. Source packages of the system come by way of the
//! machine's own configuration: a copy of it that asks for sources, with lists and archives of its
//! own, so that nothing of the system changes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::catalog::Package;
use crate::tools::{BenchError, has};

/// Where everything is kept, outside of the sources of raddle.
pub struct Store {
    root: PathBuf,
}

impl Store {
    /// A store in this directory.
    pub fn new(root: PathBuf) -> Result<Self, BenchError> {
        fs::create_dir_all(root.join("sources"))?;
        Ok(Store { root: root.canonicalize()? })
    }

    /// Where packages are unpacked, each under its name.
    pub fn sources(&self) -> PathBuf {
        self.root.join("sources")
    }

    /// Where an application is built.
    pub fn build(&self, name: &str) -> PathBuf {
        self.root.join("build").join(name)
    }

    /// Downloads and unpacks the package, if it is not there yet.
    ///
    /// # Errors
    /// Why it cannot be had.
    pub fn get(&self, package: &Package) -> Result<(), BenchError> {
        let place = self.sources().join(package.name());
        if place.exists() {
            return Ok(());
        }
        match package {
            Package::Debian(name) => self.get_from_system(name, &place),
            Package::Crate(name, version) => self.get_from_cargo(name, version, &place),
        }
    }

    fn get_from_system(&self, name: &str, place: &Path) -> Result<(), BenchError> {
        if !has("apt-get") {
            return Err("there is no apt-get here".into());
        }
        self.prepare_apt()?;
        let archives = self.root.join("archives").join(name);
        fs::create_dir_all(&archives)?;
        let mut download = self.apt("apt-get");
        let done = download.args(["-qq", "source", "--download-only", name]).current_dir(&archives).output()?;
        let archive = original(&archives)?.ok_or_else(|| why(&done))?;
        unpack(&archive, place)
    }

    /// A copy of the system's configuration that asks for sources.
    fn prepare_apt(&self) -> Result<(), BenchError> {
        let apt = self.root.join("apt");
        if apt.join("ready").exists() {
            return Ok(());
        }
        for part in ["parts", "lists/partial", "cache/archives/partial"] {
            fs::create_dir_all(apt.join(part))?;
        }
        let system = Path::new("/etc/apt");
        let mut files = vec![system.join("sources.list")];
        let parts = fs::read_dir(system.join("sources.list.d")).into_iter().flatten();
        files.extend(parts.filter_map(|entry| Some(entry.ok()?.path())));
        for file in files {
            let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let Ok(text) = fs::read_to_string(&file) else { continue };
            if name.ends_with(".sources") || name.ends_with(".list") {
                fs::write(apt.join("parts").join(&name), asking_for_sources(&text))?;
            }
        }
        let done = self.apt("apt-get").args(["-qq", "update"]).output()?;
        if !done.status.success() {
            return Err(why(&done).into());
        }
        fs::write(apt.join("ready"), "")?;
        Ok(())
    }

    fn apt(&self, command: &str) -> Command {
        let apt = self.root.join("apt");
        let mut command = Command::new(command);
        for (option, value) in [
            ("Dir::Etc::sourcelist", PathBuf::from("/dev/null")),
            ("Dir::Etc::sourceparts", apt.join("parts")),
            ("Dir::State::lists", apt.join("lists")),
            ("Dir::Cache", apt.join("cache")),
        ] {
            command.arg("-o").arg(format!("{option}={}", value.display()));
        }
        command.env("LC_ALL", "C");
        command
    }

    /// Lets cargo fetch the package for a project that is thrown away, and say where it is.
    fn get_from_cargo(&self, name: &str, version: &str, place: &Path) -> Result<(), BenchError> {
        let project = tempfile::tempdir()?;
        let manifest = format!(
            "[package]\nname = \"thrown-away\"\nedition = \"2021\"\n[workspace]\n[dependencies]\n\
             {name} = \"={version}\"\n"
        );
        fs::write(project.path().join("Cargo.toml"), manifest)?;
        fs::create_dir(project.path().join("src"))?;
        fs::write(project.path().join("src/lib.rs"), "")?;
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        let done = cargo.current_dir(project.path()).args(["metadata", "--format-version", "1"]).output()?;
        let metadata: serde_json::Value = serde_json::from_slice(&done.stdout).map_err(|_| why(&done))?;
        let packages = metadata["packages"].as_array().into_iter().flatten();
        let found = packages.filter(|package| package["name"] == name).find_map(|package| {
            let manifest = Path::new(package["manifest_path"].as_str()?);
            Some(manifest.parent()?.to_path_buf())
        });
        let found = found.ok_or("the registry gave no such package")?;
        Ok(std::os::unix::fs::symlink(found, place)?)
    }
}

/// The entries of a configuration, as entries for sources.
fn asking_for_sources(text: &str) -> String {
    let line = |line: &str| match line.split_once(':') {
        Some((key, _)) if key.eq_ignore_ascii_case("types") => "Types: deb-src\n".to_owned(),
        _ => match line.strip_prefix("deb ") {
            Some(rest) => format!("deb-src {rest}\n"),
            None => format!("{line}\n"),
        },
    };
    text.lines().map(line).collect()
}

/// The archive of the original sources in a directory.
fn original(directory: &Path) -> Result<Option<PathBuf>, BenchError> {
    let mut archives: Vec<PathBuf> = fs::read_dir(directory)?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    archives.sort();
    let is_original = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        [".orig.tar.gz", ".orig.tar.xz", ".orig.tar.bz2"].iter().any(|end| name.ends_with(end))
    };
    Ok(archives.into_iter().find(is_original))
}

fn unpack(archive: &Path, place: &Path) -> Result<(), BenchError> {
    let unfinished = place.with_extension("unfinished");
    let _ = fs::remove_dir_all(&unfinished);
    fs::create_dir_all(&unfinished)?;
    let done =
        Command::new("tar").arg("-xf").arg(archive).arg("--strip-components=1").arg("-C").arg(&unfinished).output()?;
    if !done.status.success() {
        return Err(why(&done).into());
    }
    Ok(fs::rename(unfinished, place)?)
}

/// The first reason that a command has given, without the addresses in it.
pub fn why(done: &Output) -> String {
    let text = String::from_utf8_lossy(&done.stderr);
    let tells = |line: &&str| line.starts_with("E:") || line.contains("error:") || line.contains("***");
    let reason = text.lines().find(tells).or_else(|| text.lines().next());
    let words = reason.unwrap_or("no reason was given").split_whitespace();
    let words = words.take_while(|word| !word.starts_with('['));
    words.filter(|word| !word.contains("://") && *word != "E:").collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configurations_ask_for_sources() {
        let text = "Types: deb\nURIs: u\nSuites: s\n";
        assert_eq!(asking_for_sources(text), "Types: deb-src\nURIs: u\nSuites: s\n");
        assert_eq!(asking_for_sources("# c\ndeb [signed-by=k] u s main\n"), "# c\ndeb-src [signed-by=k] u s main\n");
    }
}
