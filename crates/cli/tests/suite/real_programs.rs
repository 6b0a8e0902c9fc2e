//! Real code from elsewhere: libraries with threads, whose C sources come with
//! packages of the registry. They are downloaded by name, built with the wrapper, and must give
//! right results under random schedules. Objects stay in the target directory, so that only the
//! first call of the tests builds them.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::common::{Place, finish, for_each, kept, raddle, sources};

/// Random schedules for each program.
const SEEDS: u32 = 10;
/// Names and versions of the packages; other versions may lay their files out in another way, or
/// compress in another way.
const PACKAGES: [(&str, &str); 3] = [("zstd-sys", "=2.1.2"), ("libsqlite3-sys", "=0.30.1"), ("lzma-sys", "=0.1.20")];

/// Directory of a package's sources, downloaded if they are not there yet.
fn package(name: &str) -> PathBuf {
    static DOWNLOADED: OnceLock<Vec<(String, PathBuf)>> = OnceLock::new();
    let all = DOWNLOADED.get_or_init(|| download().unwrap_or_else(|why| panic!("{why}")));
    let found = all.iter().find(|(package, _)| package == name);
    found.unwrap_or_else(|| panic!("the registry gave no package {name}")).1.clone()
}

/// Lets cargo fetch the packages for a project that is thrown away, and say where they are.
fn download() -> Result<Vec<(String, PathBuf)>, String> {
    let place = Place::new();
    let wanted: String = PACKAGES.iter().map(|(name, version)| format!("{name} = \"{version}\"\n")).collect();
    place.write(
        "Cargo.toml",
        format!("[package]\nname = \"thrown-away\"\nedition = \"2021\"\n[workspace]\n[dependencies]\n{wanted}"),
    );
    std::fs::create_dir(place.path("src")).map_err(|error| error.to_string())?;
    place.write("src/lib.rs", "");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(place.path(".")).args(["metadata", "--format-version", "1"]);
    let done = finish(&mut command);
    if !done.status.success() {
        return Err(format!(
            "the sources of zstd, sqlite and xz cannot be downloaded from the registry (is there a network?): {}",
            done.stderr
        ));
    }
    let metadata: serde_json::Value = serde_json::from_str(&done.stdout).map_err(|error| error.to_string())?;
    let packages = metadata["packages"].as_array().ok_or("cargo names no packages")?;
    let directory = |package: &serde_json::Value| {
        let manifest = PathBuf::from(package["manifest_path"].as_str()?);
        Some((package["name"].as_str()?.to_string(), manifest.parent()?.to_path_buf()))
    };
    Ok(packages.iter().filter_map(directory).collect())
}

/// C files of a directory.
fn c_files(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    let all = entries.map(|entry| entry.unwrap().path());
    let mut all: Vec<PathBuf> = all.filter(|path| path.extension().is_some_and(|end| end == "c")).collect();
    all.sort();
    all
}

/// Objects of the files, compiled by the wrapper where they are not there yet.
fn objects(files: &[PathBuf], flags: &[String]) -> Vec<PathBuf> {
    let directory = kept(&format!("objects-{:016x}", how_it_compiles(flags)));
    let object = |file: &Path| {
        let mut hash = DefaultHasher::new();
        hash.write(file.as_os_str().as_encoded_bytes());
        directory.join(format!("{}-{:08x}.o", file.file_stem().unwrap().to_string_lossy(), hash.finish() as u32))
    };
    for_each(files, |file| {
        let (place, object) = (Place::new(), object(file));
        if object.exists() {
            return Ok(());
        }
        let output = place.path("object.o");
        let mut command = place.command(raddle());
        let done = finish(command.arg("cc").args(flags).arg("-c").arg(file).arg("-o").arg(&output));
        if !done.status.success() {
            return Err(done.all());
        }
        let whole = object.with_extension(format!("new-{}", std::process::id()));
        std::fs::copy(&output, &whole).and_then(|_| std::fs::rename(&whole, &object)).map_err(|error| error.to_string())
    });
    files.iter().map(|file| object(file)).collect()
}

/// Hash of the compiler's own command line: objects are as good as new while it is the same.
fn how_it_compiles(flags: &[String]) -> u64 {
    let place = Place::new();
    place.write("empty.c", "");
    let done = finish(place.command(raddle()).arg("cc").args(flags).args(["-###", "-S", "empty.c"]));
    assert!(done.status.success(), "{}", done.all());
    let mut hash = DefaultHasher::new();
    hash.write(done.stderr.as_bytes());
    hash.finish()
}

/// Links one of the programs here with a library.
fn link(place: &Place, name: &str, flags: &[String], objects: &[PathBuf]) -> PathBuf {
    let (source, program) = (sources("programs/libraries").join(name), place.path("program"));
    let mut command = place.command(raddle());
    command.args(["cc", "-O1", "-g", "-pthread"]).args(flags).arg(source).args(objects).args(["-lm", "-o"]);
    let done = finish(command.arg(&program));
    assert!(done.status.success(), "{}", done.all());
    program
}

