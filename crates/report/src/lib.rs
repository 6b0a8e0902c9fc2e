//! Reports: names from debug information, and findings as text, JSON and other formats.
#![forbid(unsafe_code)]

pub mod annotated;
pub mod bundle;
pub mod dot;
pub mod escape;
pub mod groups;
pub mod html;
pub mod json;
pub mod junit;
pub mod lines;
pub mod names;
pub mod perfetto;
pub mod sarif;
pub mod std_trace;
pub mod suppress;
pub mod symbols;
pub mod text;
pub mod timeline;
pub mod tsan;
