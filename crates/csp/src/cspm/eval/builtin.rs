//! The functions and constants that every script has.

use std::sync::Arc;

use super::closure::ClosureBody;
use super::{Eval, Evaluation, error};
use crate::core::ProcId;
use crate::error::SourcePosition;
use crate::value::Value;

macro_rules! builtins {
    ($($variant:ident $name:literal $arity:literal,)*) => {
        /// A built-in function or constant.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(crate) enum Builtin {
            $($variant,)*
            /// A function that a script declares as transparent: changes nothing that is checked
            /// here.
            Identity,
        }

        impl Builtin {
            /// The built-in called `name`.
            pub(crate) fn find(name: &str) -> Option<Builtin> {
                match name {
                    $($name => Some(Builtin::$variant),)*
                    _ => None,
                }
            }

            pub(crate) fn name(self) -> &'static str {
                match self {
                    $(Builtin::$variant => $name,)*
                    Builtin::Identity => "a transparent function",
                }
            }

            /// The number of arguments; 0 for a constant.
            pub(crate) fn arity(self) -> usize {
                match self {
                    $(Builtin::$variant => $arity,)*
                    Builtin::Identity => 1,
                }
            }
        }
    };
}

builtins! {
    Stop "STOP" 0, Skip "SKIP" 0, Div "DIV" 0, Chaos "CHAOS" 1, Run "RUN" 1,
    Bool "Bool" 0, Events "Events" 0,
    Union "union" 2, Inter "inter" 2, Diff "diff" 2, UnionAll "Union" 1, InterAll "Inter" 1,
    Member "member" 2, Card "card" 1, Empty "empty" 1, ToSet "set" 1, PowerSet "Set" 1, ToSeq "seq" 1,
    Head "head" 1, Tail "tail" 1, Null "null" 1, Elem "elem" 2, Length "length" 1, Concat "concat" 1,
    Extensions "extensions" 1, Productions "productions" 1,
}

impl Builtin {
    /// Whether the result is a process.
    pub(super) fn is_process(self) -> bool {
        matches!(self, Builtin::Stop | Builtin::Skip | Builtin::Div | Builtin::Chaos | Builtin::Run)
    }
}

type List = Arc<[Value]>;

fn set(value: &Value, place: SourcePosition) -> Eval<List> {
    match value {
        Value::Set(elements) => Ok(elements.clone()),
        other => error(place, format!("expected a set, found {}", other.kind())),
    }
}

fn sequence(value: &Value, place: SourcePosition) -> Eval<List> {
    match value {
        Value::Seq(elements) => Ok(elements.clone()),
        other => error(place, format!("expected a sequence, found {}", other.kind())),
    }
}

fn number(length: usize) -> Value {
    Value::Int(i64::try_from(length).unwrap_or(i64::MAX))
}

/// The elements of `left` that are, or are not, in `right`. Both are sorted, and so is the result.
fn filtered(left: &List, right: &List, keep: bool) -> Value {
    let kept = left.iter().filter(|value| right.binary_search(value).is_ok() == keep);
    Value::Set(kept.cloned().collect())
}

fn united(sets: &[List]) -> Value {
    Value::set(sets.iter().flat_map(|set| set.iter().cloned()).collect())
}

fn power_set(elements: &List) -> Value {
    let subset = |bits: usize| {
        let chosen = elements.iter().enumerate().filter(move |(index, _)| bits & (1 << index) != 0);
        Value::Set(chosen.map(|(_, value)| value.clone()).collect())
    };
    Value::set((0..1usize << elements.len()).map(subset).collect())
}

/// How many elements the result of a built-in has at most, those of its subsets among them.
fn most_elements(builtin: Builtin, arguments: &[Value]) -> usize {
    let elements = |value: &Value| match value {
        Value::Set(elements) | Value::Seq(elements) => elements.len(),
        _ => 0,
    };
    match (builtin, arguments) {
        (Builtin::UnionAll | Builtin::Concat, [Value::Set(lists) | Value::Seq(lists)]) => {
            lists.iter().map(elements).sum()
        }
        (Builtin::Union | Builtin::Inter | Builtin::Diff | Builtin::ToSet | Builtin::Tail, _) => {
            arguments.iter().map(elements).sum()
        }
        (Builtin::PowerSet, [all]) => {
            let subsets = 1usize.checked_shl(elements(all) as u32).unwrap_or(usize::MAX);
            subsets.saturating_mul(elements(all) / 2 + 1)
        }
        _ => 0,
    }
}

