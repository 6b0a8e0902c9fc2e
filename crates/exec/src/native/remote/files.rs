//! Files with code: told by their contents, kept on the host's side.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The folder of the cache in which the copies are.
const FOLDER: &str = "raddle/modules";

/// A file on the agent's side.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRow {
    /// Its path, as bytes.
    pub path: Vec<u8>,
    /// The checksum of its contents.
    pub id: String,
    /// Its bytes.
    pub size: u64,
    /// Name, checksum and bytes of the separate file with its debug information, if there is one.
    pub debug: Option<(Vec<u8>, String, u64)>,
}

impl FileRow {
    /// The path.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        OsString::from_vec(self.path.clone()).into()
    }
}

/// The checksum of contents.
#[must_use]
pub fn id_of(contents: &[u8]) -> String {
    Sha256::digest(contents).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What tells that a file is still the one that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    place: (u64, u64),
    size: u64,
    changed: (i64, i64),
}

/// Checksums of files, each computed once.
#[derive(Debug, Default)]
pub struct Checksums(Mutex<BTreeMap<PathBuf, (Stamp, String)>>);

impl Checksums {
    /// The checksum of a file as it is now, and its size.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn of(&self, path: &Path) -> io::Result<(String, u64)> {
        let about = std::fs::metadata(path)?;
        // Reading anything else might never end.
        if !about.is_file() {
            return Err(io::Error::other("it is no regular file"));
        }
        let stamp = Stamp {
            place: (about.dev(), about.ino()),
            size: about.size(),
            changed: (about.ctime(), about.ctime_nsec()),
        };
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, id)) = known.get(path)
            && *of == stamp
        {
            return Ok((id.clone(), stamp.size));
        }
        let id = id_of(&std::fs::read(path)?);
        known.insert(path.into(), (stamp, id.clone()));
        Ok((id, stamp.size))
    }

    /// What the other side is told about a file.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn row(&self, path: &Path) -> io::Result<FileRow> {
        let (id, size) = self.of(path)?;
        Ok(FileRow { path: path.as_os_str().as_bytes().to_vec(), id, size, debug: None })
    }
}

/// The folder with copies of files from agents.
fn folder() -> PathBuf {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = variable("XDG_CACHE_HOME").or_else(|| variable("HOME").map(|home| home.join(".cache")));
    cache.filter(|cache| cache.is_absolute()).unwrap_or_else(std::env::temp_dir).join(FOLDER)
}

/// Where the copy of a file is kept: below its checksum, at the path that it has on the other side.
fn place(file: &FileRow) -> Option<PathBuf> {
    let is_id = file.id.len() == 64 && file.id.bytes().all(|byte| byte.is_ascii_hexdigit());
    let path = file.path();
    let names = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name),
        _ => None,
    });
    let below: PathBuf = names.collect();
    let is_sound = is_id && path.is_absolute() && !path.components().any(|part| part == Component::ParentDir);
    (is_sound && below.file_name().is_some()).then(|| folder().join(&file.id).join(below))
}

/// Where the copy of a file would be that cannot be had.
#[must_use]
pub fn missing(file: &FileRow) -> PathBuf {
    place(file).unwrap_or_else(|| folder().join("missing"))
}

/// The path that a copy has on the other side; the path itself if it is no copy.
#[must_use]
pub fn original(path: &Path) -> PathBuf {
    let below = path.strip_prefix(folder()).ok().map(|below| below.components().skip(1).collect::<PathBuf>());
    below.map_or_else(|| path.into(), |below| Path::new("/").join(below))
}

/// A copy of a file of the other side: the same file here, or the one in the cache, or a new one
/// from `fetch`.
///
/// # Errors
/// If there is none; a sentence.
pub fn copy_of(
    file: &FileRow,
    known: &Checksums,
    candidates: &[&Path],
    fetch: impl FnOnce(&FileRow) -> Result<Vec<u8>, String>,
) -> Result<PathBuf, String> {
    let path = file.path();
    let is_it = |path: &&Path| {
        // The other side names the path: a file of another size is not read for it.
        let has_size = path.metadata().is_ok_and(|about| about.len() == file.size);
        has_size && known.of(path).is_ok_and(|(id, _)| id == file.id)
    };
    if let Some(same) = candidates.iter().copied().chain([&*path]).find(is_it) {
        return Ok(same.into());
    }
    let place = place(file).ok_or_else(|| format!("{} is no file to be fetched", path.display()))?;
    if is_it(&&*place) {
        return Ok(place);
    }
    let contents = fetch(file)?;
    if id_of(&contents) != file.id {
        return Err(format!("{} came with other contents than was said", path.display()));
    }
    keep(&place, &contents).map_err(|error| format!("{}: {error}", place.display()))?;
    Ok(place)
}

/// Writes a file so that no other process sees a part of it.
fn keep(place: &Path, contents: &[u8]) -> io::Result<()> {
    let directory = place.parent().unwrap_or(Path::new("/"));
    std::fs::create_dir_all(directory)?;
    let mut part = tempfile::NamedTempFile::new_in(directory)?;
    io::Write::write_all(&mut part, contents)?;
    part.as_file().set_permissions(std::fs::Permissions::from_mode(0o700))?;
    part.persist(place).map(drop).map_err(|error| error.error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(path: &str, contents: &[u8]) -> FileRow {
        FileRow { path: path.into(), id: id_of(contents), size: contents.len() as u64, debug: None }
    }

    #[test]
    fn copies_know_where_they_are_from() {
        let file = row("/usr/lib/libx.so", b"x");
        let place = place(&file).unwrap();
        assert_eq!(original(&place), file.path());
        assert_eq!(original(Path::new("/usr/lib/liby.so")), Path::new("/usr/lib/liby.so"));
    }

    #[test]
    fn no_path_leads_out_of_the_folder() {
        for path in ["/../../etc/passwd", "relative", "/", ""] {
            assert_eq!(place(&row(path, b"x")), None, "{path}");
        }
        let odd = FileRow { id: "../../x".into(), ..row("/a", b"") };
        assert_eq!(place(&odd), None);
    }

    #[test]
    fn the_same_file_here_is_taken_and_others_are_not() {
        let directory = tempfile::tempdir().unwrap();
        let here = directory.path().join("program");
        std::fs::write(&here, b"same").unwrap();
        let known = Checksums::default();
        let file = row("/nowhere/program", b"same");
        assert_eq!(copy_of(&file, &known, &[&here], |_| unreachable!()), Ok(here.clone()));
        let other = row("/nowhere/program", b"other");
        let wrong = copy_of(&other, &known, &[&here], |_| Ok(b"forged".to_vec())).unwrap_err();
        assert!(wrong.contains("other contents"), "{wrong}");
    }
}
