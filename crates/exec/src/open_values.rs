//! Values that are tried where a program leaves one open (`--nondet`).

use raddle_vocab::OpenType;
use raddle_wire::{MAX_OPEN_VALUES, OPEN_TYPES};

/// The values of each type that are tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenValues {
    /// By the byte of the type.
    lists: Vec<Vec<i64>>,
    /// As it was asked for; empty if nothing was.
    text: String,
}

/// Why a text does not name values.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenValuesError {
    /// It is no number or range.
    #[error("`{0}` is neither a value nor a range of values as 0..3")]
    NoValue(String),
    /// There is no such type.
    #[error(
        "`{0}` is no type of values: use bool, char, uchar, short, ushort, int, uint, long, ulong, longlong, \
             ulonglong, float, double, pointer or memory"
    )]
    NoType(String),
    /// A type cannot have any of the values.
    #[error("none of the values fits the type {0}")]
    NoneFits(&'static str),
    /// There are too many.
    #[error("{0} values are too many: all types together may have {MAX_OPEN_VALUES} different ones")]
    TooMany(usize),
}

impl Default for OpenValues {
    /// 0 and 1, as far as the type has them.
    fn default() -> Self {
        let lists = OpenType::ALL.iter().map(|&of| fitting(of, &[0, 1])).collect();
        OpenValues { lists, text: String::new() }
    }
}

/// Those of the values that the type has, each once.
fn fitting(of: OpenType, values: &[i64]) -> Vec<i64> {
    let (least, greatest) = of.range();
    let mut all: Vec<i64> = Vec::new();
    for &value in values.iter().filter(|value| (least..=greatest).contains(value)) {
        if !all.contains(&value) {
            all.push(value);
        }
    }
    all
}

/// The values of an item: one, or a range with both ends.
fn values(item: &str) -> Result<Vec<i64>, OpenValuesError> {
    let wrong = || OpenValuesError::NoValue(item.into());
    let number = |text: &str| text.trim().parse::<i64>().map_err(|_| wrong());
    let Some((from, to)) = item.split_once("..") else { return Ok(vec![number(item)?]) };
    let (from, to) = (number(from)?, number(to)?);
    if from > to {
        return Err(wrong());
    }
    match to.checked_sub(from).and_then(|span| usize::try_from(span).ok()) {
        Some(span) if span < MAX_OPEN_VALUES => Ok((from..=to).collect()),
        span => Err(OpenValuesError::TooMany(span.unwrap_or(usize::MAX - 1) + 1)),
    }
}

impl OpenValues {
    /// Reads values, as in `0,1,5` or `int=-1..3,uchar=0,255`. Values before the first type are for
    /// all types; those behind a type are for it.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn parse(text: &str) -> Result<Self, OpenValuesError> {
        let mut common = Vec::new();
        let mut own: Vec<Option<Vec<i64>>> = vec![None; OpenType::ALL.len()];
        let mut current = None;
        for item in text.split(',').map(str::trim) {
            let item = match item.split_once('=') {
                Some((name, item)) => {
                    let is_it = |of: &&OpenType| of.word() == name.trim();
                    let of = OpenType::ALL.iter().find(is_it).ok_or_else(|| OpenValuesError::NoType(name.into()))?;
                    current = Some(*of);
                    item
                }
                None => item,
            };
            match current {
                Some(of) => own[of as usize].get_or_insert_default().extend(values(item)?),
                None => common.extend(values(item)?),
            }
        }
        let mut all = OpenValues { text: text.into(), ..OpenValues::default() };
        for &of in OpenType::ALL {
            let asked = own[of as usize].as_deref();
            let found = fitting(of, asked.unwrap_or(&common));
            if !found.is_empty() {
                all.lists[of as usize] = found;
            } else if asked.is_some() {
                return Err(OpenValuesError::NoneFits(of.word()));
            }
        }
        let total = all.table().1.len();
        if total > MAX_OPEN_VALUES {
            return Err(OpenValuesError::TooMany(total));
        }
        Ok(all)
    }

    /// The text that it was read from; empty if it is the default.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether these are not the values that a user asked for.
    #[must_use]
    pub fn is_default(&self) -> bool {
        self.text.is_empty()
    }

    /// First value and number of values of each type, and all values. Types with the same values
    /// share them.
    pub(crate) fn table(&self) -> ([(u32, u32); OPEN_TYPES], Vec<i64>) {
        let mut spans = [(0, 0); OPEN_TYPES];
        let mut all = Vec::new();
        for (number, list) in self.lists.iter().enumerate() {
            let same = self.lists[..number].iter().position(|other| other == list);
            spans[number] = same.map_or((all.len() as u32, list.len() as u32), |same| spans[same]);
            if same.is_none() {
                all.extend(list);
            }
        }
        (spans, all)
    }

    /// A sentence for each type of which a program left values open, a bit each, and of which not
    /// all values were tried.
    #[must_use]
    pub fn sentences(&self, types: u64) -> Vec<String> {
        let used = OpenType::ALL.iter().filter(|&&of| types & 1 << of as u32 != 0);
        let partly = used.filter(|&&of| {
            let (least, greatest) = of.range();
            let all = greatest.checked_sub(least).and_then(|span| usize::try_from(span).ok());
            of >= OpenType::Float || all.is_none_or(|span| self.lists[of as usize].len() <= span)
        });
        let sentence = |of: &OpenType| {
            let list: Vec<String> = self.lists[*of as usize].iter().map(i64::to_string).collect();
            format!("{OPEN_VALUES}{} gave only {} (--nondet)", of.word(), list.join(", "))
        };
        partly.map(sentence).collect()
    }
}

