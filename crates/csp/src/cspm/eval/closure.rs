//! Suspended computations: code and exactly those values that it can refer to.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::{Builtin, Eval, Evaluation, error};
use crate::core::ProcId;
use crate::cspm::ast::{Definition, Expression, ExpressionKind};
use crate::cspm::scope::{self, Constants};
use crate::error::SourcePosition;
use crate::value::{Name, Value};

/// A name bound in an environment: a variable, or all definitions of one `let`.
#[derive(Clone, Debug)]
pub(super) enum Binding<'a> {
    Variable(Name, Value),
    Let(&'a [Definition]),
}

impl Binding<'_> {
    /// Something to compare by: `let` blocks by where they stand in the tree.
    fn key(&self) -> (usize, Option<(&Name, &Value)>) {
        match self {
            Binding::Variable(name, value) => (0, Some((name, value))),
            Binding::Let(definitions) => (definitions.as_ptr() as usize, None),
        }
    }
}

impl PartialEq for Binding<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Binding<'_> {}

impl Hash for Binding<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

/// The innermost binding and the environment around it.
#[derive(Debug)]
pub(super) struct Frame<'a> {
    pub(super) binding: Binding<'a>,
    pub(super) outer: Env<'a>,
}

pub(super) type Env<'a> = Option<Arc<Frame<'a>>>;

pub(super) fn bind<'a>(env: &Env<'a>, binding: Binding<'a>) -> Env<'a> {
    Some(Arc::new(Frame { binding, outer: env.clone() }))
}

/// Code that waits for its arguments.
#[derive(Clone, Copy, Debug)]
pub(super) enum ClosureBody<'a> {
    /// A definition of the script, by its place in the table of definitions.
    Global(usize),
    /// The definitions of one `let`, and which of them is the first clause.
    Local(&'a [Definition], usize),
    /// A function without a name.
    Lambda(&'a Expression),
    /// A prefix from its n-th communication on.
    Suffix(&'a Expression, usize),
    Builtin(Builtin),
}

impl ClosureBody<'_> {
    fn key(&self) -> (u8, usize, usize) {
        match *self {
            ClosureBody::Global(index) => (0, index, 0),
            ClosureBody::Local(definitions, first) => (1, definitions.as_ptr() as usize, first),
            ClosureBody::Lambda(expression) => (2, std::ptr::from_ref(expression) as usize, 0),
            ClosureBody::Suffix(expression, from) => (3, std::ptr::from_ref(expression) as usize, from),
            ClosureBody::Builtin(builtin) => (4, builtin as usize, 0),
        }
    }
}

/// Code and the values it sees.
#[derive(Clone, Debug)]
pub(super) struct Closure<'a> {
    pub(super) code: ClosureBody<'a>,
    /// Outermost first. Invariant: only what the code can see.
    env: Arc<[Binding<'a>]>,
}

impl PartialEq for Closure<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.code.key() == other.code.key() && self.env == other.env
    }
}

impl Eq for Closure<'_> {}

impl Hash for Closure<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.code.key().hash(state);
        self.env.hash(state);
    }
}

/// A closure with its arguments: a process that was not needed yet.
pub(super) type Suspension = (u32, Box<[Value]>);

