//! How tightly operators bind: one table for the parser and the printer.
//!
//! The order is FDR's (operator precedence in the FDR manual), loosest first.

use super::ast::{BinaryOp, ChainOp, ExprKind, UnaryOp};

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
pub(crate) fn of_expression(kind: &ExprKind) -> Level {
    match kind {
        ExprKind::If(..) | ExprKind::Let(..) | ExprKind::Lambda(..) | ExprKind::Replicated(..) => OPEN,
        ExprKind::Shared(..) | ExprKind::Alphabetised(..) | ExprKind::Exception(..) => PARALLEL,
        ExprKind::Chain(operator, _) => of_chain(*operator),
        ExprKind::Prefix(..) => PREFIX,
        ExprKind::Binary(operator, ..) => of_binary(*operator),
        ExprKind::Unary(operator, _) => of_unary(*operator),
        ExprKind::Dot(_) => DOT,
        ExprKind::Call(..) | ExprKind::Rename(..) => POSTFIX,
        ExprKind::Int(_)
        | ExprKind::Bool(_)
        | ExprKind::Name(_)
        | ExprKind::Tuple(_)
        | ExprKind::List(..)
        | ExprKind::Range(..)
        | ExprKind::Comprehension(..) => ATOM,
    }
}
