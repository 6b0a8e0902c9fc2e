//! Scripts of parties.

use raddle_exec::scripts;

/// The bytes are a script. What is read can be written and read again.
pub fn scripts(data: &[u8]) {
    match scripts::parse(data) {
        Ok(lines) => {
            let text: String = lines.iter().map(|line| format!("{}\n", line.action)).collect();
            let again = scripts::parse(text.as_bytes()).expect("what was written can be read");
            assert!(lines.iter().map(|line| &line.action).eq(again.iter().map(|line| &line.action)), "{text}");
        }
        Err(error) => {
            let lines = data.split(|&byte| byte == b'\n').count();
            assert!((1..=lines).contains(&(error.line as usize)) && error.column > 0, "{error}");
        }
    }
}
