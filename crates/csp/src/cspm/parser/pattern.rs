//! Patterns.

use super::{DEPTH_LIMIT, Parser};
use crate::cspm::ast::{Pattern, PatternKind};
use crate::cspm::lexer::Token;
use crate::error::SourceError;

impl Parser {
    /// A pattern: dots bind looser than concatenation, as in expressions.
    pub(super) fn pattern(&mut self) -> Result<Pattern, SourceError> {
        let place = self.place();
        self.depth += 1;
        if self.depth > DEPTH_LIMIT {
            return Err(SourceError::new(place, "patterns are nested too deeply"));
        }
        let first = self.concatenation()?;
        let mut parts = vec![first];
        while self.accept(".") {
            parts.push(self.concatenation()?);
        }
        self.depth -= 1;
        Ok(single_or(parts, |parts| Pattern { kind: PatternKind::Dot(parts), place }))
    }

    fn concatenation(&mut self) -> Result<Pattern, SourceError> {
        let place = self.place();
        let mut parts = vec![self.simple_pattern()?];
        while self.accept("^") {
            parts.push(self.simple_pattern()?);
        }
        Ok(single_or(parts, |parts| Pattern { kind: PatternKind::Concat(parts), place }))
    }

    fn simple_pattern(&mut self) -> Result<Pattern, SourceError> {
        let place = self.place();
        let negative = self.accept("-");
        let kind = match self.peek().clone() {
            Token::Int(number) => {
                self.advance();
                PatternKind::Int(if negative { -number } else { number })
            }
            _ if negative => return Err(self.unexpected("a number")),
            Token::Name(name) => {
                self.advance();
                PatternKind::Name(name)
            }
            Token::Symbol(truth @ ("true" | "false")) => {
                self.advance();
                PatternKind::Bool(truth == "true")
            }
            Token::Symbol("_") => {
                self.advance();
                PatternKind::Any
            }
            Token::Symbol("(") => {
                self.advance();
                let parts = self.separated(Parser::pattern)?;
                self.expect(")", "after the pattern")?;
                return Ok(single_or(parts, |parts| Pattern { kind: PatternKind::Tuple(parts), place }));
            }
            Token::Symbol("<") => PatternKind::Seq(self.pattern_list(">")?),
            Token::Symbol("{") => {
                let parts = self.pattern_list("}")?;
                if parts.len() > 1 {
                    return Err(SourceError::new(place, "a set pattern has at most one element"));
                }
                PatternKind::Set(parts)
            }
            _ => return Err(self.unexpected("a pattern")),
        };
        Ok(Pattern { kind, place })
    }

    fn pattern_list(&mut self, close: &str) -> Result<Vec<Pattern>, SourceError> {
        self.advance();
        let parts = match self.is(close) {
            true => Vec::new(),
            false => self.separated(Parser::pattern)?,
        };
        self.expect(close, "after the pattern")?;
        Ok(parts)
    }
}

fn single_or(mut parts: Vec<Pattern>, several: impl FnOnce(Vec<Pattern>) -> Pattern) -> Pattern {
    match parts.len() {
        1 => parts.swap_remove(0),
        _ => several(parts),
    }
}
