//! Channels, datatypes and the events they make.
//!
//! A dotted value is flat. Where one field ends and the next begins follows from the declarations:
//! a constructor takes as many complete values after it as it has fields.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::closure::Env;
use super::{Eval, Evaluation, SIZE_LIMIT, error};
use crate::core::{EventId, SetId};
use crate::cspm::ast::{DeclarationKind, Expression, ExpressionKind, Script};
use crate::error::SourcePosition;
use crate::value::{Name, Value};

/// The values that one field can have, sorted.
pub(super) type Domain = Arc<[Value]>;

/// The fields of a channel or constructor.
struct Shape<'a> {
    fields: &'a [Expression],
    place: SourcePosition,
    domains: Known<Arc<[Domain]>>,
}

/// A value that is computed once and must not depend on itself.
enum Known<T> {
    No,
    Pending,
    Yes(T),
}

/// A name that stands for a set of values.
#[derive(Clone, Copy)]
enum Type<'a> {
    Datatype(&'a [crate::cspm::ast::Constructor]),
    Nametype(&'a Expression),
}

/// All declarations of a script that make values.
pub(super) struct Shapes<'a> {
    shapes: FxHashMap<Name, Shape<'a>>,
    types: FxHashMap<Name, Type<'a>>,
    known_types: FxHashMap<Name, Domain>,
    /// In the order of the script.
    channels: Vec<Name>,
    is_channel: FxHashSet<Name>,
    pub(super) transparent: Vec<Name>,
}

impl<'a> Shapes<'a> {
    pub(super) fn new(script: &'a Script) -> Shapes<'a> {
        let mut table = Shapes {
            shapes: FxHashMap::default(),
            types: FxHashMap::default(),
            known_types: FxHashMap::default(),
            channels: Vec::new(),
            is_channel: FxHashSet::default(),
            transparent: Vec::new(),
        };
        for declaration in &script.declarations {
            let place = declaration.place;
            let shape = |fields: &'a [Expression]| Shape { fields, place, domains: Known::No };
            match &declaration.kind {
                DeclarationKind::Channel(names, fields) => {
                    table.channels.extend(names.iter().cloned());
                    table.is_channel.extend(names.iter().cloned());
                    table.shapes.extend(names.iter().map(|name| (name.clone(), shape(fields))));
                }
                DeclarationKind::Datatype(name, constructors) => {
                    table.types.insert(name.clone(), Type::Datatype(constructors));
                    for constructor in constructors {
                        table.shapes.insert(constructor.name.clone(), shape(&constructor.fields));
                    }
                }
                DeclarationKind::Nametype(name, of) => {
                    table.types.insert(name.clone(), Type::Nametype(of));
                }
                DeclarationKind::Transparent(names) => table.transparent.extend(names.iter().cloned()),
                DeclarationKind::Definition(_) | DeclarationKind::Assert(_) => {}
            }
        }
        table
    }

    fn is_channel(&self, name: &Name) -> bool {
        self.is_channel.contains(name)
    }

    /// How many of `parts` the first complete value takes; `None` if they end before it does. Where
    /// the values of a constructor's fields are known, they decide; else each field counts as one
    /// complete value.
    pub(super) fn first_value(&self, parts: &[Value]) -> Option<usize> {
        let first = parts.first()?;
        let Some(shape) = (match first {
            Value::Atom(name) => self.shapes.get(name),
            _ => None,
        }) else {
            return Some(1);
        };
        let mut taken = 1;
        for field in 0..shape.fields.len() {
            let rest = &parts[taken..];
            let known = match &shape.domains {
                Known::Yes(domains) => leading_member(&domains[field], rest),
                _ => None,
            };
            taken += match known {
                Some(length) => length,
                None => self.first_value(rest)?,
            };
        }
        Some(taken)
    }
}

/// How many of `parts` make up a value of the domain, if any do. No value of a typed set begins
/// with another one.
fn leading_member(domain: &Domain, parts: &[Value]) -> Option<usize> {
    (1..=parts.len()).find(|&length| {
        let value = Value::dot(parts[..length].iter().cloned());
        domain.binary_search(&value).is_ok()
    })
}

/// What a channel or constructor with some of its fields still lacks.
pub(super) struct Missing {
    /// How the field that has begun can go on; `None` between two fields.
    pub(super) begun: Option<Domain>,
    /// The fields that have not begun.
    pub(super) whole: Vec<Domain>,
}

impl Missing {
    fn is_nothing(&self) -> bool {
        self.begun.is_none() && self.whole.is_empty()
    }

