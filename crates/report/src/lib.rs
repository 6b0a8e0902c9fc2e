//! Names, text and machine formats of what was found.
