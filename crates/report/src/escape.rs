//! Text from the program and its files is data: it must not control the terminal that shows a
//! report.

use std::borrow::Cow;

/// Whether a character could do more than be shown: control characters of both sets, and those that
/// change the direction of text or have no width.
#[must_use]
pub fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        || matches!(c, '\u{61c}' | '\u{feff}')
}

/// The text on one line, with unsafe characters written as `\u{…}`.
#[must_use]
pub fn clean(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '\n' => safe.push_str("\\n"),
            '\t' => safe.push_str("\\t"),
            c if is_unsafe(c) => safe.extend(c.escape_unicode()),
            c => safe.push(c),
        }
    }
    Cow::Owned(safe)
}

#[cfg(test)]
mod tests {
    use super::clean;

    #[test]
    fn harmless_text_is_left_alone() {
        assert_eq!(clean("std::vector<größe>"), "std::vector<größe>");
    }

    #[test]
    fn escapes_become_visible() {
        assert_eq!(clean("\x1b[2Jx"), "\\u{1b}[2Jx");
        assert_eq!(clean("a\nb\tc"), "a\\nb\\tc");
        // The one-character form of "escape [", and a right-to-left override.
        assert_eq!(clean("\u{9b}31m\u{202e}"), "\\u{9b}31m\\u{202e}");
    }
}
