//! The JSON report.

use std::io;

use raddle_model::finding::Report;
use serde::Serialize;
use serde_json::ser::{Formatter, PrettyFormatter};

use crate::escape::is_unsafe;

/// The report as JSON text that ends with a newline.
///
/// # Errors
/// If writing fails.
pub fn write(report: &Report, out: &mut dyn io::Write) -> io::Result<()> {
    write_value(report, out)
}

/// Any value in the same way: indented, and safe to show in a terminal.
///
/// # Errors
/// If writing fails or the value cannot be JSON.
pub fn write_value(value: &impl Serialize, out: &mut dyn io::Write) -> io::Result<()> {
    let mut serializer = serde_json::Serializer::with_formatter(&mut *out, Visible(PrettyFormatter::new()));
    value.serialize(&mut serializer)?;
    out.write_all(b"\n")
}

/// Indents, and escapes characters that JSON itself would leave: the second set of control
/// characters, and characters that change the direction of text.
struct Visible(PrettyFormatter<'static>);

macro_rules! pass_on {
    ($($name:ident($($arg:ident: $kind:ty),*);)*) => {
        $(fn $name<W: ?Sized + io::Write>(&mut self, writer: &mut W, $($arg: $kind),*) -> io::Result<()> {
            self.0.$name(writer, $($arg),*)
        })*
    };
}

impl Formatter for Visible {
    pass_on! {
        begin_array();
        end_array();
        begin_array_value(first: bool);
        end_array_value();
        begin_object();
        end_object();
        begin_object_key(first: bool);
        begin_object_value();
        end_object_value();
    }

    fn write_string_fragment<W: ?Sized + io::Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        let mut rest = fragment;
        while let Some(at) = rest.find(is_unsafe) {
            writer.write_all(&rest.as_bytes()[..at])?;
            let mut after = rest[at..].chars();
            if let Some(c) = after.next() {
                let mut units = [0; 2];
                for unit in c.encode_utf16(&mut units) {
                    write!(writer, "\\u{unit:04x}")?;
                }
            }
            rest = after.as_str();
        }
        writer.write_all(rest.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::write_value;

    #[test]
    fn nothing_that_steers_a_terminal_is_left_and_the_value_is_the_same() {
        let value = vec!["a\u{9b}31m".to_string(), "\u{202e}\x1b\u{feff}é".to_string(), "plain".to_string()];
        let mut bytes = Vec::new();
        write_value(&value, &mut bytes).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.contains("a\\u009b31m") && text.contains("\\u202e\\u001b\\ufeffé"), "{text}");
        assert_eq!(serde_json::from_str::<Vec<String>>(&text).unwrap(), value);
    }
}
