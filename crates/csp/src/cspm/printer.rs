//! Syntax tree to text that the parser, and FDR, read back as the same tree.
//!
//! Parentheses stand exactly where the table of levels asks for them, and around every open-ended expression (`if`, `let`,
//! replicated operators) that is an operand. Long lists are broken after separators, where a new line means nothing.

use std::fmt;

use super::ast::{
    Assertion, BinaryOp, Bracket, Claim, Communication, Declaration, DeclarationKind, Definition, Expr, ExprKind,
    Field, Pattern, PatternKind, ReplicatedOp, Script, Statement, UnaryOp,
};
use super::level::{self, Level};
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

impl fmt::Display for Expr {
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

/// Whether two texts written next to each other would be read as one longer operator or as a comment.
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

    fn types(&mut self, fields: &[Expr]) {
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

    /// Writes inside brackets, where `>` compares again.
    fn bracketed(&mut self, write: impl FnOnce(&mut Self)) {
        let outside = std::mem::replace(&mut self.in_sequence, false);
        write(self);
        self.in_sequence = outside;
    }

    /// Writes `expression`, in parentheses if it binds looser than `least`.
    fn expression(&mut self, expression: &Expr, least: Level) {
        let kind = &expression.kind;
        let closes = self.in_sequence && matches!(kind, ExprKind::Binary(BinaryOp::Greater, ..));
        if closes || level::of_expression(kind) < least {
            self.push("(");
            self.bracketed(|printer| printer.kind(kind));
            self.push(")");
        } else {
            self.kind(kind);
        }
    }

    fn kind(&mut self, kind: &ExprKind) {
        match kind {
            ExprKind::Int(number) => self.push(&number.to_string()),
            ExprKind::Bool(truth) => self.push(if *truth { "true" } else { "false" }),
            ExprKind::Name(name) => self.push(name),
            ExprKind::Call(function, arguments) => {
                self.expression(function, level::POSTFIX);
                self.push("(");
                self.bracketed(|printer| printer.expressions(arguments));
                self.push(")");
            }
            ExprKind::Tuple(parts) => {
                self.push("(");
                self.bracketed(|printer| printer.expressions(parts));
                self.push(")");
            }
            ExprKind::List(bracket, elements) => {
                self.listed(*bracket, |printer| printer.expressions(elements));
            }
            ExprKind::Range(bracket, first, last) => self.listed(*bracket, |printer| {
                printer.expression(first, level::OPEN);
                printer.push("..");
                printer.expression(last, level::OPEN);
            }),
            ExprKind::Comprehension(bracket, elements, statements) => self.listed(*bracket, |printer| {
                printer.expressions(elements);
                printer.push(" | ");
                printer.statements(statements, " <- ");
            }),
            ExprKind::Dot(parts) => self.types(parts),
            ExprKind::Unary(operator, operand) => self.unary(*operator, operand),
            ExprKind::Binary(operator, left, right) => self.binary(*operator, left, right),
            ExprKind::If(condition, yes, no) => {
                self.push("if ");
                self.bracketed(|printer| printer.expression(condition, level::OPEN));
                self.push(" then ");
                self.bracketed(|printer| printer.expression(yes, level::OPEN));
                self.push(" else ");
                self.expression(no, level::OPEN);
            }
            ExprKind::Let(definitions, body) => {
                self.push("let");
                self.bracketed(|printer| {
                    for definition in definitions {
                        printer.new_line(4);
                        printer.definition(definition);
                    }
                });
                self.new_line(2);
                self.push("within ");
                self.expression(body, level::OPEN);
            }
            ExprKind::Lambda(parameters, body) => {
                self.push("\\ ");
                self.separated(parameters, ",", |printer, parameter| printer.pattern(parameter, 0));
                self.push(" @ ");
                self.expression(body, level::OPEN);
            }
            _ => self.process(kind),
        }
    }

    fn process(&mut self, kind: &ExprKind) {
        const OPERAND: Level = level::PARALLEL + 1;
        match kind {
            ExprKind::Prefix(steps, body) => {
                for step in steps {
                    self.communication(step);
                    self.separator(" ->");
                }
                let guarded = matches!(body.kind, ExprKind::Binary(BinaryOp::Guard, ..));
                self.expression(body, if guarded { level::PREFIX } else { level::PREFIX + 1 });
            }
            ExprKind::Chain(operator, operands) => {
                let operand = level::of_chain(*operator) + 1;
                let symbol = format!(" {}", operator.symbol());
                self.separated(operands, &symbol, |printer, next| printer.expression(next, operand));
            }
            ExprKind::Shared(left, set, right) | ExprKind::Exception(left, set, right) => {
                let exception = matches!(kind, ExprKind::Exception(..));
                self.expression(left, OPERAND);
                self.push(" [| ");
                self.bracketed(|printer| printer.expression(set, level::OPEN));
                self.push(if exception { " |> " } else { " |] " });
                self.expression(right, OPERAND);
            }
            ExprKind::Alphabetised(left, left_set, right_set, right) => {
                self.expression(left, OPERAND);
                self.push(" [");
                self.bracketed(|printer| {
                    printer.expression(left_set, level::OPEN);
                    printer.push(" || ");
                    printer.expression(right_set, level::OPEN);
                });
                self.push("] ");
                self.expression(right, OPERAND);
            }
            ExprKind::Rename(process, pairs, statements) => {
                self.expression(process, level::POSTFIX);
                self.push(" [[ ");
                self.separated(pairs, ",", |printer, (from, to)| {
                    printer.bracketed(|printer| {
                        printer.expression(from, level::OPEN);
                        printer.push(" <- ");
                        printer.expression(to, level::OPEN);
                    });
                });
                if !statements.is_empty() {
                    self.push(" | ");
                    self.statements(statements, " <- ");
                }
                self.push(" ]]");
            }
            ExprKind::Replicated(operator, statements, body) => {
                self.replicated(operator, statements, body);
            }
            _ => unreachable!("data is written by the caller"),
        }
    }

    fn expressions(&mut self, expressions: &[Expr]) {
        self.separated(expressions, ",", |printer, next| printer.expression(next, level::OPEN));
    }

    fn listed(&mut self, bracket: Bracket, write: impl FnOnce(&mut Self)) {
        let (open, close) = match bracket {
            Bracket::Sequence => ("<", ">"),
            Bracket::Set => ("{", "}"),
            Bracket::Productions => ("{|", "|}"),
        };
        self.push(open);
        let outside = std::mem::replace(&mut self.in_sequence, bracket == Bracket::Sequence);
        write(self);
        self.in_sequence = outside;
        self.push(close);
    }

    fn unary(&mut self, operator: UnaryOp, operand: &Expr) {
        let own = level::of_unary(operator);
        match operator {
            UnaryOp::Negate => {
                self.push("-");
                self.expression(operand, own + 1);
            }
            UnaryOp::Not => {
                self.push("not ");
                self.expression(operand, own);
            }
            UnaryOp::Length => {
                self.push("#");
                self.expression(operand, own);
            }
        }
    }

    fn binary(&mut self, operator: BinaryOp, left: &Expr, right: &Expr) {
        let own = level::of_binary(operator);
        let (left_least, right_least) = match operator {
            BinaryOp::Guard => (own + 1, own),
            _ if level::is_comparison(operator) => (own + 1, own + 1),
            _ => (own, own + 1),
        };
        self.expression(left, left_least);
        self.push(" ");
        self.push(operator.symbol());
        self.push(" ");
        self.expression(right, right_least);
    }

    fn communication(&mut self, step: &Communication) {
        self.expression(&step.channel, level::PREFIX + 1);
        for field in &step.fields {
            let (mark, pattern, from) = match field {
                Field::Output(value) => {
                    self.push("!");
                    self.expression(value, level::DOT);
                    continue;
                }
                Field::Input(pattern, from) => ("?", pattern, from),
                Field::Choice(pattern, from) => ("$", pattern, from),
            };
            self.push(mark);
            self.pattern(pattern, 0);
            if let Some(from) = from {
                self.push(":");
                self.expression(from, level::FIELD);
            }
        }
    }

    fn replicated(&mut self, operator: &ReplicatedOp, statements: &[Statement], body: &Expr) {
        match operator {
            ReplicatedOp::Chain(chain) => self.push(chain.symbol()),
            ReplicatedOp::Alphabetised(_) => self.push("||"),
            ReplicatedOp::Shared(set) => {
                self.push("[| ");
                self.bracketed(|printer| printer.expression(set, level::OPEN));
                self.push(" |]");
            }
        }
        self.push(" ");
        self.statements(statements, ":");
        self.push(" @ ");
        let mut least = level::OPEN;
        if let ReplicatedOp::Alphabetised(alphabet) = operator {
            self.push("[");
            self.bracketed(|printer| printer.expression(alphabet, level::OPEN));
            self.push("] ");
            least = level::PARALLEL + 1;
        }
        self.expression(body, least);
    }

    fn statements(&mut self, statements: &[Statement], from: &str) {
        self.separated(statements, ",", |printer, statement| match statement {
            Statement::Generator(pattern, set) => {
                printer.pattern(pattern, 0);
                printer.push(from);
                printer.expression(set, level::OPEN);
            }
            Statement::Condition(condition) => printer.expression(condition, level::OPEN),
        });
    }

    /// Writes a pattern; `least` is 0 where dots may stand, 1 where concatenation may, 2 where neither may.
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
