//! Names of objects and places that recordings keep.

/// Turns addresses into names. A name must not depend on where things happen to lie in memory: a
/// recording is compared with runs of a program that may have been built again.
pub trait RecordingNames {
    /// The object at an address.
    fn object(&self, address: u64) -> Option<String>;
    /// The place in the program with this return address.
    fn place(&self, pc: u64) -> Option<String>;
}

/// Names nothing: for schedules that are only followed and never shown.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoNames;

impl RecordingNames for NoNames {
    fn object(&self, _address: u64) -> Option<String> {
        None
    }

    fn place(&self, _pc: u64) -> Option<String> {
        None
    }
}
