//! Text to tokens.

use crate::error::{SourceError, SourcePosition};
use crate::value::Name;

/// A piece of text.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Token {
    Int(i64),
    Name(Name),
    /// An operator, a bracket or a keyword.
    Symbol(&'static str),
    /// `[T=`, with the model's name.
    Refines(String),
    /// `:[deadlock free]`, the words between the brackets with single spaces.
    Property(String),
    End,
}

/// A token and its position.
#[derive(Clone, Debug)]
pub(crate) struct LocatedToken {
    pub(crate) token: Token,
    pub(crate) place: SourcePosition,
    /// Whether it is the first of its line: a `(`, `-` or `<` there begins something new.
    pub(crate) first_of_line: bool,
}

pub(crate) const KEYWORDS: &[&str] = &[
    "if",
    "then",
    "else",
    "let",
    "within",
    "and",
    "or",
    "not",
    "true",
    "false",
    "channel",
    "datatype",
    "nametype",
    "subtype",
    "assert",
    "transparent",
    "external",
    "include",
    "module",
    "exports",
    "endmodule",
    "instance",
    "print",
    "Timed",
];

/// Longest first, so that the first that matches is the longest.
pub(crate) const OPERATORS: &[&str] = &[
    "|~|", "|||", "<->", "[|", "|]", "|>", "[[", "]]", "[]", "[>", "||", "{|", "|}", "/\\", "->", "<-", "==", "!=",
    "<=", ">=", "..", "@@", "::", "(", ")", "{", "}", "[", "]", "<", ">", "=", "\\", "|", ",", ".", "?", "!", "$", ":",
    ";", "&", "@", "+", "-", "*", "/", "%", "#", "^", "_",
];

/// The tokens of `source`, ending with [`Token::End`].
pub(crate) fn tokens(source: &str) -> Result<Vec<LocatedToken>, SourceError> {
    let mut lexer = Lexer { rest: source, place: SourcePosition { line: 1, column: 1 }, first_of_line: true };
    let mut tokens = Vec::new();
    loop {
        lexer.skip_blanks()?;
        let (place, first_of_line) = (lexer.place, lexer.first_of_line);
        let token = lexer.token()?;
        lexer.first_of_line = false;
        let end = token == Token::End;
        tokens.push(LocatedToken { token, place, first_of_line });
        if end {
            return Ok(tokens);
        }
    }
}

struct Lexer<'s> {
    rest: &'s str,
    place: SourcePosition,
    first_of_line: bool,
}

impl<'s> Lexer<'s> {
    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn bump(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.rest = &self.rest[next.len_utf8()..];
        if next == '\n' {
            self.place = SourcePosition { line: self.place.line + 1, column: 1 };
            self.first_of_line = true;
        } else {
            self.place.column += 1;
        }
        Some(next)
    }

