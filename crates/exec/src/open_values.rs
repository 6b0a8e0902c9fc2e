//! Values that are tried where a program leaves one open (`--nondet`).

use raddle_vocab::OpenType;
use raddle_wire::{MAX_OPEN_VALUES, OPEN_TYPES};

/// The values of each type that are tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenValues {
    /// By the byte of the type.
    lists: Vec<Vec<i64>>,
    /// Types of which values were asked for, a bit each.
    asked: u64,
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
    /// A type does not have a value that was asked for.
    #[error("the type {0} does not have the value {1}")]
    DoesNotFit(&'static str, i64),
    /// There are too many.
    #[error("{0} values are too many: all types together may have {MAX_OPEN_VALUES} different ones")]
    TooMany(usize),
}

impl Default for OpenValues {
    /// 0 and 1, as far as the type has them, and null pointers.
    fn default() -> Self {
        let lists = OpenType::ALL.iter().map(|&of| fitting(of, &of_all(of, &[0, 1]))).collect();
        OpenValues { lists, asked: 0, text: String::new() }
    }
}

/// Those of the values for all types that are for this one: numbers are not taken for addresses.
fn of_all(of: OpenType, values: &[i64]) -> Vec<i64> {
    if of == OpenType::Pointer { vec![0] } else { values.into() }
}

/// A value that the type does not have.
fn misfit(of: OpenType, values: &[i64]) -> Option<i64> {
    let (least, greatest) = of.range();
    values.iter().copied().find(|value| !(least..=greatest).contains(value))
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
    /// all types that have them; those behind a type are for it.
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
            let own = own[of as usize].as_deref();
            if let Some(value) = own.and_then(|own| misfit(of, own)) {
                return Err(OpenValuesError::DoesNotFit(of.word(), value));
            }
            let found = fitting(of, &own.map_or_else(|| of_all(of, &common), Vec::from));
            if !found.is_empty() {
                all.lists[of as usize] = found;
            }
            // Whatever the values for all types are, a pointer of which none was named is null.
            let is_asked = own.is_some() || of != OpenType::Pointer && !fitting(of, &common).is_empty();
            all.asked |= u64::from(is_asked) << of as u32;
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

    /// Whether the sentence about values that were not tried is about a type of which the user
    /// asked for values.
    #[must_use]
    pub fn asks_for(&self, sentence: &str) -> bool {
        let is_about = |of: &&OpenType| sentence.starts_with(&beginning(**of));
        OpenType::ALL.iter().find(is_about).is_some_and(|&of| self.asked & 1 << of as u32 != 0)
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
            format!("{}{} (--nondet)", beginning(*of), list.join(", "))
        };
        partly.map(sentence).collect()
    }
}

/// How a sentence about values begins that were not tried.
pub const OPEN_VALUES: &str = "__VERIFIER_nondet_";

/// How it begins for values of this type.
fn beginning(of: OpenType) -> String {
    format!("{OPEN_VALUES}{} gave only ", of.word())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &OpenValues, of: OpenType) -> &[i64] {
        &values.lists[of as usize]
    }

    #[test]
    fn the_default_is_what_conditions_need() {
        let values = OpenValues::default();
        assert_eq!(of(&values, OpenType::Int), [0, 1]);
        assert_eq!(of(&values, OpenType::Pointer), [0]);
        assert!(values.sentences(1 << OpenType::Bool as u32).is_empty());
        let sentence = &values.sentences(1 << OpenType::Int as u32)[0];
        assert!(sentence.contains("nondet_int gave only 0, 1"));
        assert!(!values.asks_for(sentence));
    }

    #[test]
    fn pointers_have_values_only_if_these_are_named() {
        let sentence = |text| {
            let values = OpenValues::parse(text).unwrap();
            let all = values.sentences(1 << OpenType::Pointer as u32);
            (of(&values, OpenType::Pointer).to_vec(), values.asks_for(&all[0]))
        };
        assert_eq!(sentence("0,1"), (vec![0], false));
        assert_eq!(sentence("5"), (vec![0], false));
        assert_eq!(sentence("0,1,pointer=0"), (vec![0], true));
        assert_eq!(sentence("pointer=0..2"), (vec![0, 1, 2], true));
    }

    #[test]
    fn types_can_have_values_of_their_own() {
        let values = OpenValues::parse("0,7, int=-1..2,9 ,uchar=255").unwrap();
        assert_eq!(of(&values, OpenType::Int), [-1, 0, 1, 2, 9]);
        assert_eq!(of(&values, OpenType::UChar), [255]);
        assert_eq!(of(&values, OpenType::Long), [0, 7]);
        assert_eq!(of(&values, OpenType::Bool), [0]);
        assert_eq!(values.text(), "0,7, int=-1..2,9 ,uchar=255");
    }

    #[test]
    fn what_a_type_does_not_have_is_left_out() {
        let values = OpenValues::parse("-1..1,300").unwrap();
        assert_eq!(of(&values, OpenType::UInt), [0, 1, 300]);
        assert_eq!(of(&values, OpenType::UChar), [0, 1]);
        assert_eq!(OpenValues::parse("uint=-1"), Err(OpenValuesError::DoesNotFit("uint", -1)));
        assert_eq!(OpenValues::parse("uchar=0,300"), Err(OpenValuesError::DoesNotFit("uchar", 300)));
        // Where none of the common values fits, the default stays, for which nothing asks.
        let values = OpenValues::parse("-5").unwrap();
        assert_eq!(of(&values, OpenType::UInt), [0, 1]);
        assert!(!values.asks_for(&values.sentences(1 << OpenType::UInt as u32)[0]));
        assert!(values.asks_for(&values.sentences(1 << OpenType::Int as u32)[0]));
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