impl Evaluation<'_, '_> {
    /// The value of a built-in for as many arguments as it has.
    pub(super) fn builtin(&mut self, builtin: Builtin, arguments: &[Value], place: SourcePosition) -> Eval {
        if arguments.len() != builtin.arity() {
            let (wanted, given) = (builtin.arity(), arguments.len());
            let message = format!("`{}` takes {wanted} arguments and is given {given}", builtin.name());
            return error(place, message);
        }
        self.admit(most_elements(builtin, arguments), place)?;
        Ok(match (builtin, arguments) {
            (Builtin::Identity, [value]) => value.clone(),
            (Builtin::Bool, _) => Value::set(vec![false.into(), true.into()]),
            (Builtin::Events, _) => self.all_events(place)?,
            (Builtin::Union, [left, right]) => united(&[set(left, place)?, set(right, place)?]),
            (Builtin::Inter, [left, right]) => filtered(&set(left, place)?, &set(right, place)?, true),
            (Builtin::Diff, [left, right]) => filtered(&set(left, place)?, &set(right, place)?, false),
            (Builtin::UnionAll, [sets]) => {
                let sets: Eval<Vec<List>> = set(sets, place)?.iter().map(|next| set(next, place)).collect();
                united(&sets?)
            }
            (Builtin::InterAll, [sets]) => {
                let sets: Eval<Vec<List>> = set(sets, place)?.iter().map(|next| set(next, place)).collect();
                let sets = sets?;
                let Some((first, rest)) = sets.split_first() else {
                    return error(place, "the intersection of no sets is not a set");
                };
                let everywhere = |value: &&Value| rest.iter().all(|set| set.binary_search(value).is_ok());
                Value::Set(first.iter().filter(everywhere).cloned().collect())
            }
            (Builtin::Member, [value, elements]) => set(elements, place)?.binary_search(value).is_ok().into(),
            (Builtin::Card, [elements]) => number(set(elements, place)?.len()),
            (Builtin::Empty, [elements]) => set(elements, place)?.is_empty().into(),
            (Builtin::ToSet, [elements]) => Value::set(sequence(elements, place)?.to_vec()),
            (Builtin::PowerSet, [elements]) => power_set(&set(elements, place)?),
            (Builtin::ToSeq, [elements]) => Value::Seq(set(elements, place)?),
            (Builtin::Head, [elements]) => match sequence(elements, place)?.first() {
                Some(first) => first.clone(),
                None => return error(place, "`head` of an empty sequence"),
            },
            (Builtin::Tail, [elements]) => match sequence(elements, place)?.split_first() {
                Some((_, rest)) => Value::Seq(rest.into()),
                None => return error(place, "`tail` of an empty sequence"),
            },
            (Builtin::Null, [elements]) => sequence(elements, place)?.is_empty().into(),
            (Builtin::Elem, [value, elements]) => sequence(elements, place)?.contains(value).into(),
            (Builtin::Length, [elements]) => number(sequence(elements, place)?.len()),
            (Builtin::Concat, [lists]) => {
                let mut all = Vec::new();
                for list in sequence(lists, place)?.iter() {
                    all.extend(sequence(list, place)?.iter().cloned());
                }
                Value::Seq(all.into())
            }
            (Builtin::Extensions, [value]) => Value::set(self.extensions(value, place)?),
            (Builtin::Productions, [value]) => Value::set(self.productions(value, place)?),
            _ => return self.process_builtin(builtin, arguments, place),
        })
    }

    /// Recursive processes are suspended like definitions, so that equal ones are one process.
    fn process_builtin(&mut self, builtin: Builtin, arguments: &[Value], place: SourcePosition) -> Eval {
        let process = match builtin {
            Builtin::Stop => self.model.stop(),
            Builtin::Skip => self.model.skip(),
            _ => {
                if let [events] = arguments {
                    // Reports a wrong set here, where the script says it.
                    self.event_set(events, place)?;
                }
                let closure = self.closure(ClosureBody::Builtin(builtin), &None);
                self.suspend(closure, arguments.to_vec())
            }
        };
        Ok(Value::Process(process))
    }

    /// What `DIV`, `RUN(A)` and `CHAOS(A)` are, with `again` standing for the process itself.
    pub(super) fn builtin_body(&mut self, builtin: Builtin, arguments: &[Value], again: ProcId) -> Eval<ProcId> {
        let stop = self.model.stop();
        let events = match arguments {
            [events] => {
                let set = self.event_set(events, SourcePosition::default())?;
                self.model.set_events(set).to_vec()
            }
            _ => Vec::new(),
        };
        Ok(match builtin {
            // A silent step to itself.
            Builtin::Div => self.model.sliding(stop, again),
            Builtin::Run => self.model.menu(events.into_iter().map(|event| (event, again)).collect()),
            _ => {
                let each: Vec<ProcId> = events.into_iter().map(|event| self.model.prefix(event, again)).collect();
                self.model.internal(each.into_iter().chain([stop]))
            }
        })
    }
}