    /// Every way to go on to the end.
    pub(super) fn endings(&self, place: SourcePosition) -> Eval<Vec<Value>> {
        let domains: Vec<Domain> = self.begun.iter().chain(&self.whole).cloned().collect();
        Ok(product(&domains, place)?.into_iter().map(Value::dot).collect())
    }
}

/// Every way to take one value of each domain.
fn product(domains: &[Domain], place: SourcePosition) -> Eval<Vec<Vec<Value>>> {
    let count = domains.iter().try_fold(1usize, |count, domain| count.checked_mul(domain.len()));
    if count.is_none_or(|count| count > SIZE_LIMIT) {
        return error(place, format!("this has more than {SIZE_LIMIT} values"));
    }
    Ok(domains.iter().fold(vec![Vec::new()], |prefixes, domain| {
        let extended = prefixes.iter().flat_map(|prefix| {
            domain.iter().map(|value| {
                let mut longer = prefix.clone();
                longer.push(value.clone());
                longer
            })
        });
        extended.collect()
    }))
}

impl<'a> Evaluation<'_, 'a> {
    /// The set that a `datatype` or `nametype` is, if `name` is one.
    pub(super) fn named_type(&mut self, name: &Name, place: SourcePosition) -> Eval<Option<Value>> {
        let Some(&of) = self.evaluator.shapes.types.get(name) else {
            return Ok(None);
        };
        if let Some(known) = self.evaluator.shapes.known_types.get(name) {
            return Ok(Some(Value::Set(known.clone())));
        }
        let values = match of {
            Type::Nametype(expression) => self.nested(place, |this| this.type_values(expression))?,
            Type::Datatype(constructors) => {
                let mut values = Vec::new();
                for constructor in constructors {
                    let head = Value::Atom(constructor.name.clone());
                    for rest in self.extensions(&head, place)? {
                        values.push(Value::dot([head.clone(), rest]));
                    }
                    if constructor.fields.is_empty() {
                        values.push(head);
                    }
                }
                values.sort_unstable();
                values.into()
            }
        };
        self.evaluator.shapes.known_types.insert(name.clone(), values.clone());
        Ok(Some(Value::Set(values)))
    }

    /// The values of a type expression, in which dots and tuples stand for all combinations of
    /// their parts.
    fn type_values(&mut self, expression: &'a Expression) -> Eval<Domain> {
        let place = expression.place;
        let (parts, tuple) = match &expression.kind {
            ExpressionKind::Dot(parts) => (parts, false),
            ExpressionKind::Tuple(parts) => (parts, true),
            _ => {
                return match self.value(expression, &Env::None)? {
                    Value::Set(values) => Ok(values),
                    other => error(place, format!("a type is a set of values, and this is {}", other.kind())),
                };
            }
        };
        let mut domains = Vec::new();
        for part in parts {
            domains.push(self.type_values(part)?);
        }
        let combine = |values: Vec<Value>| match tuple {
            true => Value::Tuple(values.into()),
            false => Value::dot(values),
        };
        match Value::set(product(&domains, place)?.into_iter().map(combine).collect()) {
            Value::Set(values) => Ok(values),
            _ => unreachable!("a set was made"),
        }
    }

    /// The values of each field of a channel or constructor.
    fn domains(&mut self, name: &Name, place: SourcePosition) -> Eval<Arc<[Domain]>> {
        let Some(shape) = self.evaluator.shapes.shapes.get_mut(name) else {
            return error(place, format!("`{name}` is neither a channel nor a constructor"));
        };
        match &shape.domains {
            Known::Yes(domains) => return Ok(domains.clone()),
            Known::Pending => {
                return error(shape.place, format!("`{name}` has infinitely many values"));
            }
            Known::No => shape.domains = Known::Pending,
        }
        let fields = shape.fields;
        let computed: Eval<Vec<Domain>> = fields.iter().map(|field| self.type_values(field)).collect();
        let shape = self.evaluator.shapes.shapes.get_mut(name).expect("was found above");
        shape.domains = Known::No;
        let domains: Arc<[Domain]> = computed?.into();
        shape.domains = Known::Yes(domains.clone());
        Ok(domains)
    }