/// How a sentence about values begins that were not tried.
pub const OPEN_VALUES: &str = "__VERIFIER_nondet_";

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &OpenValues, of: OpenType) -> &[i64] {
        &values.lists[of as usize]
    }

    #[test]
    fn the_default_is_what_conditions_need() {
        let values = OpenValues::default();
        assert!(values.is_default());
        assert_eq!(of(&values, OpenType::Int), [0, 1]);
        assert_eq!(of(&values, OpenType::Pointer), [0]);
        assert!(values.sentences(1 << OpenType::Bool as u32).is_empty());
        assert!(values.sentences(1 << OpenType::Int as u32)[0].contains("nondet_int gave only 0, 1"));
    }

    #[test]
    fn types_can_have_values_of_their_own() {
        let values = OpenValues::parse("0,7, int=-1..2,9 ,uchar=255").unwrap();
        assert_eq!(of(&values, OpenType::Int), [-1, 0, 1, 2, 9]);
        assert_eq!(of(&values, OpenType::UChar), [255]);
        assert_eq!(of(&values, OpenType::Long), [0, 7]);
        assert_eq!(of(&values, OpenType::Bool), [0]);
        assert!(!values.is_default());
        assert_eq!(values.text(), "0,7, int=-1..2,9 ,uchar=255");
    }

    #[test]
    fn what_a_type_does_not_have_is_left_out() {
        let values = OpenValues::parse("-1..1,300").unwrap();
        assert_eq!(of(&values, OpenType::UInt), [0, 1, 300]);
        assert_eq!(of(&values, OpenType::UChar), [0, 1]);
        assert_eq!(OpenValues::parse("uint=-1"), Err(OpenValuesError::NoneFits("uint")));
        // Where none of the common values fits, the default stays.
        assert_eq!(of(&OpenValues::parse("-5").unwrap(), OpenType::UInt), [0, 1]);
    }

    #[test]
    fn wrong_texts_are_refused() {
        for text in ["", "a", "1..", "3..1", "integer=1", "int=", "0..1000", "int=0..9223372036854775807"] {
            assert!(OpenValues::parse(text).is_err(), "{text}");
        }
        assert!(OpenValues::parse("0..15").is_ok());
        assert_eq!(OpenValues::parse("int=0..40,uint=1..40"), Err(OpenValuesError::TooMany(84)));
    }

    #[test]
    fn all_values_of_a_byte_are_all() {
        let values = OpenValues::parse("bool=1,0,int=4").unwrap();
        assert!(values.sentences(1 << OpenType::Bool as u32).is_empty());
        assert!(values.sentences(1 << OpenType::Int as u32)[0].contains("gave only 4"));
    }
}