    fn take_while(&mut self, keep: impl Fn(char) -> bool) -> &'s str {
        let start = self.rest;
        while self.peek().is_some_and(&keep) {
            self.bump();
        }
        &start[..start.len() - self.rest.len()]
    }

    fn skip_blanks(&mut self) -> Result<(), SourceError> {
        loop {
            self.take_while(char::is_whitespace);
            if self.rest.starts_with("--") {
                self.take_while(|next| next != '\n');
            } else if self.rest.starts_with("{-") {
                self.skip_block_comment()?;
            } else {
                return Ok(());
            }
        }
    }

    /// Block comments nest.
    fn skip_block_comment(&mut self) -> Result<(), SourceError> {
        let start = self.place;
        let mut depth = 0usize;
        loop {
            let step = match self.rest {
                rest if rest.starts_with("{-") => 1,
                rest if rest.starts_with("-}") => -1,
                _ => 0,
            };
            for _ in 0..=usize::from(step != 0) {
                if self.bump().is_none() {
                    return Err(SourceError::new(start, "this comment is never closed"));
                }
            }
            depth = depth.saturating_add_signed(step);
            if depth == 0 {
                return Ok(());
            }
        }
    }

    fn token(&mut self) -> Result<Token, SourceError> {
        let place = self.place;
        let Some(next) = self.peek() else {
            return Ok(Token::End);
        };
        if next.is_ascii_digit() {
            let digits = self.take_while(|next| next.is_ascii_digit());
            let number = digits.parse();
            return number.map(Token::Int).map_err(|_| {
                SourceError::new(place, format!("{digits} is larger than the largest integer, {}", i64::MAX))
            });
        }
        if next.is_ascii_alphabetic() {
            let start = self.rest;
            self.take_while(|next| next.is_ascii_alphanumeric() || next == '_');
            self.take_while(|next| next == '\'');
            let word = &start[..start.len() - self.rest.len()];
            let keyword = KEYWORDS.iter().find(|keyword| **keyword == word);
            return Ok(keyword.map_or_else(|| Token::Name(word.into()), |keyword| Token::Symbol(keyword)));
        }
        if let Some(model) = refines(self.rest) {
            for _ in 0..model.len() + 2 {
                self.bump();
            }
            return Ok(Token::Refines(model.to_owned()));
        }
        if self.rest.starts_with(":[") {
            return self.property();
        }
        if next == '"' {
            return Err(SourceError::new(place, "strings, and so `include`, are not supported"));
        }
        let Some(operator) = OPERATORS.iter().find(|operator| self.rest.starts_with(**operator)) else {
            return Err(SourceError::new(place, format!("unexpected character {next:?}")));
        };
        for _ in 0..operator.len() {
            self.bump();
        }
        Ok(Token::Symbol(operator))
    }

    /// The words of `:[...]`, in which a semantic model may stand in brackets of its own.
    fn property(&mut self) -> Result<Token, SourceError> {
        let start = self.place;
        self.bump();
        let mut text = String::new();
        let mut depth = 0;
        loop {
            match self.bump() {
                None | Some('\n') => {
                    return Err(SourceError::new(start, "this property is not closed on its line"));
                }
                Some(next) => {
                    depth += i32::from(next == '[') - i32::from(next == ']');
                    text.push(next);
                }
            }
            if depth == 0 {
                break;
            }
        }
        let words = text[1..text.len() - 1].replace(['-', '['], " ").replace(']', " ");
        Ok(Token::Property(words.split_whitespace().collect::<Vec<_>>().join(" ")))
    }
}

/// The model's name, if the text begins with a refinement symbol such as `[T=`.
fn refines(text: &str) -> Option<&str> {
    let name = text.strip_prefix('[')?;
    let length = name.find(|next: char| !next.is_ascii_uppercase())?;
    let after = &name[length..];
    (length > 0 && after.starts_with('=') && !after.starts_with("==")).then_some(&name[..length])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(source: &str) -> Vec<Token> {
        tokens(source).expect("lexes").into_iter().map(|located| located.token).collect()
    }

    #[test]
    fn the_longest_operator_wins() {
        let text: Vec<String> = kinds("P|||Q||R|~|x[|a|]b[[c<-d]]<>->/\\")
            .into_iter()
            .filter_map(|token| match token {
                Token::Symbol(symbol) => Some(symbol.to_owned()),
                _ => None,
            })
            .collect();
        let expected = ["|||", "||", "|~|", "[|", "|]", "[[", "<-", "]]", "<", ">", "->", "/\\"].map(str::to_owned);
        assert_eq!(text, expected);
    }

    #[test]
    fn properties_and_refinements_are_single_tokens() {
        assert_eq!(kinds("[T=")[0], Token::Refines("T".into()));
        assert_eq!(kinds("[FD= x")[0], Token::Refines("FD".into()));
        assert_eq!(kinds(":[ deadlock-free [F] ]")[0], Token::Property("deadlock free F".into()));
    }

    #[test]
    fn comments_nest_and_places_count_characters() {
        let all = tokens("-- é\n{- a {- b -} c -} x'\n  y").expect("lexes");
        assert_eq!(all[0].place, SourcePosition { line: 2, column: 19 });
        assert_eq!(all[0].token, Token::Name("x'".into()));
        assert!(all[0].first_of_line && all[1].first_of_line);
        assert_eq!(all[1].place, SourcePosition { line: 3, column: 3 });
    }

    #[test]
    fn errors_name_their_place() {
        let error = |source: &str| tokens(source).expect_err("does not lex").to_string();
        assert_eq!(error("a\n  \u{a3}"), "2:3: unexpected character '£'");
        assert_eq!(error(" {- x"), "1:2: this comment is never closed");
        assert!(error("99999999999999999999").starts_with("1:1: 99999999999999999999 is larger"));
        assert_eq!(error("P :[deadlock free\n]"), "1:3: this property is not closed on its line");
    }
}
