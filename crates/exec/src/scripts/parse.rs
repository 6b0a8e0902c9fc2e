//! The text of scripts: one action in each line, comments behind `#`, strings with escapes as in C.

use std::fmt;
use std::iter::Peekable;
use std::str::Chars;

use raddle_vocab::party::MAX_LINES;

use super::{ScriptAction, ScriptLine};

/// Characters of a wrong word that a message shows, at most.
const LONGEST_WORD: usize = 40;

/// Where a script stops making sense, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptError {
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
    /// What is wrong there.
    pub what: String,
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.what)
    }
}

type Reader<'a> = &'a dyn Fn(&str) -> Result<Vec<u8>, String>;

/// Reads a script; `read` gives the content of files that it names.
pub(super) fn script(bytes: &[u8], read: Reader<'_>) -> Result<Vec<ScriptLine>, ScriptError> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let before = &bytes[..error.valid_up_to()];
        let line = before.iter().filter(|&&byte| byte == b'\n').count() as u32 + 1;
        let column = before.iter().rev().take_while(|&&byte| byte != b'\n').count() as u32 + 1;
        ScriptError { line, column, what: "this is not UTF-8: other bytes are written as \\xHH".into() }
    })?;
    let mut lines: Vec<ScriptLine> = Vec::new();
    for (number, text) in (1..).zip(text.lines()) {
        let mut cursor = Cursor::new(text, number);
        let Some(action) = cursor.line(read)? else { continue };
        if number > MAX_LINES {
            return Err(cursor.wrong(1, "a script has too many lines"));
        }
        if let Some(end) = lines.iter().rfind(|line| line.action.ends()) {
            return Err(cursor.wrong(1, format!("the connection has ended in line {}", end.line)));
        }
        let has_shut = lines.iter().any(|line| line.action == ScriptAction::Shutdown);
        if has_shut && matches!(action, ScriptAction::Send(_) | ScriptAction::Shutdown) {
            return Err(cursor.wrong(1, "behind `shutdown` nothing is sent"));
        }
        lines.push(ScriptLine { line: number, action });
    }
    Ok(lines)
}

/// Reads one action that names no file.
pub(super) fn action(text: &str) -> Result<ScriptAction, ScriptError> {
    let mut cursor = Cursor::new(text, 1);
    let read = |_: &str| Err("a file cannot be read here".into());
    cursor.line(&read)?.ok_or_else(|| cursor.wrong(1, "there is no action"))
}

impl ScriptAction {
    /// Whether there is no connection behind it.
    fn ends(&self) -> bool {
        matches!(self, ScriptAction::Close | ScriptAction::Reset)
    }
}

/// A line that is read.
struct Cursor<'a> {
    rest: Peekable<Chars<'a>>,
    line: u32,
    /// Of the next character, from 1.
    column: u32,
}

impl<'a> Cursor<'a> {
    fn new(text: &'a str, line: u32) -> Self {
        Cursor { rest: text.chars().peekable(), line, column: 1 }
    }

    fn wrong(&self, column: u32, what: impl Into<String>) -> ScriptError {
        ScriptError { line: self.line, column, what: what.into() }
    }

    fn next(&mut self) -> Option<char> {
        self.column += 1;
        self.rest.next()
    }

    fn skip_blanks(&mut self) {
        while self.rest.next_if(|c| c.is_whitespace()).is_some() {
            self.column += 1;
        }
    }

    fn is_at_end(&mut self) -> bool {
        self.skip_blanks();
        matches!(self.rest.peek(), None | Some('#'))
    }

    /// A word up to a blank, and its column.
    fn word(&mut self) -> (String, u32) {
        self.skip_blanks();
        let (mut word, column) = (String::new(), self.column);
        while let Some(c) = self.rest.next_if(|&c| !c.is_whitespace() && c != '"') {
            self.column += 1;
            word.push(c);
        }
        (word, column)
    }

