//! The form of messages on a connection.
//!
//! A frame is its length (4 bytes, little-endian), its kind (1 byte) and its body. A message is one
//! or more frames of a bounded size, each compressed where that pays, so that a side never has to
//! make room for more than it was sent, and a sign of life can go in between.

use std::io::{self, ErrorKind, Read};

use lz4_flex::block::{compress_into, decompress_into, get_maximum_output_size};

/// Bytes of a message in one frame, before compression.
pub const PIECE: usize = 1 << 20;
/// Bytes of a data frame before its piece.
const DATA_HEADER: usize = 8 + 8 + 1 + 4;
/// The most bytes behind the length of a frame.
pub const LONGEST: usize = 1 + DATA_HEADER + PIECE;
/// Smaller pieces are not compressed.
const WORTH_COMPRESSING: usize = 256;
/// The most bytes of a sentence.
const LONGEST_SENTENCE: usize = 4096;

const DATA: u8 = 1;
const PING: u8 = 2;
const PONG: u8 = 3;
const END: u8 = 4;

const LAST: u8 = 1;
const COMPRESSED: u8 = 2;

/// One frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// A piece of a message.
    Data {
        /// Number of the message, from 1.
        number: u64,
        /// Messages that were received: all up to this number.
        acknowledged: u64,
        /// Whether it is the last piece.
        last: bool,
        /// The piece.
        bytes: Vec<u8>,
    },
    /// Asks for a sign of life.
    Ping {
        /// As in `Data`.
        acknowledged: u64,
    },
    /// A sign of life.
    Pong {
        /// As in `Data`.
        acknowledged: u64,
    },
    /// The other side wants no more of this; why.
    End(String),
}

/// Bytes that are no frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// It is longer than any frame, or empty.
    #[error("a frame of {0} bytes")]
    Length(usize),
    /// It has another form.
    #[error("a frame that makes no sense")]
    Form,
    /// It does not decompress to what it says.
    #[error("a frame that does not decompress")]
    Compression,
    /// Its message is longer than was agreed on.
    #[error("a message that is longer than {0} bytes")]
    TooLong(usize),
    /// It is of a message that was not to come.
    #[error("message {0} out of order")]
    Order(u64),
}

impl From<FrameError> for io::Error {
    fn from(error: FrameError) -> Self {
        io::Error::new(ErrorKind::InvalidData, error.to_string())
    }
}

/// Appends a frame without pieces.
pub fn put(frame: &Frame, into: &mut Vec<u8>) {
    match frame {
        Frame::Data { number, acknowledged, last, bytes } => {
            put_piece(*number, *acknowledged, *last, &bytes[..bytes.len().min(PIECE)], into);
        }
        Frame::Ping { acknowledged } => put_body(PING, &acknowledged.to_le_bytes(), into),
        Frame::Pong { acknowledged } => put_body(PONG, &acknowledged.to_le_bytes(), into),
        Frame::End(sentence) => {
            let bytes = sentence.as_bytes();
            put_body(END, &bytes[..bytes.len().min(LONGEST_SENTENCE)], into);
        }
    }
}

/// Appends all frames of a message.
pub fn put_message(number: u64, acknowledged: u64, message: &[u8], into: &mut Vec<u8>) {
    let mut rest = message;
    loop {
        let (piece, behind) = rest.split_at(rest.len().min(PIECE));
        put_piece(number, acknowledged, behind.is_empty(), piece, into);
        if behind.is_empty() {
            return;
        }
        rest = behind;
    }
}

fn put_body(kind: u8, body: &[u8], into: &mut Vec<u8>) {
    into.extend_from_slice(&((1 + body.len()) as u32).to_le_bytes());
    into.push(kind);
    into.extend_from_slice(body);
}

fn put_piece(number: u64, acknowledged: u64, last: bool, piece: &[u8], into: &mut Vec<u8>) {
    let compressed = if piece.len() < WORTH_COMPRESSING { None } else { compress(piece) };
    let body = compressed.as_deref().unwrap_or(piece);
    into.extend_from_slice(&((1 + DATA_HEADER + body.len()) as u32).to_le_bytes());
    into.push(DATA);
    into.extend_from_slice(&number.to_le_bytes());
    into.extend_from_slice(&acknowledged.to_le_bytes());
    into.push(if last { LAST } else { 0 } | if compressed.is_some() { COMPRESSED } else { 0 });
    into.extend_from_slice(&(piece.len() as u32).to_le_bytes());
    into.extend_from_slice(body);
}

