//! One self-contained page: no network, no other files.
//!
//! Everything from the program goes into the page as JSON inside a block that browsers do not run,
//! and reaches the document as text only. A content security policy lets only the page's own script
//! run.

mod excerpts;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::annotated::AnnotatedTrace;
use crate::bundle::ReportBundle;
use excerpts::Excerpt;

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = concat!(include_str!("page.js"), include_str!("waits.js"));

/// What the page shows.
#[derive(Serialize)]
struct Data<'a> {
    report: &'a raddle_model::finding::Report,
    /// By id of the finding.
    #[serde(rename = "stories")]
    traces: &'a BTreeMap<String, AnnotatedTrace>,
    sources: BTreeMap<String, Excerpt>,
}

/// The report as a page.
#[must_use]
pub fn render(run: &ReportBundle) -> String {
    let data = Data { report: &run.report, traces: &run.traces, sources: excerpts::of(run) };
    let data = inert(&serde_json::to_string(&data).unwrap_or_else(|_| "null".into()));
    let title = format!("raddle: {}", run.report.program);
    let policy = format!("'sha256-{}'", base64(&Sha256::digest(SCRIPT.as_bytes())));
    // Our own parts first. What comes from the program is filled in last, so that no placeholder in
    // it is replaced.
    let page = PAGE.replace("{{policy}}", &policy).replace("{{style}}", STYLE).replace("{{script}}", SCRIPT);
    let (before, rest) = page.split_once("{{title}}").unwrap_or((&page, ""));
    let (between, after) = rest.split_once("{{data}}").unwrap_or((rest, ""));
    [before, &text(&title), between, &data, after].concat()
}

/// JSON that cannot end the block it is in, nor open another one.
fn inert(json: &str) -> String {
    let mut safe = String::with_capacity(json.len() + json.len() / 16);
    for c in json.chars() {
        match c {
            '<' => safe.push_str("\\u003c"),
            '>' => safe.push_str("\\u003e"),
            '&' => safe.push_str("\\u0026"),
            '\u{2028}' => safe.push_str("\\u2028"),
            '\u{2029}' => safe.push_str("\\u2029"),
            c => safe.push(c),
        }
    }
    safe
}

fn text(text: &str) -> String {
    crate::escape::clean(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let mut word = [0; 4];
        word[1..=chunk.len()].copy_from_slice(chunk);
        let bits = u32::from_be_bytes(word);
        for index in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * index)) as usize & 63];
            text.push(if index <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
    text
}