    fn line(&mut self, read: Reader<'_>) -> Result<Option<ScriptAction>, ScriptError> {
        if self.is_at_end() {
            return Ok(None);
        }
        let (word, column) = self.word();
        let action = match word.as_str() {
            "send" => ScriptAction::Send(self.strings()?),
            "send-file" => {
                let data = self.file(read)?;
                ScriptAction::Send(data)
            }
            "expect" => self.expect()?,
            "expect-line" => ScriptAction::ExpectUntil(b"\n".to_vec()),
            "expect-until" => ScriptAction::ExpectUntil(self.strings()?),
            "expect-close" => ScriptAction::ExpectClose,
            "shutdown" => ScriptAction::Shutdown,
            "close" => ScriptAction::Close,
            "reset" => ScriptAction::Reset,
            "delay" => ScriptAction::Delay(self.span()?),
            _ => {
                let known = "send, send-file, expect, expect-line, expect-until, expect-close, shutdown, close, reset \
                             or delay";
                let word: String = word.chars().take(LONGEST_WORD).flat_map(char::escape_debug).collect();
                return Err(self.wrong(column, format!("there is no action `{word}`: it is {known}")));
            }
        };
        if !self.is_at_end() {
            return Err(self.wrong(self.column, format!("the line goes on behind `{word}`")));
        }
        Ok(Some(action))
    }

    /// `"..."`, or `N bytes`.
    fn expect(&mut self) -> Result<ScriptAction, ScriptError> {
        self.skip_blanks();
        if !self.rest.peek().is_some_and(char::is_ascii_digit) {
            return self.strings().map(ScriptAction::Expect);
        }
        let (number, column) = self.word();
        let count = number.parse().ok().filter(|&count| count > 0);
        let count = count.ok_or_else(|| self.wrong(column, format!("`{number}` is no number of bytes")))?;
        let (unit, column) = self.word();
        match unit.as_str() {
            "byte" | "bytes" => Ok(ScriptAction::ExpectBytes(count)),
            _ => Err(self.wrong(column, "`bytes` is missing behind the number")),
        }
    }

    /// `5ms`.
    fn span(&mut self) -> Result<u64, ScriptError> {
        let (text, column) = self.word();
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let unit = match &text[digits..] {
            "ns" => Some(1),
            "us" => Some(1_000),
            "ms" => Some(1_000_000),
            "s" => Some(1_000_000_000),
            _ => None,
        };
        let span =
            unit.zip(text[..digits].parse().ok()).and_then(|(unit, number): (u64, u64)| number.checked_mul(unit));
        span.ok_or_else(|| self.wrong(column, "a delay is a number with ns, us, ms or s, as in 5ms"))
    }

    /// The rest of the line is the name of a file, in quotes if it has blanks.
    fn file(&mut self, read: Reader<'_>) -> Result<Vec<u8>, ScriptError> {
        self.skip_blanks();
        let column = self.column;
        let name = match self.rest.peek() {
            Some('"') => String::from_utf8(self.string()?).map_err(|_| self.wrong(column, "the name is not UTF-8"))?,
            _ => self.word().0,
        };
        if name.is_empty() {
            return Err(self.wrong(column, "the name of a file is missing"));
        }
        read(&name).map_err(|error| self.wrong(column, error))
    }

    /// One string or several, which are put together.
    fn strings(&mut self) -> Result<Vec<u8>, ScriptError> {
        self.skip_blanks();
        let column = self.column;
        let mut data = Vec::new();
        while self.rest.peek() == Some(&'"') {
            data.extend(self.string()?);
            self.skip_blanks();
        }
        if data.is_empty() {
            return Err(self.wrong(column, "a string in quotes with at least one byte is missing"));
        }
        Ok(data)
    }

    fn string(&mut self) -> Result<Vec<u8>, ScriptError> {
        let start = self.column;
        let mut data = Vec::new();
        self.next();
        loop {
            match self.next() {
                None => return Err(self.wrong(start, "the string is not closed")),
                Some('"') => return Ok(data),
                Some('\\') => data.push(self.escape()?),
                Some(c) => data.extend(c.encode_utf8(&mut [0; 4]).bytes()),
            }
        }
    }

