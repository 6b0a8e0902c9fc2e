//! The data that events carry and that process definitions compute with.

use std::fmt;
use std::sync::Arc;

use crate::core::ProcId;

/// A name of the script: a channel, a datatype constructor, a variable.
pub type Name = Arc<str>;

/// A value of the expression language.
///
/// Values are ordered and hashed structurally, so that two process states with equal data are one
/// state, however they were computed.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Value {
    /// `true` or `false`.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A channel or a datatype constructor without its payload.
    Atom(Name),
    /// `(a, b)`.
    Tuple(Arc<[Value]>),
    /// `<a, b>`.
    Seq(Arc<[Value]>),
    /// `{a, b}`. Invariant: sorted and without duplicates, see [`Value::set`].
    Set(Arc<[Value]>),
    /// `a.b.c`. Invariant: at least two parts and none of them is itself a `Dot`, see
    /// [`Value::dot`].
    Dot(Arc<[Value]>),
    /// A process of the model in which the value was computed.
    Process(ProcId),
    /// A function of the running evaluation; a handle without meaning outside it.
    Function(u32),
}

impl Value {
    /// The channel or constructor called `name`.
    pub fn atom(name: impl Into<Name>) -> Value {
        Value::Atom(name.into())
    }

    /// The set of `elements`: sorts them and drops duplicates.
    pub fn set(mut elements: Vec<Value>) -> Value {
        elements.sort_unstable();
        elements.dedup();
        Value::Set(elements.into())
    }

    /// The dotted value of `parts`, flattened. One part alone is that part.
    pub fn dot(parts: impl IntoIterator<Item = Value>) -> Value {
        let mut flat = Vec::new();
        for part in parts {
            match part {
                Value::Dot(inner) => flat.extend(inner.iter().cloned()),
                other => flat.push(other),
            }
        }
        match flat.len() {
            1 => flat.swap_remove(0),
            _ => Value::Dot(flat.into()),
        }
    }

    /// The parts of a dotted value; a value without dots is its only part.
    pub fn parts(&self) -> &[Value] {
        match self {
            Value::Dot(parts) => parts,
            other => std::slice::from_ref(other),
        }
    }

    /// How many nodes the value has: what it costs a memory budget.
    pub fn weight(&self) -> usize {
        match self {
            Value::Tuple(parts) | Value::Seq(parts) | Value::Set(parts) | Value::Dot(parts) => {
                1 + parts.iter().map(Value::weight).sum::<usize>()
            }
            _ => 1,
        }
    }

    /// What kind of value this is, for error messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Bool(_) => "a boolean",
            Value::Int(_) => "an integer",
            Value::Atom(_) => "a name",
            Value::Tuple(_) => "a tuple",
            Value::Seq(_) => "a sequence",
            Value::Set(_) => "a set",
            Value::Dot(_) => "a dotted value",
            Value::Process(_) => "a process",
            Value::Function(_) => "a function",
        }
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Value {
        Value::Int(number)
    }
}

impl From<bool> for Value {
    fn from(truth: bool) -> Value {
        Value::Bool(truth)
    }
}

/// Names become atoms, so that `["t1".into(), "m".into()]` is a list of fields.
impl From<&str> for Value {
    fn from(name: &str) -> Value {
        Value::atom(name)
    }
}

/// Prints the value as CSPm writes it, except that processes and functions have no text of their
/// own.
impl fmt::Display for Value {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |out: &mut fmt::Formatter<'_>, open: &str, parts: &[Value], between: &str, close: &str| {
            out.write_str(open)?;
            for (index, part) in parts.iter().enumerate() {
                if index > 0 {
                    out.write_str(between)?;
                }
                write!(out, "{part}")?;
            }
            out.write_str(close)
        };
        match self {
            Value::Bool(truth) => write!(out, "{truth}"),
            Value::Int(number) => write!(out, "{number}"),
            Value::Atom(name) => out.write_str(name),
            Value::Tuple(parts) => list(out, "(", parts, ", ", ")"),
            Value::Seq(parts) => list(out, "<", parts, ", ", ">"),
            Value::Set(parts) => list(out, "{", parts, ", ", "}"),
            Value::Dot(parts) => list(out, "", parts, ".", ""),
            Value::Process(id) => write!(out, "process #{}", id.index()),
            Value::Function(id) => write!(out, "function #{id}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_are_flat_and_sets_are_canonical() {
        let pair = Value::dot(["a".into(), "b".into()]);
        let triple = Value::dot([pair.clone(), 3.into()]);
        assert_eq!(triple.parts().len(), 3);
        assert_eq!(triple.to_string(), "a.b.3");
        assert_eq!(Value::dot(["a".into()]), Value::atom("a"));
        assert_eq!(Value::set(vec![2.into(), 1.into(), 2.into()]).to_string(), "{1, 2}");
    }

    #[test]
    fn weight_counts_every_node() {
        let nested = Value::Seq(vec![Value::Int(1), Value::Tuple(vec![true.into(), 2.into()].into())].into());
        assert_eq!(nested.weight(), 5);
    }
}
