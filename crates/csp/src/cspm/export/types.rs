//! The channels and datatypes behind a model's events.

use std::collections::{BTreeMap, BTreeSet};

use super::names::NameTable;
use super::{ExportError, TypeNames};
use crate::core::Model;
use crate::cspm::ast::{Bracket, Constructor, DeclarationKind, Expression, ExpressionKind};
use crate::value::{Name, Value};

/// Where atoms stand in events: all atoms of one slot are of one type. Channel, field, and the way
/// into nested values.
type Slot = (Name, usize, Vec<usize>);

/// The datatypes and channels of the model's events, in that order.
pub(super) fn declarations(
    model: &Model,
    types: TypeNames<'_>,
    names: &mut NameTable,
) -> Result<Vec<DeclarationKind>, ExportError> {
    let mut channels: Vec<(Name, Vec<BTreeSet<Value>>)> = Vec::new();
    let mut position: BTreeMap<Name, usize> = BTreeMap::new();
    for event in model.events() {
        let value = model.event_name(event);
        let [Value::Atom(channel), fields @ ..] = value.parts() else {
            return Err(ExportError::NotAnEvent(value.clone()));
        };
        let next = channels.len();
        let at = *position.entry(channel.clone()).or_insert(next);
        if at == next {
            channels.push((channel.clone(), vec![BTreeSet::new(); fields.len()]));
        }
        if channels[at].1.len() != fields.len() {
            return Err(ExportError::FieldCount(channel.clone()));
        }
        for (domain, field) in channels[at].1.iter_mut().zip(fields) {
            domain.insert(field.clone());
        }
    }
    for (channel, _) in &channels {
        names.atom(channel);
    }
    let datatypes = datatypes(&channels, types, names);
    let mut all: Vec<DeclarationKind> = Vec::new();
    for (name, atoms) in &datatypes {
        let constructor = |atom: &Name| Constructor { name: names.atom(atom), fields: Vec::new() };
        all.push(DeclarationKind::Datatype(name.clone(), atoms.iter().map(constructor).collect()));
    }
    for (channel, domains) in &channels {
        let mut fields = Vec::new();
        for (index, domain) in domains.iter().enumerate() {
            let mixed = || ExportError::MixedField { channel: channel.clone(), field: index + 1 };
            fields.push(field_type(domain, &datatypes, names).ok_or_else(mixed)?);
        }
        let name = names.atom(channel);
        match all.last_mut() {
            Some(DeclarationKind::Channel(alike, same)) if *same == fields => alike.push(name),
            _ => all.push(DeclarationKind::Channel(vec![name], fields)),
        }
    }
    Ok(all)
}

/// Datatypes: those that were asked for, and one for each group of other atoms that share slots.
fn datatypes(
    channels: &[(Name, Vec<BTreeSet<Value>>)],
    types: TypeNames<'_>,
    names: &mut NameTable,
) -> Vec<(Name, Vec<Name>)> {
    let mut all: Vec<(Name, Vec<Name>)> = Vec::new();
    let mut placed: BTreeSet<Name> = channels.iter().map(|(channel, _)| channel.clone()).collect();
    for (name, atoms) in types {
        let atoms: Vec<Name> =
            atoms.iter().map(|&atom| Name::from(atom)).filter(|atom| placed.insert(atom.clone())).collect();
        if !atoms.is_empty() {
            all.push((names.fresh(name), atoms));
        }
    }
    let mut slots: BTreeMap<Slot, BTreeSet<Name>> = BTreeMap::new();
    for (channel, domains) in channels {
        for (index, domain) in domains.iter().enumerate() {
            for value in domain {
                collect_atoms(value, &mut (channel.clone(), index, Vec::new()), &mut slots);
            }
        }
    }
    // Groups that share an atom become one.
    let mut groups: Vec<(String, BTreeSet<Name>)> = Vec::new();
    for ((channel, index, _), atoms) in slots {
        let mut atoms: BTreeSet<Name> = atoms.into_iter().filter(|atom| !placed.contains(atom)).collect();
        if atoms.is_empty() {
            continue;
        }
        let mut name = format!("{}_{}", capital(&channel), index + 1);
        let (joined, apart): (Vec<_>, Vec<_>) = groups.into_iter().partition(|(_, group)| !group.is_disjoint(&atoms));
        groups = apart;
        for (earlier, group) in joined.into_iter().rev() {
            name = earlier;
            atoms.extend(group);
        }
        groups.push((name, atoms));
    }
    all.extend(groups.into_iter().map(|(name, atoms)| (names.fresh(&name), atoms.into_iter().collect())));
    all
}

fn capital(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map_or_else(String::new, |first| first.to_ascii_uppercase().to_string() + letters.as_str())
}

fn collect_atoms(value: &Value, slot: &mut Slot, slots: &mut BTreeMap<Slot, BTreeSet<Name>>) {
    match value {
        Value::Atom(atom) => {
            slots.entry(slot.clone()).or_default().insert(atom.clone());
        }
        Value::Tuple(parts) | Value::Dot(parts) => {
            for (index, part) in parts.iter().enumerate() {
                slot.2.push(index);
                collect_atoms(part, slot, slots);
                slot.2.pop();
            }
        }
        // All elements of a list have one type.
        Value::Seq(parts) | Value::Set(parts) => {
            slot.2.push(0);
            parts.iter().for_each(|part| collect_atoms(part, slot, slots));
            slot.2.pop();
        }
        _ => {}
    }
}

/// The set of a field's values; `None` if they are of different kinds.
fn field_type(domain: &BTreeSet<Value>, datatypes: &[(Name, Vec<Name>)], names: &NameTable) -> Option<Expression> {
    let kinds: BTreeSet<&str> = domain.iter().map(Value::kind).collect();
    if kinds.len() != 1 {
        return None;
    }
    let is = |value: &Value| domain.contains(value);
    let whole = datatypes
        .iter()
        .find(|(_, atoms)| atoms.len() == domain.len() && atoms.iter().all(|atom| is(&Value::Atom(atom.clone()))));
    if let Some((name, _)) = whole {
        return Some(Expression::name(name.clone()));
    }
    if domain.len() == 2 && is(&Value::Bool(true)) && is(&Value::Bool(false)) {
        return Some(Expression::name("Bool"));
    }
    if let (Some(Value::Int(first)), Some(Value::Int(last))) = (domain.first(), domain.last()) {
        let gapless = last.checked_sub(*first).is_some_and(|span| span as usize == domain.len() - 1);
        if gapless && domain.len() > 1 {
            let ends = [first, last].map(|end| Box::new(names.value(&Value::Int(*end))));
            let [first, last] = ends;
            return Some(Expression::new(ExpressionKind::Range(Bracket::Set, first, last)));
        }
    }
    let values = domain.iter().map(|value| names.value(value)).collect();
    Some(Expression::new(ExpressionKind::List(Bracket::Set, values)))
}
