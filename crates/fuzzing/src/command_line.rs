//! Command lines of compilers.

use std::path::{Path, PathBuf};

use raddle_cc::{Action, Compiler, Family, Invocation, Language, Runtime, Version, plan, response};

/// Splits the bytes into words and plans the command for each compiler and language.
pub fn command_line(data: &[u8]) {
    let args = response::split(data);
    let args = response::expand(&args, &mut |_| None).expect("there are no files");
    let runtime = Runtime::in_directory(Path::new("/rt")).expect("an absolute path");
    for (family, major) in [(Family::Gcc, 12), (Family::Clang, 19)] {
        let compiler = Compiler {
            program: PathBuf::from("/usr/bin/real"),
            leading: Vec::new(),
            family,
            version: Version { major, minor: 0, patch: 0 },
            machine: "x86_64-linux-gnu".into(),
            build: String::new(),
        };
        for language in [Language::C, Language::Cxx] {
            let invocation = Invocation { language, args: args.clone(), hide_tsan: true };
            if let Ok(plan) = plan(&invocation, &compiler, &runtime)
                && plan.action == Action::PassThrough
            {
                assert_eq!(plan.args, args, "passed through unchanged");
            }
        }
    }
}