impl<'a> Evaluation<'_, 'a> {
    /// The names that the code at this address needs, computed once by `walk`.
    fn free(
        &mut self,
        key: (usize, usize),
        walk: impl FnOnce(&Constants, &mut dyn FnMut(&Name, SourcePosition)),
    ) -> Arc<[Name]> {
        if let Some(known) = self.evaluator.free.get(&key) {
            return known.clone();
        }
        let mut names = std::collections::BTreeSet::new();
        walk(&self.evaluator.constants, &mut |name, _| {
            names.insert(name.clone());
        });
        let names: Arc<[Name]> = names.into_iter().collect();
        self.evaluator.free.insert(key, names.clone());
        names
    }

    fn free_of_code(&mut self, code: ClosureBody<'a>) -> Arc<[Name]> {
        match code {
            ClosureBody::Global(_) | ClosureBody::Builtin(_) => Arc::from([]),
            ClosureBody::Local(definitions, _) => self.free_of_let(definitions),
            ClosureBody::Lambda(expression) => {
                let key = (std::ptr::from_ref(expression) as usize, usize::MAX);
                self.free(key, |constants, found| scope::free_names(constants, expression, found))
            }
            ClosureBody::Suffix(expression, from) => {
                let key = (std::ptr::from_ref(expression) as usize, from);
                let ExpressionKind::Prefix(steps, body) = &expression.kind else {
                    return Arc::from([]);
                };
                self.free(key, |constants, found| {
                    scope::free_names_of_suffix(constants, &steps[from..], body, found);
                })
            }
        }
    }

    fn free_of_let(&mut self, definitions: &'a [Definition]) -> Arc<[Name]> {
        self.free((definitions.as_ptr() as usize, usize::MAX - 1), |constants, found| {
            scope::free_names_of_definitions(constants, definitions, found);
        })
    }

    /// What of `env` the code can see.
    fn restrict(&mut self, code: ClosureBody<'a>, env: &Env<'a>) -> Arc<[Binding<'a>]> {
        if env.is_none() {
            return Arc::from([]);
        }
        let mut needed: Vec<Name> = self.free_of_code(code).to_vec();
        let mut kept = Vec::new();
        let mut at = env.as_ref();
        while let Some(frame) = at.filter(|_| !needed.is_empty()) {
            match &frame.binding {
                Binding::Variable(name, _) => {
                    let before = needed.len();
                    needed.retain(|wanted| wanted != name);
                    if needed.len() < before {
                        kept.push(frame.binding.clone());
                    }
                }
                &Binding::Let(definitions) => {
                    let before = needed.len();
                    needed.retain(|wanted| !definitions.iter().any(|given| given.name == *wanted));
                    if needed.len() < before {
                        kept.push(frame.binding.clone());
                        needed.extend(self.free_of_let(definitions).iter().cloned());
                    }
                }
            }
            at = frame.outer.as_ref();
        }
        kept.reverse();
        kept.into()
    }

    /// The function that `code` is in `env`; for a definition of a `let`, in the environment around
    /// the `let`.
    pub(super) fn closure(&mut self, code: ClosureBody<'a>, env: &Env<'a>) -> u32 {
        let env = self.restrict(code, env);
        self.intern_closure(Closure { code, env })
    }

    fn intern_closure(&mut self, closure: Closure<'a>) -> u32 {
        let weight = |binding: &Binding<'_>| match binding {
            Binding::Variable(_, value) => 1 + value.weight(),
            Binding::Let(_) => 1,
        };
        let cells = 4 + closure.env.iter().map(weight).sum::<usize>();
        let (index, new) = self.evaluator.closures.insert_full(closure);
        if new {
            self.model.charge(cells);
        }
        u32::try_from(index).expect("fewer than 2^32 closures fit the memory")
    }

    /// The process that `closure` makes of `arguments`, to be computed when a check comes to it.
    pub(super) fn suspend(&mut self, closure: u32, arguments: Vec<Value>) -> ProcId {
        let cells = 4 + arguments.iter().map(Value::weight).sum::<usize>();
        let (index, new) = self.evaluator.suspensions.insert_full((closure, arguments.into()));
        if new {
            self.model.charge(cells);
            let name = self.describe(index);
            let definition = self.model.declare(name);
            self.evaluator.suspended.push(definition);
            self.evaluator.resolvable.insert(definition, index);
        }
        self.model.call(self.evaluator.suspended[index])
    }

    fn describe(&self, suspension: usize) -> String {
        let (closure, arguments) = &self.evaluator.suspensions[suspension];
        let closure = &self.evaluator.closures[*closure as usize];
        let name = match closure.code {
            ClosureBody::Global(index) => self.evaluator.definitions[index][0].name.to_string(),
            ClosureBody::Local(definitions, first) => definitions[first].name.to_string(),
            ClosureBody::Lambda(expression) => format!("the function at {}", expression.place),
            ClosureBody::Suffix(expression, _) => format!("the prefix at {}", expression.place),
            ClosureBody::Builtin(builtin) => builtin.name().to_owned(),
        };
        // The name is only for messages, and arguments can be as large as the state of a process.
        let weight: usize = arguments.iter().map(Value::weight).sum();
        if arguments.is_empty() {
            return name;
        }
        if weight > 20 {
            return format!("{name}(...)");
        }
        let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
        format!("{name}({})", arguments.join(", "))
    }

    /// Computes a suspended process.
    pub(super) fn resume(&mut self, suspension: usize) -> Eval<ProcId> {
        let (closure, arguments) = self.evaluator.suspensions[suspension].clone();
        match self.evaluator.closures[closure as usize].code {
            ClosureBody::Suffix(expression, from) => {
                let env = self.environment(closure);
                self.prefix_from(expression, from, &env)
            }
            ClosureBody::Builtin(builtin) => {
                let again = self.model.call(self.evaluator.suspended[suspension]);
                self.builtin_body(builtin, &arguments, again)
            }
            _ => {
                let (body, env) = self.enter(closure, &arguments, SourcePosition::default())?;
                self.process(body, &env)
            }
        }
    }

    fn environment(&self, closure: u32) -> Env<'a> {
        let Closure { code, env } = &self.evaluator.closures[closure as usize];
        let around = env.iter().fold(None, |env, binding| bind(&env, binding.clone()));
        match *code {
            // The definitions of a `let` see each other.
            ClosureBody::Local(definitions, _) => bind(&around, Binding::Let(definitions)),
            _ => around,
        }
    }

    /// The body that answers a call, and the environment it is computed in.
    pub(super) fn enter(
        &mut self,
        closure: u32,
        arguments: &[Value],
        place: SourcePosition,
    ) -> Eval<(&'a Expression, Env<'a>)> {
        let code = self.evaluator.closures[closure as usize].code;
        let env = self.environment(closure);
        if let ClosureBody::Lambda(Expression { kind: ExpressionKind::Lambda(parameters, body), .. }) = code {
            return match self.bind_patterns(parameters, arguments, &env) {
                Some(inner) => Ok((&**body, inner)),
                None => error(place, "the arguments do not match the function's parameters"),
            };
        }
        let clauses = self.clauses(code);
        let Some(&first) = clauses.first() else {
            return error(place, "this is not a definition");
        };
        // A definition without parameters has one clause.
        let Some(parameters) = &first.parameters else {
            return Ok((&first.body, env));
        };
        // A suspended call has no place of its own.
        let place = if place == SourcePosition::default() { first.place } else { place };
        if parameters.len() != arguments.len() {
            let (wanted, given) = (parameters.len(), arguments.len());
            return error(place, format!("`{}` takes {wanted} arguments and is given {given}", first.name));
        }
        for clause in clauses {
            let parameters = clause.parameters.as_deref().unwrap_or_default();
            if let Some(inner) = self.bind_patterns(parameters, arguments, &env) {
                return Ok((&clause.body, inner));
            }
        }
        let given: Vec<String> = arguments.iter().map(ToString::to_string).collect();
        error(place, format!("no clause of `{}` matches ({})", first.name, given.join(", ")))
    }

    /// The clauses of a definition, in their order; none of code that is no definition.
    fn clauses(&self, code: ClosureBody<'a>) -> Vec<&'a Definition> {
        match code {
            ClosureBody::Global(index) => self.evaluator.definitions[index].clone(),
            ClosureBody::Local(definitions, first) => {
                let name = &definitions[first].name;
                definitions[first..].iter().take_while(|clause| clause.name == *name).collect()
            }
            ClosureBody::Lambda(_) | ClosureBody::Suffix(..) | ClosureBody::Builtin(_) => Vec::new(),
        }
    }
}
