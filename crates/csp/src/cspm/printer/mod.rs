//! Syntax tree to text that the parser, and FDR, read back as the same tree.
//!
//! Parentheses stand exactly where the table of levels asks for them, and around every open-ended
//! expression (`if`, `let`, replicated operators) that is an operand. Long lists are broken after
//! separators, where a new line means nothing.

mod expr;

use std::fmt;

use super::ast::{
    Assertion, Claim, Declaration, DeclarationKind, Definition, Expression, Pattern, PatternKind, Script, UnaryOp,
};
use super::level;
use super::lexer::OPERATORS;

/// Beyond this column a line is broken at the next separator.
const WIDTH: usize = 100;

#[derive(Default)]
struct Printer {
    text: String,
    line_start: usize,
    /// Directly between `<` and `>`, where a comparison with `>` needs parentheses.
    in_sequence: bool,
}

impl fmt::Display for Script {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut printer = Printer::default();
        for (index, declaration) in self.declarations.iter().enumerate() {
            let before = index.checked_sub(1).map(|before| &self.declarations[before]);
            if before.is_some_and(|before| stands_apart(before, declaration)) {
                printer.new_line(0);
            }
            printer.declaration(declaration);
            printer.new_line(0);
        }
        out.write_str(&printer.text)
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut printer = Printer::default();
        printer.expression(self, level::OPEN);
        out.write_str(&printer.text)
    }
}

impl fmt::Display for Assertion {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut printer = Printer::default();
        printer.assertion(self);
        out.write_str(&printer.text)
    }
}

/// Whether a blank line helps the eye between two declarations.
fn stands_apart(before: &Declaration, after: &Declaration) -> bool {
    std::mem::discriminant(&before.kind) != std::mem::discriminant(&after.kind)
}

/// Whether two texts written next to each other would be read as one longer operator or as a
/// comment.
fn fuses(left: char, right: char) -> bool {
    let mut pair = [0; 8];
    let middle = left.encode_utf8(&mut pair).len();
    let end = middle + right.encode_utf8(&mut pair[middle..]).len();
    let pair = std::str::from_utf8(&pair[..end]).unwrap_or_default();
    OPERATORS.iter().chain(&["{-", "-}", "--", ":[", "(|", "|)"]).any(|operator| operator.contains(pair))
}

impl Printer {
    fn push(&mut self, text: &str) {
        if let (Some(last), Some(first)) = (self.text.chars().next_back(), text.chars().next())
            && fuses(last, first)
        {
            self.text.push(' ');
        }
        self.text.push_str(text);
    }

    fn new_line(&mut self, indent: usize) {
        self.text.truncate(self.text.trim_end_matches(' ').len());
        self.text.push('\n');
        self.line_start = self.text.len();
        self.text.extend(std::iter::repeat_n(' ', indent));
    }

    /// A separator and then a space, or a new line if this one is long.
    fn separator(&mut self, separator: &str) {
        self.push(separator);
        match self.text.len() - self.line_start > WIDTH {
            true => self.new_line(4),
            false => self.text.push(' '),
        }
    }

    fn separated<T>(&mut self, items: &[T], separator: &str, mut item: impl FnMut(&mut Self, &T)) {
        for (index, next) in items.iter().enumerate() {
            if index > 0 {
                self.separator(separator);
            }
            item(self, next);
        }
    }

    fn names(&mut self, names: &[crate::value::Name]) {
        self.separated(names, ",", |printer, name| printer.push(name));
    }

    fn types(&mut self, fields: &[Expression]) {
        for (index, field) in fields.iter().enumerate() {
            if index > 0 {
                self.push(".");
            }
            self.expression(field, level::FIELD);
        }
    }

    fn declaration(&mut self, declaration: &Declaration) {
        match &declaration.kind {
            DeclarationKind::Channel(names, fields) => {
                self.push("channel ");
                self.names(names);
                if !fields.is_empty() {
                    self.push(" : ");
                    self.types(fields);
                }
            }
            DeclarationKind::Datatype(name, constructors) => {
                self.push("datatype ");
                self.push(name);
                self.push(" = ");
                self.separated(constructors, " |", |printer, constructor| {
                    printer.push(&constructor.name);
                    if !constructor.fields.is_empty() {
                        printer.push(".");
                        printer.types(&constructor.fields);
                    }
                });
            }
            DeclarationKind::Nametype(name, of) => {
                self.push("nametype ");
                self.push(name);
                self.push(" = ");
                self.expression(of, level::OPEN);
            }
            DeclarationKind::Transparent(names) => {
                self.push("transparent ");
                self.names(names);
            }
            DeclarationKind::Definition(definition) => self.definition(definition),
            DeclarationKind::Assert(assertion) => {
                self.push("assert ");
                self.assertion(assertion);
            }
        }
    }

    fn definition(&mut self, definition: &Definition) {
        self.push(&definition.name);
        if let Some(parameters) = &definition.parameters {
            self.push("(");
            self.separated(parameters, ",", |printer, parameter| printer.pattern(parameter, 0));
            self.push(")");
        }
        self.push(" = ");
        self.expression(&definition.body, level::OPEN);
    }

    fn assertion(&mut self, assertion: &Assertion) {
        if assertion.negated {
            self.push("not ");
        }
        match &assertion.claim {
            Claim::TraceRefinement(specification, implementation) => {
                // A leading `not` of the expression itself must not be taken for the assertion's.
                self.expression(specification, level::of_unary(UnaryOp::Not) + 1);
                self.push(" [T= ");
                self.expression(implementation, level::OPEN);
            }
            Claim::DeadlockFree(process) => {
                self.expression(process, level::of_unary(UnaryOp::Not) + 1);
                self.push(" :[deadlock free [F]]");
            }
            Claim::DivergenceFree(process) => {
                self.expression(process, level::of_unary(UnaryOp::Not) + 1);
                self.push(" :[divergence free]");
            }
        }
    }

    /// Writes a pattern; `least` is 0 where dots may stand, 1 where concatenation may, 2 where
    /// neither may.
    fn pattern(&mut self, pattern: &Pattern, least: u8) {
        let own = match pattern.kind {
            PatternKind::Dot(_) => 0,
            PatternKind::Concat(_) => 1,
            _ => 2,
        };
        if own < least {
            self.push("(");
            self.pattern(pattern, 0);
            self.push(")");
            return;
        }
        let listed = |printer: &mut Self, open: &str, parts: &[Pattern], close: &str| {
            printer.push(open);
            printer.separated(parts, ",", |printer, part| printer.pattern(part, 0));
            printer.push(close);
        };
        match &pattern.kind {
            PatternKind::Any => self.push("_"),
            PatternKind::Name(name) => self.push(name),
            PatternKind::Int(number) => self.push(&number.to_string()),
            PatternKind::Bool(truth) => self.push(if *truth { "true" } else { "false" }),
            PatternKind::Tuple(parts) => listed(self, "(", parts, ")"),
            PatternKind::Seq(parts) => listed(self, "<", parts, ">"),
            PatternKind::Set(parts) => listed(self, "{", parts, "}"),
            PatternKind::Concat(parts) | PatternKind::Dot(parts) => {
                for (index, part) in parts.iter().enumerate() {
                    if index > 0 {
                        self.push(if own == 0 { "." } else { "^" });
                    }
                    self.pattern(part, own + 1);
                }
            }
        }
    }
}
