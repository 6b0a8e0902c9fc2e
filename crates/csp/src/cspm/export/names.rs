//! Unique names that CSPm allows.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::cspm::ast::{BinaryOp, Bracket, Expression, ExpressionKind, UnaryOp};
use crate::cspm::eval::Builtin;
use crate::cspm::lexer::KEYWORDS;
use crate::value::{Name, Value};

/// The names of one script.
pub(super) struct NameTable {
    used: FxHashSet<Name>,
    /// The next number to try after a name that is taken.
    next: FxHashMap<String, usize>,
    /// What channels and constructors of the model are called in the script.
    atoms: FxHashMap<Name, Name>,
    mentioned: FxHashSet<Name>,
}

impl NameTable {
    pub(super) fn new() -> NameTable {
        NameTable {
            used: FxHashSet::default(),
            next: FxHashMap::default(),
            atoms: FxHashMap::default(),
            mentioned: FxHashSet::default(),
        }
    }

    /// A name like `wanted` that nothing else has.
    pub(super) fn fresh(&mut self, wanted: &str) -> Name {
        let base = legal(wanted);
        let taken = |names: &NameTable, name: &str| {
            names.used.contains(name) || KEYWORDS.contains(&name) || Builtin::find(name).is_some()
        };
        let mut name = base.clone();
        while taken(self, &name) {
            let number = self.next.entry(base.clone()).or_insert(1);
            *number += 1;
            name = format!("{base}_{number}");
        }
        let name: Name = name.into();
        self.used.insert(name.clone());
        name
    }

    /// Whether this is the first time that the name is mentioned.
    pub(super) fn mention(&mut self, name: &Name) -> bool {
        self.mentioned.insert(name.clone())
    }

    /// What the channel or constructor is called in the script.
    pub(super) fn atom(&mut self, atom: &Name) -> Name {
        if let Some(known) = self.atoms.get(atom) {
            return known.clone();
        }
        let name = self.fresh(atom);
        self.atoms.insert(atom.clone(), name.clone());
        name
    }

    /// A value as an expression. Its atoms were given names when the types were declared.
    pub(super) fn value(&self, value: &Value) -> Expression {
        let list = |parts: &[Value]| parts.iter().map(|part| self.value(part)).collect::<Vec<_>>();
        Expression::new(match value {
            Value::Bool(truth) => ExpressionKind::Bool(*truth),
            Value::Int(number) if *number < 0 => negative(*number),
            Value::Int(number) => ExpressionKind::Int(*number),
            Value::Atom(atom) => ExpressionKind::Name(self.atoms.get(atom).unwrap_or(atom).clone()),
            Value::Tuple(parts) => ExpressionKind::Tuple(list(parts)),
            Value::Seq(parts) => ExpressionKind::List(Bracket::Sequence, list(parts)),
            Value::Set(parts) => ExpressionKind::List(Bracket::Set, list(parts)),
            Value::Dot(parts) => ExpressionKind::Dot(list(parts)),
            Value::Process(_) | Value::Function(_) => ExpressionKind::Name(legal(&value.to_string()).into()),
        })
    }
}

/// A negative number. The smallest one has no positive counterpart, so it is written as one less
/// than the next.
fn negative(number: i64) -> ExpressionKind {
    let expression = |kind| Box::new(Expression::new(kind));
    match number.checked_neg() {
        Some(digits) => ExpressionKind::Unary(UnaryOp::Negate, expression(ExpressionKind::Int(digits))),
        None => ExpressionKind::Binary(
            BinaryOp::Subtract,
            expression(negative(number + 1)),
            expression(ExpressionKind::Int(1)),
        ),
    }
}

/// `wanted` with everything replaced that no CSPm name has.
fn legal(wanted: &str) -> String {
    let allowed = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '_' };
    let text: String = wanted.chars().map(allowed).collect();
    let text = text.trim_end_matches('_');
    match text.starts_with(|first: char| first.is_ascii_alphabetic()) {
        true => text.to_owned(),
        false => format!("n{text}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_legal_and_different() {
        let mut names = NameTable::new();
        let given: Vec<Name> = ["MUTEX(m1)", "MUTEX[m1]", "0x7f", "channel", "union", "é", "a.b:c", "P", "P", "P"]
            .iter()
            .map(|wanted| names.fresh(wanted))
            .collect();
        let expected = ["MUTEX_m1", "MUTEX_m1_2", "n0x7f", "channel_2", "union_2", "n", "a_b_c", "P", "P_2", "P_3"];
        assert_eq!(given, expected.map(Name::from));
    }
}