/// The compressed bytes, if they are fewer.
fn compress(piece: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = vec![0; get_maximum_output_size(piece.len())];
    let length = compress_into(piece, &mut bytes).ok().filter(|&length| length < piece.len())?;
    bytes.truncate(length);
    Some(bytes)
}

/// Reads what stands behind the length of a frame.
///
/// # Errors
/// If it makes no sense.
pub fn parse(frame: &[u8]) -> Result<Frame, FrameError> {
    let (&kind, body) = frame.split_first().ok_or(FrameError::Length(0))?;
    let number = |bytes: &[u8]| bytes.try_into().map(u64::from_le_bytes).map_err(|_| FrameError::Form);
    match kind {
        DATA => {
            let (header, piece) = body.split_at_checked(DATA_HEADER).ok_or(FrameError::Form)?;
            let raw = header[17..].try_into().map(u32::from_le_bytes).map_err(|_| FrameError::Form)? as usize;
            let flags = header[16];
            if flags & !(LAST | COMPRESSED) != 0 || raw > PIECE {
                return Err(FrameError::Form);
            }
            let bytes = match flags & COMPRESSED {
                0 if piece.len() == raw => piece.to_vec(),
                0 => return Err(FrameError::Form),
                _ => decompress(piece, raw)?,
            };
            let last = flags & LAST != 0;
            Ok(Frame::Data { number: number(&header[..8])?, acknowledged: number(&header[8..16])?, last, bytes })
        }
        PING => Ok(Frame::Ping { acknowledged: number(body)? }),
        PONG => Ok(Frame::Pong { acknowledged: number(body)? }),
        END if body.len() <= LONGEST_SENTENCE => Ok(Frame::End(String::from_utf8_lossy(body).into_owned())),
        _ => Err(FrameError::Form),
    }
}

fn decompress(piece: &[u8], raw: usize) -> Result<Vec<u8>, FrameError> {
    let mut bytes = vec![0; raw];
    match decompress_into(piece, &mut bytes) {
        Ok(length) if length == raw => Ok(bytes),
        _ => Err(FrameError::Compression),
    }
}

/// Puts messages together from their pieces.
#[derive(Debug)]
pub struct Assembler {
    longest: usize,
    bytes: Vec<u8>,
}

impl Assembler {
    /// For messages of at most so many bytes.
    #[must_use]
    pub fn new(longest: usize) -> Self {
        Assembler { longest, bytes: Vec::new() }
    }

    /// Changes how many bytes a message may have.
    pub fn accept(&mut self, longest: usize) {
        self.longest = longest;
    }

    /// Takes a piece of a message, of which all up to `received` came before. A whole message, if
    /// it is the last piece of a new one.
    ///
    /// # Errors
    /// If the message is too long, or another one was to come.
    pub fn take(
        &mut self,
        number: u64,
        received: u64,
        last: bool,
        piece: Vec<u8>,
    ) -> Result<Option<Vec<u8>>, FrameError> {
        if number.checked_sub(1) != Some(received) {
            return Err(FrameError::Order(number));
        }
        if self.bytes.len() + piece.len() > self.longest {
            return Err(FrameError::TooLong(self.longest));
        }
        if self.bytes.is_empty() {
            self.bytes = piece;
        } else {
            self.bytes.extend_from_slice(&piece);
        }
        Ok(last.then(|| std::mem::take(&mut self.bytes)))
    }
}

/// Reads frames from a stream whose reads may time out.
#[derive(Debug, Default)]
pub struct FrameReader {
    bytes: Vec<u8>,
}

impl FrameReader {
    /// Bytes that were read of the next frame.
    #[must_use]
    pub fn begun(&self) -> usize {
        self.bytes.len()
    }

    /// The next frame; `None` if the time for a read is over. What was read of it by then is kept.
    ///
    /// # Errors
    /// If the stream ends, or what comes is no frame of at most `longest` bytes.
    pub fn read(&mut self, from: &mut impl Read, longest: usize) -> io::Result<Option<Vec<u8>>> {
        const LENGTH: usize = 4;
        if !self.fill(from, LENGTH)? {
            return Ok(None);
        }
        let length = u32::from_le_bytes([self.bytes[0], self.bytes[1], self.bytes[2], self.bytes[3]]) as usize;
        if length == 0 || length > longest {
            return Err(FrameError::Length(length).into());
        }
        if !self.fill(from, LENGTH + length)? {
            return Ok(None);
        }
        let mut bytes = std::mem::take(&mut self.bytes);
        bytes.drain(..LENGTH);
        Ok(Some(bytes))
    }

