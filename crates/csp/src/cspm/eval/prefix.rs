//! Prefixes: events with inputs and outputs, and the processes after them.
//!
//! The process after an input is suspended with the variables that it can refer to:
//! `c?x -> d?y -> P` does not compute P for every pair. Deviation: a field that the process chooses
//! (`$x`) is chosen before the environment chooses the others, regardless of its position. The
//! traces are the same.

use std::sync::Arc;

use super::closure::{ClosureBody, Env};
use super::pattern::flatten;
use super::types::Domain;
use super::{Eval, Evaluation, SIZE_LIMIT, error};
use crate::core::{EventId, ProcId};
use crate::cspm::ast::{Communication, Expression, ExpressionKind, Field, Pattern, PatternKind};
use crate::error::SourcePosition;
use crate::value::Value;

/// An event whose fields are read in part.
struct Partial<'a> {
    parts: Vec<Value>,
    /// With the variables that the inputs so far have bound.
    env: Env<'a>,
    /// The values that the process itself chose.
    chosen: Vec<Value>,
}

impl<'a> Evaluation<'_, 'a> {
    /// The process that is left of a prefix from communication number `from` on.
    pub(super) fn prefix_from(&mut self, expression: &'a Expression, from: usize, env: &Env<'a>) -> Eval<ProcId> {
        let ExpressionKind::Prefix(steps, body) = &expression.kind else {
            return self.process(expression, env);
        };
        // Events without inputs are a simple chain, however long.
        let mut events = Vec::new();
        let mut at = from;
        while let Some(step) = steps.get(at).filter(|step| !has_inputs(step)) {
            let mut parts = self.value(&step.channel, env)?.parts().to_vec();
            for field in &step.fields {
                if let Field::Output(value) = field {
                    parts.extend_from_slice(self.value(value, env)?.parts());
                }
            }
            events.push(self.event(&Value::dot(parts), step.channel.place)?);
            at += 1;
        }
        let last = match steps.get(at) {
            None => self.process(body, env)?,
            Some(step) => self.input(expression, step, at, env)?,
        };
        Ok(self.model.prefixes(&events, last))
    }

    /// The choice of all events that a communication with inputs allows.
    fn input(&mut self, expression: &'a Expression, step: &'a Communication, at: usize, env: &Env<'a>) -> Eval<ProcId> {
        let mut branches: Vec<(Vec<Value>, (EventId, ProcId))> = Vec::new();
        for partial in self.read_fields(step, env)? {
            let event = self.event(&Value::dot(partial.parts), step.channel.place)?;
            let next = self.after_input(expression, at + 1, &partial.env)?;
            branches.push((partial.chosen, (event, next)));
        }
        branches.sort();
        let menus: Vec<ProcId> = branches
            .chunk_by(|left, right| left.0 == right.0)
            .map(|same| self.model.menu(same.iter().map(|branch| branch.1).collect()))
            .collect();
        Ok(self.model.internal(menus))
    }

    fn after_input(&mut self, expression: &'a Expression, from: usize, env: &Env<'a>) -> Eval<ProcId> {
        if let ExpressionKind::Prefix(steps, body) = &expression.kind {
            // A call is suspended by itself.
            let is_call = matches!(body.kind, ExpressionKind::Name(_) | ExpressionKind::Call(..));
            if from == steps.len() && is_call {
                return self.process(body, env);
            }
        }
        let closure = self.closure(ClosureBody::Suffix(expression, from), env);
        Ok(self.suspend(closure, Vec::new()))
    }

    fn read_fields(&mut self, step: &'a Communication, env: &Env<'a>) -> Eval<Vec<Partial<'a>>> {
        let parts = self.value(&step.channel, env)?.parts().to_vec();
        let mut partials = vec![Partial { parts, env: env.clone(), chosen: Vec::new() }];
        for (index, field) in step.fields.iter().enumerate() {
            let last = index + 1 == step.fields.len();
            let mut longer = Vec::new();
            for partial in partials {
                self.read_field(partial, field, last, &mut longer)?;
            }
            partials = longer;
        }
        Ok(partials)
    }

    /// Adds every event that results from reading one more field. `last` is set for the last field
    /// of a communication.
    fn read_field(
        &mut self,
        mut partial: Partial<'a>,
        field: &'a Field,
        last: bool,
        longer: &mut Vec<Partial<'a>>,
    ) -> Eval<()> {
        let (pattern, from) = match field {
            Field::Output(value) => {
                let value = self.value(value, &partial.env)?;
                partial.parts.extend_from_slice(value.parts());
                longer.push(partial);
                return Ok(());
            }
            Field::Input(pattern, from) | Field::Choice(pattern, from) => (pattern, from),
        };
        let chooses = matches!(field, Field::Choice(..));
        match from {
            Some(from) => {
                let candidates = self.elements(from, &partial.env)?;
                self.extend(&partial, pattern, &candidates, chooses, longer);
            }
            None => self.read_pattern(partial, pattern, last, chooses, longer)?,
        }
        if longer.len() > SIZE_LIMIT {
            return error(pattern.place, format!("more than {SIZE_LIMIT} events fit this input"));
        }
        Ok(())
    }

    /// Reads an input without a set: each part of its pattern takes one complete value, and the
    /// very last part of a communication takes all that is left.
    fn read_pattern(
        &mut self,
        partial: Partial<'a>,
        pattern: &'a Pattern,
        last: bool,
        chooses: bool,
        longer: &mut Vec<Partial<'a>>,
    ) -> Eval<()> {
        let mut flat = Vec::new();
        flatten(pattern, &mut flat);
        let count = flat.len();
        let mut partials = vec![partial];
        for (index, part) in flat.into_iter().enumerate() {
            let mut next = Vec::new();
            for partial in partials {
                let candidates = self.part_candidates(&partial, part, last && index + 1 == count)?;
                self.extend(&partial, part, &candidates, chooses, &mut next);
            }
            partials = next;
        }
        longer.append(&mut partials);
        Ok(())
    }

    /// The values that one part of a pattern can take next; none if it is a constructor that does
    /// not fit.
    fn part_candidates(&mut self, partial: &Partial<'a>, part: &'a Pattern, to_the_end: bool) -> Eval<Domain> {
        match &part.kind {
            // A constructor is matched before its fields.
            PatternKind::Name(name) if self.evaluator.constants.contains(name) => {
                let begun = Value::Atom(name.clone());
                let parts = [&partial.parts[..], std::slice::from_ref(&begun)].concat();
                let fits = self.missing(&parts, part.place)?.is_ok();
                Ok(if fits { Arc::from([begun]) } else { Arc::default() })
            }
            _ => self.candidates(&partial.parts, to_the_end, part.place),
        }
    }

    fn extend(
        &mut self,
        partial: &Partial<'a>,
        pattern: &'a Pattern,
        candidates: &[Value],
        chooses: bool,
        longer: &mut Vec<Partial<'a>>,
    ) {
        for value in candidates {
            let patterns = std::slice::from_ref(pattern);
            let Some(env) = self.bind_patterns(patterns, std::slice::from_ref(value), &partial.env) else {
                continue;
            };
            let mut next = Partial { parts: partial.parts.clone(), env, chosen: partial.chosen.clone() };
            next.parts.extend_from_slice(value.parts());
            if chooses {
                next.chosen.push(value.clone());
            }
            longer.push(next);
        }
    }

    fn elements(&mut self, from: &'a Expression, env: &Env<'a>) -> Eval<Domain> {
        match self.value(from, env)? {
            Value::Set(elements) => Ok(elements),
            other => error(from.place, format!("expected a set, found {}: {other}", other.kind())),
        }
    }

    /// What can come next: every first complete value, or every way to the end.
    fn candidates(&mut self, parts: &[Value], to_the_end: bool, place: SourcePosition) -> Eval<Domain> {
        let missing = match self.missing(parts, place)? {
            Ok(missing) => missing,
            Err(message) => return error(place, message),
        };
        let Some(next) = missing.begun.as_ref().or(missing.whole.first()) else {
            let all = Value::dot(parts.iter().cloned());
            return error(place, format!("`{all}` has no field left to read"));
        };
        if to_the_end && missing.begun.iter().len() + missing.whole.len() > 1 {
            return Ok(missing.endings(place)?.into());
        }
        if to_the_end {
            return Ok(next.clone());
        }
        let shapes = &self.evaluator.shapes;
        let first = |value: &Value| {
            let parts = value.parts();
            let taken = shapes.first_value(parts).unwrap_or(parts.len()).min(parts.len());
            Value::dot(parts[..taken].iter().cloned())
        };
        match Value::set(next.iter().map(first).collect()) {
            Value::Set(values) => Ok(values),
            _ => unreachable!("a set was made"),
        }
    }
}

fn has_inputs(step: &Communication) -> bool {
    step.fields.iter().any(|field| !matches!(field, Field::Output(_)))
}
