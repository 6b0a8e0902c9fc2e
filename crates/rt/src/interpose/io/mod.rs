//! Files, descriptors and streams.

mod attributes;
pub mod descriptor_ends;
pub mod descriptors;
pub mod files;
pub mod kernel_buffers;
pub mod readiness;
pub mod regular_files;
pub mod sockets;
pub mod stream_locks;
pub mod streams;