    /// Reads until there are so many bytes; false if the time is over. Room is made for what comes
    /// only.
    fn fill(&mut self, from: &mut impl Read, wanted: usize) -> io::Result<bool> {
        const STEP: usize = 1 << 16;
        while self.bytes.len() < wanted {
            let known = self.bytes.len();
            self.bytes.resize(known + STEP.min(wanted - known), 0);
            let read = from.read(&mut self.bytes[known..]);
            self.bytes.truncate(known + *read.as_ref().unwrap_or(&0));
            match read {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// All frames of a stream, up to the first that makes no sense.
    fn frames(mut bytes: &[u8]) -> Vec<Frame> {
        let mut reader = FrameReader::default();
        let mut all = Vec::new();
        while let Ok(Some(frame)) = reader.read(&mut bytes, LONGEST)
            && let Ok(frame) = parse(&frame)
        {
            all.push(frame);
        }
        all
    }

    fn messages(bytes: &[u8], longest: usize) -> Vec<Vec<u8>> {
        let mut assembler = Assembler::new(longest);
        let (mut all, mut received) = (Vec::new(), 0);
        for frame in frames(bytes) {
            let Frame::Data { number, last, bytes, .. } = frame else { continue };
            match assembler.take(number, received, last, bytes) {
                Ok(Some(message)) => {
                    received += 1;
                    all.push(message);
                }
                Ok(None) => {}
                Err(_) => break,
            }
        }
        all
    }

    #[test]
    fn messages_come_out_as_they_went_in() {
        let long: Vec<u8> = (0..3 * PIECE as u32 + 17).map(|number| (number / 1000) as u8).collect();
        let mut noise = 1u64;
        let random: Vec<u8> = (0..PIECE + 5)
            .map(|_| {
                noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (noise >> 56) as u8
            })
            .collect();
        let sent = [Vec::new(), b"short".to_vec(), long.clone(), random];
        let mut bytes = Vec::new();
        for (number, message) in (1..).zip(&sent) {
            put_message(number, 7, message, &mut bytes);
            put(&Frame::Ping { acknowledged: number }, &mut bytes);
        }
        assert_eq!(messages(&bytes, usize::MAX / 2), sent);
        assert!(bytes.len() < 3 * PIECE, "{}: what repeats itself is compressed", bytes.len());
        assert_eq!(messages(&bytes, long.len() - 1).len(), 2);
    }

    #[test]
    fn other_frames_come_out_as_they_went_in() {
        let sent = [Frame::Ping { acknowledged: 3 }, Frame::Pong { acknowledged: u64::MAX }, Frame::End("why".into())];
        let mut bytes = Vec::new();
        sent.iter().for_each(|frame| put(frame, &mut bytes));
        assert_eq!(frames(&bytes), sent);
    }

    #[test]
    fn a_bomb_and_a_giant_are_refused() {
        let mut bytes = Vec::new();
        put_message(1, 0, &vec![0; PIECE], &mut bytes);
        // More than it has, and more than there may be.
        for raw in [PIECE as u32 - 1, PIECE as u32 + 1, u32::MAX] {
            bytes[4 + 1 + 17..4 + 1 + 21].copy_from_slice(&raw.to_le_bytes());
            assert!(parse(&bytes[4..]).is_err(), "{raw}");
        }
        let giant = (LONGEST as u32 + 1).to_le_bytes();
        assert!(FrameReader::default().read(&mut &giant[..], LONGEST).is_err());
    }

    #[test]
    fn messages_out_of_order_are_refused() {
        let mut assembler = Assembler::new(100);
        for number in [0, 1, 3, u64::MAX] {
            assert_eq!(assembler.take(number, 1, true, vec![1]), Err(FrameError::Order(number)));
        }
        assert_eq!(assembler.take(2, 1, true, vec![1]), Ok(Some(vec![1])));
    }

    proptest! {
        /// Whatever is done to the bytes, a reader ends, and takes no more than what was sent.
        #[test]
        fn changed_bytes_do_no_harm(
            sizes in proptest::collection::vec(0usize..3000, 1..4),
            changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
            cut in any::<prop::sample::Index>(),
        ) {
            let mut bytes = Vec::new();
            for (number, &size) in (1..).zip(&sizes) {
                let message: Vec<u8> = (0..size).map(|at| (at / 7) as u8).collect();
                put_message(number, 0, &message, &mut bytes);
            }
            for (at, value) in changes {
                let at = at.index(bytes.len());
                bytes[at] = value;
            }
            bytes.truncate(cut.index(bytes.len() + 1));
            let all: usize = messages(&bytes, 10_000).iter().map(Vec::len).sum();
            prop_assert!(all <= 10_000 * sizes.len());
        }

        #[test]
        fn any_bytes_do_no_harm(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&bytes);
            let _ = frames(&bytes);
        }
    }
}