/// The program must print the same under every schedule as without raddle; and raddle must agree
/// with itself about one of them.
fn is_right(place: &Place, program: &Path, args: &[&str], wanted: &str) {
    let plain = finish(place.command(program).args(args));
    assert_eq!((plain.code(), plain.stdout.trim_end()), (Some(0), wanted), "{}", plain.all());
    let before = listing(place);
    let mut steps = BTreeSet::new();
    for seed in 1..=SEEDS {
        let done = place.run(&["--seed", &seed.to_string()], program, args);
        assert_eq!((done.code(), done.stdout.trim_end()), (Some(0), wanted), "seed {seed}: {}", done.all());
        steps.insert(done.stderr);
    }
    assert!(steps.len() > 1, "every schedule was the same: {steps:?}");
    let checked = place.run(&["--seed", "1", "--self-check", "1"], program, args);
    assert!(checked.stderr.contains("self-check passed"), "{}", checked.all());
    assert_eq!(listing(place), before, "the runs left files behind");
    assert_eq!(place.left_behind(), Vec::<String>::new());
}

fn listing(place: &Place) -> BTreeSet<PathBuf> {
    std::fs::read_dir(place.path(".")).unwrap().map(|entry| entry.unwrap().path()).collect()
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(Into::into).collect()
}

#[test]
fn zstd_compresses_with_workers() {
    let library = package("zstd-sys").join("zstd/lib");
    let files: Vec<PathBuf> =
        ["common", "compress", "decompress"].iter().flat_map(|part| c_files(&library.join(part))).collect();
    let objects = objects(&files, &words("-O1 -DZSTD_MULTITHREAD -DZSTD_DISABLE_ASM -DXXH_NAMESPACE=ZSTD_"));
    let place = Place::new();
    let program = link(&place, "zstd_workers.c", &[format!("-I{}", library.display())], &objects);
    let plain = finish(&mut place.command(&program));
    is_right(&place, &program, &["1"], plain.stdout.trim_end());
}

#[test]
fn sqlite_serves_several_threads() {
    let library = package("libsqlite3-sys").join("sqlite3");
    let flags = words("-O1 -DSQLITE_THREADSAFE=1 -DSQLITE_ENABLE_SHARED_CACHE=1 -DSQLITE_OMIT_LOAD_EXTENSION");
    let objects = objects(&[library.join("sqlite3.c")], &flags);
    let include = [format!("-I{}", library.display())];
    // All threads through one connection; two connections to one file; two that share a cache in
    // memory.
    for (kind, wanted) in [
        ("one", "6 rows, 400 money, first 80, last 120"),
        ("two", "4 rows, 400 money, first 80, last 100"),
        ("shared", "4 rows, 400 money, first 80, last 100"),
    ] {
        let place = Place::new();
        let program = link(&place, "sqlite_threads.c", &include, &objects);
        // Without raddle the database stays: the next run would find it.
        let database = place.path("bank.db");
        let plain = finish(place.command(&program).arg(kind));
        assert_eq!(plain.stdout.trim_end(), wanted, "{}", plain.all());
        if database.exists() {
            std::fs::remove_file(&database).unwrap();
        }
        for seed in 1..=SEEDS {
            let done = place.run(&["--seed", &seed.to_string()], &program, &[kind]);
            assert_eq!((done.code(), done.stdout.trim_end()), (Some(0), wanted), "seed {seed}: {}", done.all());
            assert!(!database.exists(), "the database of a run is there after it");
        }
        let checked = place.run(&["--seed", "1", "--self-check", "1"], &program, &[kind]);
        assert!(checked.stderr.contains("self-check passed"), "{}", checked.all());
        assert_eq!(place.left_behind(), Vec::<String>::new());
    }
}

#[test]
fn xz_compresses_with_workers() {
    let package = package("lzma-sys");
    let library = package.join("xz-5.2/src/liblzma");
    let parts = ["common", "lzma", "lz", "check", "delta", "rangecoder", "simple"];
    let is_used = |file: &PathBuf| {
        let stem = file.file_stem().unwrap().to_string_lossy().into_owned();
        !stem.ends_with("_small") && !stem.ends_with("_tablegen")
    };
    let mut files: Vec<PathBuf> = parts.iter().flat_map(|part| c_files(&library.join(part))).filter(is_used).collect();
    for name in ["cpucores", "physmem"] {
        files.push(package.join(format!("xz-5.2/src/common/tuklib_{name}.c")));
    }
    let mut flags = words("-O1 -std=c99 -DHAVE_CONFIG_H=1 -pthread");
    flags.push(format!("-I{}", package.display()));
    flags.push(format!("-I{}", package.join("xz-5.2/src/common").display()));
    flags.extend(parts.iter().chain(&["api"]).map(|part| format!("-I{}", library.join(part).display())));
    let objects = objects(&files, &flags);
    let place = Place::new();
    let program = link(&place, "xz_workers.c", &[format!("-I{}", library.join("api").display())], &objects);
    is_right(&place, &program, &[], "5176 bytes, c2f185e04b0ddaff");
}
