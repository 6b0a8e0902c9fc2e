//! What was found, in words: names from debug information, text, JSON and other formats.
#![forbid(unsafe_code)]

pub mod symbols;
