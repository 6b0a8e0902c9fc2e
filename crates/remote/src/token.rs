//! The secret that lets a process in.

use std::fmt;
use std::fs::File;
use std::hint::black_box;
use std::io::{self, Read};
use std::path::Path;

use sha2::{Digest, Sha256};

/// The most bytes that a token may have.
pub const LONGEST: usize = 256;

/// The least: shorter ones could be guessed.
const SHORTEST: usize = 16;

/// A secret that both sides know.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

impl Token {
    /// A new one: 128 random bits.
    ///
    /// # Errors
    /// If the system has none.
    pub fn random() -> io::Result<Self> {
        Ok(Token(random()?.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// This one.
    ///
    /// # Errors
    /// If it is too short or too long, or not of letters, digits and signs alone.
    pub fn of(text: &str) -> io::Result<Self> {
        let text = text.trim();
        let is_sound = (SHORTEST..=LONGEST).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
        let what = format!("a token has {SHORTEST} to {LONGEST} letters, digits and signs");
        if is_sound { Ok(Token(text.into())) } else { Err(io::Error::other(what)) }
    }

    /// The one in a file.
    ///
    /// # Errors
    /// If there is none.
    pub fn from_file(path: &Path) -> io::Result<Self> {
        let mut text = String::new();
        File::open(path)?.take(2 * LONGEST as u64).read_to_string(&mut text)?;
        Self::of(&text)
    }

    /// Its text, to be shown to whom it is for.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Whether these bytes are the token. The time that it takes says nothing about where they
    /// differ.
    #[must_use]
    pub fn is(&self, bytes: &[u8]) -> bool {
        let (own, given) = (Sha256::digest(self.0.as_bytes()), Sha256::digest(bytes));
        let difference = own.iter().zip(given.iter()).fold(0, |all, (own, given)| black_box(all | (own ^ given)));
        black_box(difference) == 0
    }
}

/// Random bytes of the system.
pub(crate) fn random() -> io::Result<[u8; 16]> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_itself_only() {
        let token = Token::random().unwrap();
        assert_ne!(token, Token::random().unwrap());
        assert!(token.is(token.reveal().as_bytes()));
        for wrong in [&b""[..], b"0", &token.reveal().as_bytes()[1..]] {
            assert!(!token.is(wrong));
        }
        assert_eq!(format!("{token:?}"), "Token");
    }

    #[test]
    fn weak_and_odd_tokens_are_refused() {
        assert!(Token::of("short").is_err());
        assert!(Token::of("with a space in it, and long").is_err());
        assert!(Token::of(&"x".repeat(LONGEST + 1)).is_err());
        assert_eq!(Token::of(" 0123456789abcdef\n").unwrap().reveal(), "0123456789abcdef");
    }
}
