//! Matching values against patterns.

use super::Evaluation;
use super::closure::{Binding, Env, bind};
use crate::cspm::ast::{Pattern, PatternKind};
use crate::value::{Name, Value};

type Bound = Vec<(Name, Value)>;

impl<'a> Evaluation<'_, 'a> {
    /// The environment with everything bound that `patterns` bind; `None` if a value does not
    /// match.
    pub(super) fn bind_patterns(&self, patterns: &[Pattern], values: &[Value], env: &Env<'a>) -> Option<Env<'a>> {
        let mut bound = Vec::new();
        let matched = patterns.len() == values.len()
            && patterns.iter().zip(values).all(|(pattern, value)| self.matches(pattern, value, &mut bound));
        matched.then(|| {
            bound.into_iter().fold(env.clone(), |env, (name, value)| bind(&env, Binding::Variable(name, value)))
        })
    }

    fn matches(&self, pattern: &Pattern, value: &Value, bound: &mut Bound) -> bool {
        let all = |bound: &mut Bound, patterns: &[Pattern], values: &[Value]| {
            patterns.len() == values.len()
                && patterns.iter().zip(values).all(|(pattern, value)| self.matches(pattern, value, bound))
        };
        match (&pattern.kind, value) {
            (PatternKind::Any, _) => true,
            (PatternKind::Name(name), _) => match self.evaluator.constants.contains(name) {
                true => matches!(value, Value::Atom(found) if found == name),
                false => {
                    bound.push((name.clone(), value.clone()));
                    true
                }
            },
            (PatternKind::Int(wanted), Value::Int(found)) => wanted == found,
            (PatternKind::Bool(wanted), Value::Bool(found)) => wanted == found,
            (PatternKind::Tuple(patterns), Value::Tuple(values))
            | (PatternKind::Seq(patterns), Value::Seq(values))
            | (PatternKind::Set(patterns), Value::Set(values)) => all(bound, patterns, values),
            (PatternKind::Concat(patterns), Value::Seq(values)) => self.matches_concat(patterns, values, bound),
            (PatternKind::Dot(_), _) => {
                let mut flat = Vec::new();
                flatten(pattern, &mut flat);
                self.matches_dots(&flat, value.parts(), bound)
            }
            _ => false,
        }
    }

    /// At most one part has an unknown length, so the others fix it.
    fn matches_concat(&self, patterns: &[Pattern], values: &[Value], bound: &mut Bound) -> bool {
        let fixed: usize = patterns.iter().filter_map(fixed_length).sum();
        let open = patterns.iter().any(|pattern| fixed_length(pattern).is_none());
        if fixed > values.len() || (!open && fixed != values.len()) {
            return false;
        }
        let mut rest = values;
        patterns.iter().all(|pattern| {
            let length = fixed_length(pattern).unwrap_or(values.len() - fixed);
            let (here, after) = rest.split_at(length);
            rest = after;
            self.matches(pattern, &Value::Seq(here.into()), bound)
        })
    }

    /// Each part takes one complete value, the last one takes all that is left.
    fn matches_dots(&self, patterns: &[&Pattern], parts: &[Value], bound: &mut Bound) -> bool {
        let Some((first, others)) = patterns.split_first() else {
            return parts.is_empty();
        };
        let taken = match &first.kind {
            _ if others.is_empty() => parts.len(),
            // A constructor in a pattern is met before its fields.
            PatternKind::Name(name) if self.evaluator.constants.contains(name) => 1,
            _ => match self.evaluator.shapes.first_value(parts) {
                Some(taken) => taken,
                None => return false,
            },
        };
        if taken == 0 || taken > parts.len() {
            return false;
        }
        let value = Value::dot(parts[..taken].iter().cloned());
        self.matches(first, &value, bound) && self.matches_dots(others, &parts[taken..], bound)
    }
}

fn fixed_length(pattern: &Pattern) -> Option<usize> {
    match &pattern.kind {
        PatternKind::Seq(parts) => Some(parts.len()),
        _ => None,
    }
}

/// The parts of a dotted pattern, however it is nested.
pub(super) fn flatten<'p>(pattern: &'p Pattern, flat: &mut Vec<&'p Pattern>) {
    match &pattern.kind {
        PatternKind::Dot(parts) => parts.iter().for_each(|part| flatten(part, flat)),
        _ => flat.push(pattern),
    }
}
