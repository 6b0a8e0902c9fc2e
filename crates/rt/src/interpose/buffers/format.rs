//! The conversions of a format string, for printing and for scanning.

/// One conversion, as it is written: `%-8.*lls` has all parts.
#[derive(Clone, Copy, Default)]
pub struct Conversion {
    /// The number of its argument, from 1, if the format gives it.
    pub position: Option<usize>,
    /// Takes an argument for its width (printing), or stores nothing (scanning).
    pub star: bool,
    /// The number of that argument.
    pub star_at: Option<usize>,
    /// The number of the argument for its precision.
    pub precision_at: Option<usize>,
    /// Takes an argument for its precision.
    pub star_precision: bool,
    /// The width, if it is a number.
    pub width: Option<usize>,
    /// The precision, if it is a number.
    pub precision: Option<usize>,
    /// How long the argument is.
    pub length: Length,
    /// Memory is allocated for the text (scanning).
    pub allocates: bool,
    /// The letter that ends it; `[` for a set.
    pub letter: u8,
}

/// How long the argument of a conversion is.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub enum Length {
    /// `hh`
    Byte,
    /// `h`
    Short,
    /// None.
    #[default]
    Plain,
    /// `l`, `ll`, `j`, `z`, `t`, `q`
    Long,
    /// `L`
    LongDouble,
}

impl Length {
    /// Bytes of an integer of this length.
    pub fn integer(self) -> usize {
        match self {
            Length::Byte => 1,
            Length::Short => 2,
            Length::Plain => 4,
            Length::Long | Length::LongDouble => 8,
        }
    }
}

/// The conversions of a format string, in order. `%%` is left out.
pub struct Conversions {
    at: *const u8,
    scans: bool,
}

impl Conversions {
    /// Those of a C string. In the formats of scanning, `m` allocates and a star stores nothing.
    pub fn of(format: usize, scans: bool) -> Self {
        Conversions { at: format as *const u8, scans }
    }

    fn peek(&self) -> u8 {
        // SAFETY: the program passes a C string, and no step goes beyond its end.
        unsafe { *self.at }
    }

    fn step(&mut self) {
        // SAFETY: the present byte is not the end.
        self.at = unsafe { self.at.add(1) };
    }

    fn take(&mut self, wanted: &[u8]) -> Option<u8> {
        let byte = self.peek();
        let is_wanted = byte != 0 && wanted.contains(&byte);
        if is_wanted {
            self.step();
        }
        is_wanted.then_some(byte)
    }

    fn number(&mut self) -> Option<usize> {
        let mut value = None;
        while let Some(digit) = self.take(b"0123456789") {
            value = Some(value.unwrap_or(0usize).saturating_mul(10).saturating_add(usize::from(digit - b'0')));
        }
        value
    }

    fn length(&mut self) -> Length {
        match self.take(b"hlLqjzt") {
            Some(b'h') if self.take(b"h").is_some() => Length::Byte,
            Some(b'h') => Length::Short,
            Some(b'l') => {
                self.take(b"l");
                Length::Long
            }
            Some(b'L') => Length::LongDouble,
            Some(_) => Length::Long,
            None => Length::Plain,
        }
    }

    /// Passes over the characters of a set.
    fn set(&mut self) {
        self.take(b"^");
        self.take(b"]");
        while !matches!(self.peek(), 0 | b']') {
            self.step();
        }
        self.take(b"]");
    }

    /// Flags and width. Whether a number was the number of an argument.
    fn width(&mut self, found: &mut Conversion) -> bool {
        if !self.scans {
            while self.take(b"-+ #0'I").is_some() {}
        }
        found.star = self.take(b"*").is_some();
        found.width = self.number();
        let numbers_argument = self.take(b"$").is_some();
        if numbers_argument && found.star {
            (found.star_at, found.width) = (found.width, None);
        }
        numbers_argument
    }

    fn conversion(&mut self) -> Option<Conversion> {
        let mut found = Conversion::default();
        let position = self.width(&mut found);
        if position && !found.star {
            found.position = found.width;
            self.width(&mut found);
        }
        if self.take(b".").is_some() {
            found.star_precision = self.take(b"*").is_some();
            let number = self.number();
            if found.star_precision && self.take(b"$").is_some() {
                found.precision_at = number;
            }
            found.precision = number.or(Some(0)).filter(|_| !found.star_precision);
        }
        found.allocates = self.scans && self.take(b"m").is_some();
        found.length = self.length();
        found.letter = self.peek();
        if found.letter == 0 {
            return None;
        }
        self.step();
        if self.scans && found.letter == b'[' {
            self.set();
        }
        Some(found)
    }
}

impl Iterator for Conversions {
    type Item = Conversion;

    fn next(&mut self) -> Option<Conversion> {
        loop {
            while !matches!(self.peek(), 0 | b'%') {
                self.step();
            }
            self.take(b"%")?;
            if self.take(b"%").is_none() {
                return self.conversion();
            }
        }
    }
}
