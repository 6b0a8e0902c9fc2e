//! How tightly operators bind: one table for the parser and the printer.
//!
//! The order is FDR's (operator precedence in the FDR manual), loosest first.

use super::ast::{BinaryOp, ChainOp, ExpressionKind, UnaryOp};

/// How tightly an operator binds; larger is tighter.
pub(crate) type Level = u8;

/// `if`, `let`, lambda and the replicated operators: as far to the right as possible.
pub(crate) const OPEN: Level = 0;
/// The parallel operators that carry sets.
pub(crate) const PARALLEL: Level = 3;
/// `->` and `&`.
pub(crate) const PREFIX: Level = 9;
/// What stands between `?`, `!`, `->`: an event with its dots.
pub(crate) const DOT: Level = 11;
/// The first level below dots: a single field.
pub(crate) const FIELD: Level = 12;
/// `^`.
pub(crate) const CONCAT: Level = 19;
/// Calls and renamings.
pub(crate) const POSTFIX: Level = 20;
/// Names, numbers, brackets.
pub(crate) const ATOM: Level = 21;

pub(crate) fn of_binary(operator: BinaryOp) -> Level {
    match operator {
        BinaryOp::Hide => 1,
        BinaryOp::Interrupt => 6,
        BinaryOp::Sliding => 7,
        BinaryOp::Guard => PREFIX,
        BinaryOp::Or => 12,
        BinaryOp::And => 13,
        BinaryOp::Equal
        | BinaryOp::NotEqual
        | BinaryOp::Less
        | BinaryOp::LessEqual
        | BinaryOp::Greater
        | BinaryOp::GreaterEqual => 15,
        BinaryOp::Add | BinaryOp::Subtract => 16,
        BinaryOp::Multiply | BinaryOp::Divide | BinaryOp::Modulo => 17,
        BinaryOp::Concat => CONCAT,
    }
}

pub(crate) fn of_unary(operator: UnaryOp) -> Level {
    match operator {
        UnaryOp::Not => 14,
        UnaryOp::Negate => 16,
        UnaryOp::Length => 18,
    }
}

pub(crate) fn of_chain(operator: ChainOp) -> Level {
    match operator {
        ChainOp::Interleave => 2,
        ChainOp::Internal => 4,
        ChainOp::External => 5,
        ChainOp::Sequential => 8,
    }
}

/// Whether `a op b op c` is not allowed.
pub(crate) fn is_comparison(operator: BinaryOp) -> bool {
    of_binary(operator) == of_binary(BinaryOp::Equal)
}

/// The level of an expression's outermost operator.
pub(crate) fn of_expression(kind: &ExpressionKind) -> Level {
    match kind {
        ExpressionKind::If(..)
        | ExpressionKind::Let(..)
        | ExpressionKind::Lambda(..)
        | ExpressionKind::Replicated(..) => OPEN,
        ExpressionKind::Shared(..) | ExpressionKind::Alphabetised(..) | ExpressionKind::Exception(..) => PARALLEL,
        ExpressionKind::Chain(operator, _) => of_chain(*operator),
        ExpressionKind::Prefix(..) => PREFIX,
        ExpressionKind::Binary(operator, ..) => of_binary(*operator),
        ExpressionKind::Unary(operator, _) => of_unary(*operator),
        ExpressionKind::Dot(_) => DOT,
        ExpressionKind::Call(..) | ExpressionKind::Rename(..) => POSTFIX,
        ExpressionKind::Int(_)
        | ExpressionKind::Bool(_)
        | ExpressionKind::Name(_)
        | ExpressionKind::Tuple(_)
        | ExpressionKind::List(..)
        | ExpressionKind::Range(..)
        | ExpressionKind::Comprehension(..) => ATOM,
    }
}
