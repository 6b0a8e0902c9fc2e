//! Tokens to syntax tree: a recursive-descent parser with operator precedence.
//!
//! The grammar is the subset of FDR's that the crate's page lists. What FDR has and this does not
//! is refused by name rather than misread. Both the recursion of the parser and the height of the
//! tree are bounded, so that no text can overflow a stack here or in whatever walks the tree later.

mod expr;
mod pattern;

use super::ast::{
    Assertion, Claim, Constructor, Declaration, DeclarationKind, Definition, Expression, ExpressionKind, Script,
};
use super::level;
use super::lexer::{LocatedToken, Token, tokens};
use crate::error::{SourceError, SourcePosition};
use crate::value::Name;

/// How deep brackets and bodies may nest.
const DEPTH_LIMIT: usize = 150;
/// How high the tree may grow, counting operators that associate to the left as well.
const HEIGHT_LIMIT: usize = 500;

/// Parses a script.
pub fn parse(source: &str) -> Result<Script, SourceError> {
    let mut parser = Parser { tokens: tokens(source)?, at: 0, depth: 0, height: 0, in_sequence: false };
    let mut declarations = Vec::new();
    while parser.peek() != &Token::End {
        declarations.push(parser.declaration()?);
    }
    Ok(Script { declarations })
}

/// Parses an expression that stands alone.
pub(crate) fn parse_expression(source: &str) -> Result<Expression, SourceError> {
    let mut parser = Parser { tokens: tokens(source)?, at: 0, depth: 0, height: 0, in_sequence: false };
    let expression = parser.expression(level::OPEN)?;
    match parser.peek() {
        Token::End => Ok(expression),
        _ => Err(parser.unexpected("an operator or the end")),
    }
}

pub(crate) struct Parser {
    tokens: Vec<LocatedToken>,
    at: usize,
    depth: usize,
    /// The largest height of the expressions finished since the current one began.
    height: usize,
    /// Directly between `<` and `>`, where `>` closes instead of comparing.
    in_sequence: bool,
}

impl Parser {
    fn peek(&self) -> &Token {
        &self.tokens[self.at].token
    }

    fn place(&self) -> SourcePosition {
        self.tokens[self.at].place
    }

    fn first_of_line(&self) -> bool {
        self.tokens[self.at].first_of_line
    }

    fn advance(&mut self) {
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
    }

    fn is(&self, symbol: &str) -> bool {
        matches!(self.peek(), Token::Symbol(found) if *found == symbol)
    }

    fn accept(&mut self, symbol: &str) -> bool {
        let found = self.is(symbol);
        if found {
            self.advance();
        }
        found
    }

    fn expect(&mut self, symbol: &str, context: &str) -> Result<(), SourceError> {
        match self.accept(symbol) {
            true => Ok(()),
            false => Err(self.unexpected(&format!("`{symbol}` {context}"))),
        }
    }

    fn expect_name(&mut self, context: &str) -> Result<Name, SourceError> {
        match self.peek().clone() {
            Token::Name(name) => {
                self.advance();
                Ok(name)
            }
            _ => Err(self.unexpected(context)),
        }
    }

    fn unexpected(&self, expected: &str) -> SourceError {
        let found = match self.peek() {
            Token::Int(number) => format!("{number}"),
            Token::Name(name) => format!("`{name}`"),
            Token::Symbol(symbol) => format!("`{symbol}`"),
            Token::Refines(model) => format!("`[{model}=`"),
            Token::Property(words) => format!("`:[{words}]`"),
            Token::End => "the end of the file".to_owned(),
        };
        SourceError::new(self.place(), format!("expected {expected}, found {found}"))
    }

    /// Items between commas, up to a closing symbol that is left to the caller.
    fn separated<T>(
        &mut self,
        mut item: impl FnMut(&mut Self) -> Result<T, SourceError>,
    ) -> Result<Vec<T>, SourceError> {
        let mut items = vec![item(self)?];
        while self.accept(",") {
            items.push(item(self)?);
        }
        Ok(items)
    }