    /// What `parts`, a channel or constructor and some of its fields, lacks. The inner error says
    /// why they do not fit.
    pub(super) fn missing(&mut self, parts: &[Value], place: SourcePosition) -> Eval<Result<Missing, String>> {
        let [Value::Atom(name), rest @ ..] = parts else {
            return Ok(Err(format!("`{}` is neither a channel nor a constructor", Value::dot(parts.iter().cloned()))));
        };
        let domains = self.domains(name, place)?;
        let mut rest = rest;
        for (index, domain) in domains.iter().enumerate() {
            if rest.is_empty() {
                return Ok(Ok(Missing { begun: None, whole: domains[index..].to_vec() }));
            }
            if let Some(length) = leading_member(domain, rest) {
                rest = &rest[length..];
                continue;
            }
            let endings: Vec<Value> = domain
                .iter()
                .filter_map(|value| value.parts().strip_prefix(rest))
                .map(|ending| Value::dot(ending.iter().cloned()))
                .collect();
            if endings.is_empty() {
                let field = self.evaluator.shapes.first_value(rest).unwrap_or(rest.len()).min(rest.len());
                let field = Value::dot(rest[..field].iter().cloned());
                return Ok(Err(format!("`{field}` is not a value of `{name}`: {}", Value::Set(domain.clone()))));
            }
            return Ok(Ok(Missing { begun: Some(endings.into()), whole: domains[index + 1..].to_vec() }));
        }
        match rest.is_empty() {
            true => Ok(Ok(Missing { begun: None, whole: Vec::new() })),
            false => Ok(Err(format!("`{name}` has too many fields: {}", Value::dot(parts.iter().cloned())))),
        }
    }

    fn missing_or_error(&mut self, value: &Value, place: SourcePosition) -> Eval<Missing> {
        match self.missing(value.parts(), place)? {
            Ok(missing) => Ok(missing),
            Err(message) => error(place, message),
        }
    }

    /// What can follow `value` to make it complete; nothing if it is complete already.
    pub(super) fn extensions(&mut self, value: &Value, place: SourcePosition) -> Eval<Vec<Value>> {
        let missing = self.missing_or_error(value, place)?;
        match missing.is_nothing() {
            true => Ok(Vec::new()),
            false => missing.endings(place),
        }
    }

    /// Every complete event or datatype value that begins with `value`.
    pub(super) fn productions(&mut self, value: &Value, place: SourcePosition) -> Eval<Vec<Value>> {
        let missing = self.missing_or_error(value, place)?;
        if missing.is_nothing() {
            return Ok(vec![value.clone()]);
        }
        let endings = missing.endings(place)?.into_iter();
        Ok(endings.map(|ending| Value::dot([value.clone(), ending])).collect())
    }

    /// Every event of the script.
    pub(super) fn all_events(&mut self, place: SourcePosition) -> Eval {
        let mut events = Vec::new();
        for channel in self.evaluator.shapes.channels.clone() {
            events.append(&mut self.productions(&Value::Atom(channel), place)?);
        }
        Ok(Value::set(events))
    }

    /// The event that `value` names; it must be complete and fit the type of its channel.
    pub(super) fn event(&mut self, value: &Value, place: SourcePosition) -> Eval<EventId> {
        if let Some(&known) = self.evaluator.events.get(value) {
            return Ok(known);
        }
        match &value.parts()[0] {
            Value::Atom(name) if self.evaluator.shapes.is_channel(name) => {}
            _ => return error(place, format!("`{value}` is {}, not an event", value.kind())),
        }
        let missing = self.missing_or_error(value, place)?;
        if !missing.is_nothing() {
            let count = missing.whole.len() + usize::from(missing.begun.is_some());
            return error(place, format!("`{value}` is not a complete event: {count} fields are missing"));
        }
        let event = self.model.event(value.clone());
        self.evaluator.events.insert(value.clone(), event);
        Ok(event)
    }

    /// The set of events that `value` is.
    pub(super) fn event_set(&mut self, value: &Value, place: SourcePosition) -> Eval<SetId> {
        let Value::Set(elements) = value else {
            return error(place, format!("expected a set of events, found {}", value.kind()));
        };
        let events: Eval<Vec<EventId>> = elements.iter().map(|element| self.event(element, place)).collect();
        Ok(self.model.set(events?))
    }
}
