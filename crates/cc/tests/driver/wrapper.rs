//! The wrapper alone, for the tests: called through links named `raddle-cc` and `raddle-c++`, as
//! build systems call the real one. The directory of the runtime comes from the environment.

use raddle_cc::{Environment, Language, Runtime, wrap};
use std::ffi::OsString;
use std::path::Path;
use std::process::exit;

fn main() {
    let mut words = std::env::args_os();
    let own = words.next().unwrap_or_default();
    let name = Path::new(&own).file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let language = Language::from_program_name(name).expect("called as raddle-cc or raddle-c++");
    let directory = std::env::var_os("RADDLE_TEST_RUNTIME").expect("RADDLE_TEST_RUNTIME is set");
    let runtime = Runtime::in_directory(Path::new(&directory)).expect("an absolute path");
    let args: Vec<OsString> = words.collect();
    exit(wrap(language, &args, &Environment::current(), &runtime));
}
