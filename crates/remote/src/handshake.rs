//! The first words of a connection.
//!
//! Who connects says: mark, version, token, session (0 for a new one), how many messages it has
//! received. The other side answers: mark, version, and either session and messages received, or
//! why not. A side of another version can read as far as the version.

use std::io::{self, ErrorKind, Read, Write};
use std::time::{Duration, Instant};

use crate::frame::FrameReader;
use crate::plain;
use crate::stream::Stream;
use crate::token::{self, Token};

/// The first bytes of both sides.
const MARK: [u8; 8] = *b"raddle\0a";
/// Changes whenever the meaning of a byte between the two sides changes.
pub(crate) const VERSION: u32 = 1;
/// The most bytes of either side's words.
const LONGEST: usize = 1024;

const WELCOME: u8 = 0;
const REFUSED: u8 = 1;
const FORGOTTEN: u8 = 2;

/// A session, by a number that cannot be guessed; all zero: none yet.
pub(crate) type SessionId = [u8; 16];

/// What a side says that connects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hello {
    pub token: Vec<u8>,
    pub session: SessionId,
    pub received: u64,
}

/// What the other side answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Welcome { session: SessionId, received: u64 },
    Refused(String),
    Forgotten,
}

fn framed(body: &[u8]) -> Vec<u8> {
    let mut bytes = ((MARK.len() + 4 + body.len()) as u32).to_le_bytes().to_vec();
    bytes.extend_from_slice(&MARK);
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(body);
    bytes
}

/// What stands behind mark and version.
fn unframed(bytes: &[u8]) -> Result<&[u8], String> {
    let rest = bytes.strip_prefix(&MARK).ok_or("this is no raddle")?;
    let (version, body) = rest.split_first_chunk::<4>().ok_or("this is no raddle")?;
    match u32::from_le_bytes(*version) {
        VERSION => Ok(body),
        version => Err(format!("version {version} of the protocol there, version {VERSION} here: use the same raddle")),
    }
}

impl Hello {
    pub(crate) fn new(token: &Token, session: SessionId, received: u64) -> Self {
        Hello { token: token.reveal().as_bytes().to_vec(), session, received }
    }

    fn to_bytes(&self) -> Vec<u8> {
        framed(&[&self.session[..], &self.received.to_le_bytes(), &self.token].concat())
    }

    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, String> {
        let body = unframed(bytes)?;
        let wrong = "the first words make no sense";
        let (session, body) = body.split_first_chunk::<16>().ok_or(wrong)?;
        let (received, token) = body.split_first_chunk::<8>().ok_or(wrong)?;
        if token.len() > token::LONGEST {
            return Err(wrong.into());
        }
        Ok(Hello { token: token.into(), session: *session, received: u64::from_le_bytes(*received) })
    }
}

impl Answer {
    fn to_bytes(&self) -> Vec<u8> {
        match self {
            Answer::Welcome { session, received } => {
                framed(&[&[WELCOME][..], session, &received.to_le_bytes()].concat())
            }
            Answer::Refused(why) => framed(&[&[REFUSED], &why.as_bytes()[..why.len().min(LONGEST / 2)]].concat()),
            Answer::Forgotten => framed(&[FORGOTTEN]),
        }
    }

    fn parse(bytes: &[u8]) -> Result<Self, String> {
        let body = unframed(bytes)?;
        let wrong = "the answer makes no sense";
        match body.split_first().ok_or(wrong)? {
            (&WELCOME, body) => {
                let (session, body) = body.split_first_chunk::<16>().ok_or(wrong)?;
                let received = body.try_into().map(u64::from_le_bytes).map_err(|_| wrong)?;
                Ok(Answer::Welcome { session: *session, received })
            }
            (&REFUSED, why) => Ok(Answer::Refused(plain(&String::from_utf8_lossy(why)))),
            (&FORGOTTEN, []) => Ok(Answer::Forgotten),
            _ => Err(wrong.into()),
        }
    }
}

/// A stream that gives nothing any more at some moment, however slowly bytes come until then.
struct Until<'a> {
    stream: &'a mut Stream,
    end: Instant,
    time: Duration,
}

impl Read for Until<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let left = self.end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        self.stream.set_timeouts(left, self.time)?;
        self.stream.read(into)
    }
}

/// Reads the words of the other side, which has so much time for all of them.
fn read(stream: &mut Stream, time: Duration) -> io::Result<Vec<u8>> {
    let mut until = Until { stream, end: Instant::now() + time, time };
    let words = FrameReader::default().read(&mut until, LONGEST)?;
    words.ok_or_else(|| io::Error::new(ErrorKind::TimedOut, "it says nothing for too long"))
}

/// Says hello and reads the answer.
pub(crate) fn greet(stream: &mut Stream, hello: &Hello, time: Duration) -> io::Result<Answer> {
    stream.set_timeouts(time, time)?;
    stream.write_all(&hello.to_bytes())?;
    Answer::parse(&read(stream, time)?).map_err(io::Error::other)
}

/// Reads what a side says that has connected.
pub(crate) fn hear(stream: &mut Stream, time: Duration) -> io::Result<Hello> {
    Hello::parse(&read(stream, time)?).map_err(io::Error::other)
}

/// Answers it.
pub(crate) fn answer(stream: &mut Stream, answer: &Answer, time: Duration) -> io::Result<()> {
    stream.set_timeouts(time, time)?;
    stream.write_all(&answer.to_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_are_understood() {
        let hello = Hello { token: b"secret".to_vec(), session: [7; 16], received: 9 };
        assert_eq!(Hello::parse(&hello.to_bytes()[4..]), Ok(hello));
        let welcome = Answer::Welcome { session: [3; 16], received: u64::MAX };
        for answer in [welcome, Answer::Refused("no".into()), Answer::Forgotten] {
            assert_eq!(Answer::parse(&answer.to_bytes()[4..]), Ok(answer));
        }
    }

    #[test]
    fn other_versions_are_named() {
        let mut bytes = framed(&[]);
        bytes[4 + MARK.len()] = 99;
        assert!(Hello::parse(&bytes[4..]).unwrap_err().contains("version 99"));
        assert!(Answer::parse(b"GET / HTTP/1.1").unwrap_err().contains("no raddle"));
    }

    proptest! {
        #[test]
        fn any_words_do_no_harm(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            let framed = framed(&bytes);
            for bytes in [&bytes[..], &framed[4..]] {
                let _ = (Hello::parse(bytes), Answer::parse(bytes));
            }
        }
    }
}
