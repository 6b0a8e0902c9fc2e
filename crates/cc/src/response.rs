//! Response files: `@file` on a command line stands for the words in that file.
//!
//! The rules are those that gcc and clang share: words are separated by white space, single and
//! double quotes group, a backslash takes the next character literally (inside quotes too), files
//! may name further files, and an `@file` that cannot be read stays as it is for the compiler to
//! complain about.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// As many files as gcc is willing to open before it assumes that one includes itself.
const MAX_FILES: usize = 2000;

/// Why response files could not be expanded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResponseError {
    /// A file that names itself, directly or through others.
    #[error("more than {MAX_FILES} response files, the last of them `{0}`: one of them includes itself")]
    TooMany(PathBuf),
}

/// Replaces every `@file` in `args` by the words of that file, nested ones included.
///
/// `read` fetches a file, or says `None` where there is nothing to read: that is what keeps this
/// function pure.
pub fn expand(
    args: &[OsString],
    read: &mut dyn FnMut(&Path) -> Option<Vec<u8>>,
) -> Result<Vec<OsString>, ResponseError> {
    let mut expanded = Vec::with_capacity(args.len());
    // A stack of words still to look at, next one on top, so that nesting needs no recursion.
    let mut pending: Vec<OsString> = args.iter().rev().cloned().collect();
    let mut files = 0;
    while let Some(word) = pending.pop() {
        let Some(name) = word.as_bytes().strip_prefix(b"@").filter(|name| !name.is_empty()) else {
            expanded.push(word);
            continue;
        };
        let path = Path::new(OsStr::from_bytes(name));
        let Some(contents) = read(path) else {
            expanded.push(word);
            continue;
        };
        files += 1;
        if files > MAX_FILES {
            return Err(ResponseError::TooMany(path.to_path_buf()));
        }
        pending.extend(split(&contents).into_iter().rev());
    }
    Ok(expanded)
}

/// Splits text into words by the quoting rules of response files; also used for flags that come as
/// one string.
pub fn split(text: &[u8]) -> Vec<OsString> {
    let mut words = Vec::new();
    // `None` between words; `""` makes a word although it adds no character.
    let mut word: Option<Vec<u8>> = None;
    let mut quote: Option<u8> = None;
    let mut bytes = text.iter().copied();
    while let Some(byte) = bytes.next() {
        match (byte, quote) {
            (b'\\', _) => word.get_or_insert_default().extend(bytes.next()),
            (_, Some(open)) if byte == open => quote = None,
            (_, Some(_)) => word.get_or_insert_default().push(byte),
            (b'\'' | b'"', None) => {
                quote = Some(byte);
                word.get_or_insert_default();
            }
            _ if is_space(byte) => words.extend(word.take()),
            _ => word.get_or_insert_default().push(byte),
        }
    }
    words.extend(word);
    words.into_iter().map(OsString::from_vec).collect()
}

/// The text of a response file that stands for exactly these words, one a line.
pub fn join(words: &[OsString]) -> Vec<u8> {
    let mut text = Vec::new();
    for word in words {
        if word.is_empty() {
            text.extend_from_slice(b"\"\"");
        }
        for &byte in word.as_bytes() {
            match byte {
                // Inside quotes, because shells and some tokenizers drop a backslash together with
                // a line break.
                b'\n' => text.extend_from_slice(b"\"\n\""),
                b'\\' | b'"' | b'\'' => text.extend_from_slice(&[b'\\', byte]),
                _ if is_space(byte) => text.extend_from_slice(&[b'\\', byte]),
                _ => text.push(byte),
            }
        }
        text.push(b'\n');
    }
    text
}

/// White space as C's `isspace` has it, which counts the vertical tab too.
fn is_space(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == 0x0b
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(list: &[&str]) -> Vec<OsString> {
        list.iter().map(OsString::from).collect()
    }

    fn expand_with(args: &[&str], files: &[(&str, &str)]) -> Result<Vec<OsString>, ResponseError> {
        expand(&words(args), &mut |path| {
            let found = files.iter().find(|(name, _)| path == Path::new(name));
            found.map(|(_, text)| text.as_bytes().to_vec())
        })
    }

    #[test]
    fn words_are_split_at_white_space_of_every_kind() {
        assert_eq!(split(b" -c \t a.c\n-o\r\n\x0ba.o\x0c"), words(&["-c", "a.c", "-o", "a.o"]));
    }

    #[test]
    fn quotes_group_and_vanish() {
        assert_eq!(split(br#"'a b' "c d" e' 'f "it's""#), words(&["a b", "c d", "e f", "it's"]));
    }

    #[test]
    fn a_backslash_takes_the_next_character_even_inside_quotes() {
        assert_eq!(split(br#"a\ b "c\"d" 'e\'f' g\\h -DX=\"s\""#), words(&["a b", "c\"d", "e'f", "g\\h", "-DX=\"s\""]));
    }

    #[test]
    fn empty_quotes_are_an_empty_word() {
        assert_eq!(split(b"-DA '' \"\" b"), words(&["-DA", "", "", "b"]));
    }

    #[test]
    fn unterminated_quotes_and_a_last_backslash_end_with_the_text() {
        assert_eq!(split(b"'a b"), words(&["a b"]));
        assert_eq!(split(b"a\\"), words(&["a"]));
        assert_eq!(split(b""), words(&[]));
    }

    #[test]
    fn files_may_name_files_and_keep_their_place() {
        let files = [("one", "-DONE @two -DLAST"), ("two", "'-DTWO=a b'")];
        let expanded = expand_with(&["-c", "@one", "a.c"], &files);
        assert_eq!(expanded, Ok(words(&["-c", "-DONE", "-DTWO=a b", "-DLAST", "a.c"])));
    }

    #[test]
    fn a_file_that_cannot_be_read_stays_for_the_compiler_to_judge() {
        assert_eq!(expand_with(&["@missing", "@"], &[]), Ok(words(&["@missing", "@"])));
    }

    #[test]
    fn a_file_that_includes_itself_is_an_error_and_not_a_loop() {
        let expanded = expand_with(&["@self"], &[("self", "-DX @self")]);
        assert_eq!(expanded, Err(ResponseError::TooMany(PathBuf::from("self"))));
    }

    #[test]
    fn joined_words_split_back_into_themselves() {
        let all_bytes: Vec<u8> = (1..=255).collect();
        let mut list = words(&["", "a b", "-DX=\"s\"", "it's", "c:\\d", "two\nlines", "@file", "\t"]);
        list.push(OsString::from_vec(all_bytes));
        assert_eq!(split(&join(&list)), list);
    }
}
