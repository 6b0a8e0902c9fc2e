//! Colours. All text has them; the printer strips them where they are not wanted.

use anstyle::{AnsiColor, Style};

pub(super) const ERROR: Style = AnsiColor::BrightRed.on_default().bold();
pub(super) const WARNING: Style = AnsiColor::Yellow.on_default().bold();
pub(super) const GOOD: Style = AnsiColor::Green.on_default().bold();
pub(super) const HEADING: Style = AnsiColor::BrightBlue.on_default().bold();
pub(super) const COMMAND: Style = AnsiColor::Cyan.on_default();
pub(super) const STRONG: Style = Style::new().bold();
pub(super) const FAINT: Style = Style::new().dimmed();

/// The text in a style.
pub(super) fn paint(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}
