//! Evaluates scripts to processes, as far as a check needs them.
//!
//! Values are computed eagerly. Definitions, `let` bindings and the processes after an input are
//! computed when they are first needed, so that recursion and infinitely many parameters cost
//! nothing until a check reaches them. A suspended computation is identified by its code and the
//! values of exactly those variables that the code can refer to. So two states with different
//! histories are one state if these are equal.

mod builtin;
mod closure;
mod expr;
mod pattern;
mod prefix;
mod process;
mod types;

use std::sync::Arc;

use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHashMap};

use super::ast::{DeclarationKind, Definition, Script};
use super::scope::{self, Constants};
use crate::core::step::Resolver;
use crate::core::{DefId, EventId, Model, ProcId};
use crate::error::{CheckError, LimitReached, SourceError, SourcePosition, StopTest, stop_if};
use crate::value::{Name, Value};

pub(crate) use builtin::Builtin;
use closure::{Closure, Suspension};
use types::Shapes;

/// How many expressions one script may evaluate. It ends computations that would run for hours.
const STEP_LIMIT: u64 = 2_000_000_000;
/// How deep calls may nest. The evaluation runs on a stack that holds this many.
const DEPTH_LIMIT: usize = 10_000;
/// How many elements a set or sequence may have.
const SIZE_LIMIT: usize = 1_000_000;
/// How many elements of sets and sequences one expression may construct, including its calls. It is
/// an upper bound on the elements that exist at the same time.
const BUILT_LIMIT: usize = 20_000_000;

type Eval<T = Value> = Result<T, CheckError>;

/// The state of evaluating one script.
pub(crate) struct Evaluator<'a> {
    constants: Constants,
    /// The clauses of each definition of the script.
    definitions: Vec<Vec<&'a Definition>>,
    by_name: FxHashMap<Name, usize>,
    shapes: Shapes<'a>,
    closures: IndexSet<Closure<'a>, FxBuildHasher>,
    suspensions: IndexSet<Suspension, FxBuildHasher>,
    /// The definition of the model that stands for each suspension, and back.
    suspended: Vec<DefId>,
    resolvable: FxHashMap<DefId, usize>,
    /// Values of definitions without parameters; `None` while they are computed.
    cache: FxHashMap<u32, Option<Value>>,
    /// Events that were already checked against the type of their channel.
    events: FxHashMap<Value, EventId>,
    /// Names seen from outside, by the address of the code.
    free: FxHashMap<(usize, usize), Arc<[Name]>>,
    /// Which definitions are processes.
    processes: FxHashMap<usize, bool>,
    steps: u64,
    depth: usize,
    built: usize,
    stop: Option<StopTest<'a>>,
}

/// An evaluator and the model that it adds to.
pub(crate) struct Evaluation<'e, 'a> {
    pub(crate) evaluator: &'e mut Evaluator<'a>,
    pub(crate) model: &'e mut Model,
}

impl<'a> Evaluator<'a> {
    /// Reads the declarations. The script must have passed [`scope::check`]. `stop` is asked at
    /// each expression.
    pub(crate) fn new(script: &'a Script, stop: Option<StopTest<'a>>) -> Evaluator<'a> {
        let mut definitions: Vec<Vec<&'a Definition>> = Vec::new();
        let mut by_name: FxHashMap<Name, usize> = FxHashMap::default();
        for declaration in &script.declarations {
            if let DeclarationKind::Definition(definition) = &declaration.kind {
                let next = definitions.len();
                let index = *by_name.entry(definition.name.clone()).or_insert(next);
                if index == next {
                    definitions.push(Vec::new());
                }
                definitions[index].push(definition);
            }
        }
        Evaluator {
            constants: scope::constants(script),
            definitions,
            by_name,
            shapes: Shapes::new(script),
            closures: IndexSet::default(),
            suspensions: IndexSet::default(),
            suspended: Vec::new(),
            resolvable: FxHashMap::default(),
            cache: FxHashMap::default(),
            events: FxHashMap::default(),
            free: FxHashMap::default(),
            processes: FxHashMap::default(),
            steps: 0,
            depth: 0,
            built: 0,
            stop,
        }
    }
}

impl Resolver for Evaluator<'_> {
    fn resolve(&mut self, model: &mut Model, definition: DefId) -> Result<ProcId, CheckError> {
        let Some(&index) = self.resolvable.get(&definition) else {
            return Err(CheckError::Undefined(model.definition(definition).name.clone()));
        };
        Evaluation { evaluator: self, model }.resume(index)
    }
}

fn error<T>(place: SourcePosition, message: impl Into<String>) -> Eval<T> {
    Err(SourceError::new(place, message).into())
}

impl<'a> Evaluation<'_, 'a> {
    /// Counts one step and one level of nesting around `work`.
    fn nested<T>(&mut self, place: SourcePosition, work: impl FnOnce(&mut Self) -> Eval<T>) -> Eval<T> {
        let evaluator = &mut *self.evaluator;
        evaluator.steps += 1;
        if evaluator.steps > STEP_LIMIT {
            return Err(LimitReached::Evaluation { place, limit: STEP_LIMIT, unit: "steps" }.into());
        }
        stop_if(evaluator.stop, 0)?;
        if evaluator.depth >= DEPTH_LIMIT {
            let limit = DEPTH_LIMIT as u64;
            return Err(LimitReached::Evaluation { place, limit, unit: "nested calls" }.into());
        }
        if evaluator.depth == 0 {
            evaluator.built = 0;
        }
        evaluator.depth += 1;
        let result = work(self);
        self.evaluator.depth -= 1;
        result
    }

    /// Admits a set or sequence of so many elements, before it is made.
    fn admit(&mut self, elements: usize, place: SourcePosition) -> Eval<()> {
        if elements > SIZE_LIMIT {
            return error(place, format!("this has more than {SIZE_LIMIT} elements"));
        }
        self.evaluator.built += elements;
        if self.evaluator.built > BUILT_LIMIT {
            let (limit, unit) = (BUILT_LIMIT as u64, "elements of sets and sequences");
            return Err(LimitReached::Evaluation { place, limit, unit }.into());
        }
        Ok(())
    }
}