    fn declaration(&mut self) -> Result<Declaration, SourceError> {
        let place = self.place();
        let kind = match self.peek().clone() {
            Token::Name(_) => DeclarationKind::Definition(self.definition()?),
            Token::Symbol("channel") => self.channel()?,
            Token::Symbol("datatype") => self.datatype()?,
            Token::Symbol("nametype") => {
                self.advance();
                let name = self.expect_name("the name of the type")?;
                self.expect("=", "after the type's name")?;
                DeclarationKind::Nametype(name, self.expression(level::OPEN)?)
            }
            Token::Symbol("transparent") => {
                self.advance();
                let names = self.separated(|parser| parser.expect_name("the name of a compression"))?;
                DeclarationKind::Transparent(names)
            }
            Token::Symbol("assert") => self.assertion()?,
            Token::Symbol(
                refused @ ("subtype" | "external" | "include" | "module" | "instance" | "print" | "Timed"),
            ) => {
                return Err(SourceError::new(place, format!("`{refused}` is not supported")));
            }
            _ => return Err(self.unexpected("a declaration")),
        };
        Ok(Declaration { kind, place })
    }

    fn channel(&mut self) -> Result<DeclarationKind, SourceError> {
        self.advance();
        let names = self.separated(|parser| parser.expect_name("the name of a channel"))?;
        let fields = match self.accept(":") {
            true => fields_of(self.expression(level::OPEN)?),
            false => Vec::new(),
        };
        Ok(DeclarationKind::Channel(names, fields))
    }

    fn datatype(&mut self) -> Result<DeclarationKind, SourceError> {
        self.advance();
        let datatype = self.expect_name("the name of the datatype")?;
        self.expect("=", "after the datatype's name")?;
        let mut constructors = Vec::new();
        loop {
            let name = self.expect_name("the name of a constructor")?;
            let fields = match self.accept(".") {
                true => fields_of(self.expression(level::DOT)?),
                false => Vec::new(),
            };
            constructors.push(Constructor { name, fields });
            if !self.accept("|") {
                return Ok(DeclarationKind::Datatype(datatype, constructors));
            }
        }
    }

    fn definition(&mut self) -> Result<Definition, SourceError> {
        let place = self.place();
        let name = self.expect_name("the name of a definition")?;
        let mut parameters = None;
        if self.accept("(") {
            let patterns = match self.is(")") {
                true => Vec::new(),
                false => self.separated(Parser::pattern)?,
            };
            self.expect(")", "after the parameters")?;
            parameters = Some(patterns);
        }
        self.expect("=", "in a definition")?;
        let body = self.expression(level::OPEN)?;
        Ok(Definition { name, parameters, body, place })
    }

    fn assertion(&mut self) -> Result<DeclarationKind, SourceError> {
        self.advance();
        let negated = self.accept("not");
        let process = self.expression(level::OPEN)?;
        let place = self.place();
        let claim = match self.peek().clone() {
            Token::Refines(model) if model == "T" => {
                self.advance();
                Claim::TraceRefinement(process, self.expression(level::OPEN)?)
            }
            Token::Refines(model) => {
                let message = format!("refinement in the model {model} is not supported, only `[T=`");
                return Err(SourceError::new(place, message));
            }
            Token::Property(words) => {
                self.advance();
                match words.as_str() {
                    "deadlock free" | "deadlock free F" | "deadlock free FD" => Claim::DeadlockFree(process),
                    "divergence free" | "livelock free" | "divergence free FD" | "livelock free FD" => {
                        Claim::DivergenceFree(process)
                    }
                    other => {
                        return Err(SourceError::new(place, format!("the property `{other}` is not supported")));
                    }
                }
            }
            _ => return Err(self.unexpected("`[T=` or a property such as `:[deadlock free]`")),
        };
        if let Token::Property(option) = self.peek() {
            return Err(SourceError::new(self.place(), format!("the option `{option}` is not supported")));
        }
        Ok(DeclarationKind::Assert(Assertion { negated, claim }))
    }
}

/// The fields of a type: the operands of its outermost dots.
fn fields_of(expression: Expression) -> Vec<Expression> {
    match expression.kind {
        ExpressionKind::Dot(parts) => parts,
        _ => vec![expression],
    }
}
