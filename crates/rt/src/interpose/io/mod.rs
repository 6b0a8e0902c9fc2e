//! Files, descriptors and streams.

pub mod announce;
mod attributes;
pub mod calls;
pub mod channels;
pub mod descriptor_ends;
pub mod descriptor_uses;
pub mod descriptors;
mod directories;
pub mod effects;
pub mod file_locks;
mod files;
pub mod kernel_buffers;
pub mod net;
pub mod overlay;
mod partial;
pub mod piped_streams;
pub mod queues;
pub mod readiness;
pub mod regular_files;
pub mod slots;
pub mod stream_locks;
pub mod streams;
mod transfers;
pub mod traversal;
