//! How far a search is, as bytes.
//!
//! Every strategy writes down what its next requests depend on, and nothing that follows from it. A
//! strategy that is built anew and restored asks for the same runs as the one that was saved. Runs
//! that were under way are asked for again by [`crate::driver`], in the same order.
//!
//! What is read is not trusted: numbers that name something are checked before they are used.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Bytes that are no search, or one of another strategy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the saved search makes no sense: {0}")]
pub struct Unusable(pub String);

impl Unusable {
    /// What is wrong.
    #[must_use]
    pub fn because(what: &str) -> Self {
        Unusable(what.into())
    }
}

/// Takes what is saved.
#[derive(Debug, Default)]
pub struct Saver {
    bytes: Vec<u8>,
}

impl Saver {
    /// Adds a value.
    ///
    /// # Panics
    /// If a value has a list of unknown length, which none has.
    pub fn put<T: Serialize + ?Sized>(&mut self, value: &T) {
        let bytes = std::mem::take(&mut self.bytes);
        self.bytes = postcard::to_extend(value, bytes).expect("a value in memory can be written to memory");
    }

    /// All that was added.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

/// Gives back what was saved, in the same order.
#[derive(Clone, Copy, Debug)]
pub struct Loader<'a> {
    rest: &'a [u8],
}

impl<'a> Loader<'a> {
    /// All of these bytes.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Loader { rest: bytes }
    }

    /// The next value.
    ///
    /// # Errors
    /// If the bytes are none.
    pub fn take<T: DeserializeOwned>(&mut self) -> Result<T, Unusable> {
        let (value, rest) = postcard::take_from_bytes(self.rest).map_err(|error| Unusable(error.to_string()))?;
        self.rest = rest;
        Ok(value)
    }

    /// Checks that nothing is left.
    ///
    /// # Errors
    /// If something is.
    pub fn end(&self) -> Result<(), Unusable> {
        if self.rest.is_empty() { Ok(()) } else { Err(Unusable::because("something is left behind its end")) }
    }
}
