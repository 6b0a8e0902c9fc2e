//! Expressions.

use super::Printer;
use crate::cspm::ast::{
    BinaryOp, Bracket, Communication, Expression, ExpressionKind, Field, ReplicatedOp, Statement, UnaryOp,
};
use crate::cspm::level::{self, Level};

impl Printer {
    /// Writes inside brackets, where `>` compares again.
    fn bracketed(&mut self, write: impl FnOnce(&mut Self)) {
        let outside = std::mem::replace(&mut self.in_sequence, false);
        write(self);
        self.in_sequence = outside;
    }

    /// Writes `expression`, in parentheses if it binds looser than `least`.
    pub(super) fn expression(&mut self, expression: &Expression, least: Level) {
        let kind = &expression.kind;
        let closes = self.in_sequence && matches!(kind, ExpressionKind::Binary(BinaryOp::Greater, ..));
        if closes || level::of_expression(kind) < least {
            self.push("(");
            self.bracketed(|printer| printer.kind(kind));
            self.push(")");
        } else {
            self.kind(kind);
        }
    }

    fn kind(&mut self, kind: &ExpressionKind) {
        match kind {
            ExpressionKind::Int(number) => self.push(&number.to_string()),
            ExpressionKind::Bool(truth) => self.push(if *truth { "true" } else { "false" }),
            ExpressionKind::Name(name) => self.push(name),
            ExpressionKind::Call(function, arguments) => {
                self.expression(function, level::POSTFIX);
                self.push("(");
                self.bracketed(|printer| printer.expressions(arguments));
                self.push(")");
            }
            ExpressionKind::Tuple(parts) => {
                self.push("(");
                self.bracketed(|printer| printer.expressions(parts));
                self.push(")");
            }
            ExpressionKind::List(bracket, elements) => {
                self.listed(*bracket, |printer| printer.expressions(elements));
            }
            ExpressionKind::Range(bracket, first, last) => self.listed(*bracket, |printer| {
                printer.expression(first, level::OPEN);
                printer.push("..");
                printer.expression(last, level::OPEN);
            }),
            ExpressionKind::Comprehension(bracket, elements, statements) => self.listed(*bracket, |printer| {
                printer.expressions(elements);
                printer.push(" | ");
                printer.statements(statements, " <- ");
            }),
            ExpressionKind::Dot(parts) => self.types(parts),
            ExpressionKind::Unary(operator, operand) => self.unary(*operator, operand),
            ExpressionKind::Binary(operator, left, right) => self.binary(*operator, left, right),
            ExpressionKind::If(condition, yes, no) => {
                self.push("if ");
                self.bracketed(|printer| printer.expression(condition, level::OPEN));
                self.push(" then ");
                self.bracketed(|printer| printer.expression(yes, level::OPEN));
                self.push(" else ");
                self.expression(no, level::OPEN);
            }
            ExpressionKind::Let(definitions, body) => {
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
            ExpressionKind::Lambda(parameters, body) => {
                self.push("\\ ");
                self.separated(parameters, ",", |printer, parameter| printer.pattern(parameter, 0));
                self.push(" @ ");
                self.expression(body, level::OPEN);
            }
            _ => self.process(kind),
        }
    }

    fn process(&mut self, kind: &ExpressionKind) {
        const OPERAND: Level = level::PARALLEL + 1;
        match kind {
            ExpressionKind::Prefix(steps, body) => {
                for step in steps {
                    self.communication(step);
                    self.separator(" ->");
                }
                let guarded = matches!(body.kind, ExpressionKind::Binary(BinaryOp::Guard, ..));
                self.expression(body, if guarded { level::PREFIX } else { level::PREFIX + 1 });
            }
            ExpressionKind::Chain(operator, operands) => {
                let operand = level::of_chain(*operator) + 1;
                let symbol = format!(" {}", operator.symbol());
                self.separated(operands, &symbol, |printer, next| printer.expression(next, operand));
            }
            ExpressionKind::Shared(left, set, right) | ExpressionKind::Exception(left, set, right) => {
                let exception = matches!(kind, ExpressionKind::Exception(..));
                self.expression(left, OPERAND);
                self.push(" [| ");
                self.bracketed(|printer| printer.expression(set, level::OPEN));
                self.push(if exception { " |> " } else { " |] " });
                self.expression(right, OPERAND);
            }
            ExpressionKind::Alphabetised(left, left_set, right_set, right) => {
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
            ExpressionKind::Rename(process, pairs, statements) => {
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
            ExpressionKind::Replicated(operator, statements, body) => {
                self.replicated(operator, statements, body);
            }
            _ => unreachable!("data is written by the caller"),
        }
    }

    fn expressions(&mut self, expressions: &[Expression]) {
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

    fn unary(&mut self, operator: UnaryOp, operand: &Expression) {
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

    fn binary(&mut self, operator: BinaryOp, left: &Expression, right: &Expression) {
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

    fn replicated(&mut self, operator: &ReplicatedOp, statements: &[Statement], body: &Expression) {
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
}
