//! The compiler wrapper as a pure function.
