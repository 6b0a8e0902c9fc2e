//! What was found, in words: names from debug information, text, JSON and other formats.
#![forbid(unsafe_code)]

pub mod escape;
pub mod json;
pub mod names;
pub mod phrase;
pub mod symbols;
pub mod text;
pub mod timeline;
pub mod tsan;
