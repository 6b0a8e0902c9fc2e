//! Scripts of parties.

use raddle_exec::scripts;

/// The bytes are a script, an index, or what the runtime has written of connections. What is read
/// of a script can be written and read again.
pub fn scripts(data: &[u8]) {
    if let Err(error) = scripts::read_index(data) {
        let lines = data.split(|&byte| byte == b'\n').count();
        assert!((1..=lines).contains(&(error.line as usize)) && error.column > 0, "{error}");
    }
    for connection in scripts::connections(data).connections {
        let text: String = connection.actions.iter().map(|action| format!("{action}\n")).collect();
        let actions = scripts::parse(text.as_bytes()).map(|lines| lines.into_iter().map(|line| line.action));
        assert!(actions.is_ok_and(|actions| actions.eq(connection.actions)), "{text}");
    }
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