    fn escape(&mut self) -> Result<u8, ScriptError> {
        let column = self.column - 1;
        let next = self.next();
        Ok(match next {
            Some('n') => b'\n',
            Some('r') => b'\r',
            Some('t') => b'\t',
            Some('a') => 7,
            Some('b') => 8,
            Some('v') => 11,
            Some('f') => 12,
            Some(c @ ('\\' | '"' | '\'')) => c as u8,
            Some('x') => {
                let digits: Option<String> = (0..2).map(|_| self.next()).collect();
                let value = digits.filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
                let value = value.and_then(|digits| u8::from_str_radix(&digits, 16).ok());
                value.ok_or_else(|| self.wrong(column, "\\x takes two hexadecimal digits"))?
            }
            Some(first @ '0'..='7') => {
                let mut value = first as u32 - '0' as u32;
                for _ in 0..2 {
                    let Some(digit) = self.rest.next_if(|c| ('0'..='7').contains(c)) else { break };
                    self.column += 1;
                    value = value * 8 + (digit as u32 - '0' as u32);
                }
                u8::try_from(value).map_err(|_| self.wrong(column, "the number is no byte"))?
            }
            _ => return Err(self.wrong(column, "there is no such escape")),
        })
    }
}

/// The bytes as a string of a script has them.
pub(super) fn escaped(data: &[u8]) -> String {
    let mut text = String::new();
    for &byte in data {
        match byte {
            b'\n' => text += "\\n",
            b'\r' => text += "\\r",
            b'\t' => text += "\\t",
            b'"' | b'\\' => text.extend(['\\', char::from(byte)]),
            b' '..=b'~' => text.push(char::from(byte)),
            _ => text += &format!("\\x{byte:02x}"),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Vec<ScriptLine>, String> {
        let read = |name: &str| if name == "f" { Ok(b"file".to_vec()) } else { Err(format!("{name}: not there")) };
        script(text.as_bytes(), &read).map_err(|error| error.to_string())
    }

    #[test]
    fn every_action_is_read() {
        let text = "# comment\n\nsend \"a\\n\" \"\\x00\\101\\\"\\\\\" # more\n expect \"ok\\r\\n\"\nexpect 12 bytes\n\
                    expect-line\nexpect-until \"\\r\\n\\r\\n\"\ndelay 5ms\nsend-file f\n\
                    shutdown\nexpect-close\nclose\n";
        let lines = parsed(text).unwrap();
        let actions: Vec<String> = lines.iter().map(|line| line.action.to_string()).collect();
        assert_eq!(
            actions,
            [
                "send \"a\\n\\x00A\\\"\\\\\"",
                "expect \"ok\\r\\n\"",
                "expect 12 bytes",
                "expect-until \"\\n\"",
                "expect-until \"\\r\\n\\r\\n\"",
                "delay 5000000ns",
                "send \"file\"",
                "shutdown",
                "expect-close",
                "close"
            ]
        );
        assert_eq!(lines.iter().map(|line| line.line).collect::<Vec<_>>(), [3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
        for line in &lines {
            assert_eq!(action(&line.action.to_string()), Ok(line.action.clone()));
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        for (text, wrong) in [
            ("\n  sent \"a\"", "2:3: there is no action `sent`"),
            ("s\0\u{1b}nd", "1:1: there is no action `s\\0\\u{1b}nd`"),
            ("send \"a", "1:6: the string is not closed"),
            ("send a", "1:6: a string in quotes"),
            ("send \"\"", "1:6: a string in quotes"),
            ("send \"a\\q\"", "1:8: there is no such escape"),
            ("send \"\\x4\"", "1:7: \\x takes two hexadecimal digits"),
            ("send \"\\777\"", "1:7: the number is no byte"),
            ("send \"\\x+1\"", "1:7: \\x takes two"),
            ("expect 5", "1:9: `bytes` is missing"),
            ("expect 0 bytes", "1:8: `0` is no number"),
            ("expect-line 5", "1:13: the line goes on"),
            ("delay 5", "1:7: a delay is"),
            ("delay 99999999999999999999s", "1:7: a delay is"),
            ("close\nsend \"a\"", "2:1: the connection has ended in line 1"),
            ("shutdown\nsend \"a\"", "2:1: behind `shutdown` nothing is sent"),
            ("send-file", "1:10: the name of a file is missing"),
            ("send-file g", "1:11: g: not there"),
        ] {
            let told = parsed(text).unwrap_err();
            assert!(told.starts_with(wrong), "{text:?}: {told}");
        }
        let told = script(b"send \"a\"\nsend \"\xff\"", &|_| Err(String::new())).unwrap_err();
        assert_eq!((told.line, told.column), (2, 7));
    }
}
