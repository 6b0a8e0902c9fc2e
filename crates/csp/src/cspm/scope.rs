//! Names: which ones an expression needs from outside, and whether a script binds all that it uses.

use rustc_hash::{FxHashMap, FxHashSet};

use super::ast::{
    Claim, Communication, Declaration, DeclarationKind, Definition, Expression, ExpressionKind, Field, Pattern,
    PatternKind, ReplicatedOp, Script, Statement,
};
use crate::error::{SourceError, SourcePosition};
use crate::value::Name;

/// The channels and constructors of a script. In a pattern they match themselves; other names bind.
pub(crate) type Constants = FxHashSet<Name>;

/// Calls `found` with each name that `expression` uses and does not bind itself.
pub(crate) fn free_names(constants: &Constants, expression: &Expression, found: &mut dyn FnMut(&Name, SourcePosition)) {
    Walker::new(constants, found).expression(expression);
}

/// The same for what is left of a prefix after its first communications.
pub(crate) fn free_names_of_suffix(
    constants: &Constants,
    steps: &[Communication],
    body: &Expression,
    found: &mut dyn FnMut(&Name, SourcePosition),
) {
    let mut walker = Walker::new(constants, found);
    walker.prefix(steps, body);
}

/// The same for definitions that stand together and may call each other.
pub(crate) fn free_names_of_definitions(
    constants: &Constants,
    definitions: &[Definition],
    found: &mut dyn FnMut(&Name, SourcePosition),
) {
    let mut walker = Walker::new(constants, found);
    walker.definitions(definitions);
}

/// The names that `pattern` binds.
pub(crate) fn pattern_names<'p>(constants: &Constants, pattern: &'p Pattern, names: &mut Vec<&'p Name>) {
    match &pattern.kind {
        PatternKind::Name(name) if !constants.contains(name) => names.push(name),
        PatternKind::Tuple(parts)
        | PatternKind::Seq(parts)
        | PatternKind::Set(parts)
        | PatternKind::Concat(parts)
        | PatternKind::Dot(parts) => {
            parts.iter().for_each(|part| pattern_names(constants, part, names));
        }
        _ => {}
    }
}

struct Walker<'w> {
    constants: &'w Constants,
    bound: Vec<Name>,
    found: &'w mut dyn FnMut(&Name, SourcePosition),
    /// Mistakes in patterns and clauses that were met on the way.
    problems: Vec<SourceError>,
}

impl<'w> Walker<'w> {
    fn new(constants: &'w Constants, found: &'w mut dyn FnMut(&Name, SourcePosition)) -> Walker<'w> {
        Walker { constants, bound: Vec::new(), found, problems: Vec::new() }
    }

    fn bind(&mut self, pattern: &Pattern) {
        self.bind_all(std::slice::from_ref(pattern));
    }

    fn bind_all(&mut self, patterns: &[Pattern]) {
        let mut names = Vec::new();
        for pattern in patterns {
            let before = names.len();
            pattern_names(self.constants, pattern, &mut names);
            if let Some(twice) = (before..names.len()).find(|&at| names[..at].contains(&names[at])) {
                let message = format!("`{}` is bound twice", names[twice]);
                self.problems.push(SourceError::new(pattern.place, message));
            }
            self.check_concatenations(pattern);
        }
        self.bound.extend(names.into_iter().cloned());
    }

    /// `s ^ t` matches in many ways unless all parts but one have a known length.
    fn check_concatenations(&mut self, pattern: &Pattern) {
        match &pattern.kind {
            PatternKind::Concat(parts) => {
                let open = parts.iter().filter(|part| !matches!(part.kind, PatternKind::Seq(_))).count();
                if open > 1 {
                    let message = "only one part of a concatenation pattern may have an unknown length";
                    self.problems.push(SourceError::new(pattern.place, message));
                }
                parts.iter().for_each(|part| self.check_concatenations(part));
            }
            PatternKind::Tuple(parts) | PatternKind::Seq(parts) | PatternKind::Set(parts) | PatternKind::Dot(parts) => {
                parts.iter().for_each(|part| self.check_concatenations(part))
            }
            _ => {}
        }
    }

    /// Runs `walk` and forgets what it bound.
    fn scoped(&mut self, walk: impl FnOnce(&mut Self)) {
        let outer = self.bound.len();
        walk(self);
        self.bound.truncate(outer);
    }

    fn expressions(&mut self, expressions: &[Expression]) {
        expressions.iter().for_each(|next| self.expression(next));
    }

    fn statements(&mut self, statements: &[Statement]) {
        for statement in statements {
            match statement {
                Statement::Generator(pattern, from) => {
                    self.expression(from);
                    self.bind(pattern);
                }
                Statement::Condition(condition) => self.expression(condition),
            }
        }
    }

    fn definitions(&mut self, definitions: &[Definition]) {
        self.problems.extend(check_clauses(definitions.iter(), &mut FxHashMap::default()).err());
        self.bound.extend(definitions.iter().map(|definition| definition.name.clone()));
        for definition in definitions {
            self.scoped(|walker| {
                walker.bind_all(definition.parameters.as_deref().unwrap_or_default());
                walker.expression(&definition.body);
            });
        }
    }

    fn prefix(&mut self, steps: &[Communication], body: &Expression) {
        for step in steps {
            self.expression(&step.channel);
            for field in &step.fields {
                match field {
                    Field::Output(value) => self.expression(value),
                    Field::Input(pattern, from) | Field::Choice(pattern, from) => {
                        from.iter().for_each(|from| self.expression(from));
                        self.bind(pattern);
                    }
                }
            }
        }
        self.expression(body);
    }

    fn expression(&mut self, expression: &Expression) {
        match &expression.kind {
            ExpressionKind::Int(_) | ExpressionKind::Bool(_) => {}
            ExpressionKind::Name(name) => {
                if !self.bound.contains(name) {
                    (self.found)(name, expression.place);
                }
            }
            ExpressionKind::Call(function, arguments) => {
                self.expression(function);
                self.expressions(arguments);
            }
            ExpressionKind::Tuple(parts)
            | ExpressionKind::List(_, parts)
            | ExpressionKind::Dot(parts)
            | ExpressionKind::Chain(_, parts) => self.expressions(parts),
            ExpressionKind::Range(_, first, second) | ExpressionKind::Binary(_, first, second) => {
                self.expression(first);
                self.expression(second);
            }
            ExpressionKind::Comprehension(_, elements, statements) => self.scoped(|walker| {
                walker.statements(statements);
                walker.expressions(elements);
            }),
            ExpressionKind::Unary(_, operand) => self.expression(operand),
            ExpressionKind::If(first, second, third)
            | ExpressionKind::Shared(first, second, third)
            | ExpressionKind::Exception(first, second, third) => {
                self.expression(first);
                self.expression(second);
                self.expression(third);
            }
            ExpressionKind::Alphabetised(left, left_set, right_set, right) => {
                [left, left_set, right_set, right].into_iter().for_each(|part| self.expression(part));
            }
            ExpressionKind::Let(definitions, body) => self.scoped(|walker| {
                walker.definitions(definitions);
                walker.expression(body);
            }),
            ExpressionKind::Lambda(parameters, body) => self.scoped(|walker| {
                walker.bind_all(parameters);
                walker.expression(body);
            }),
            ExpressionKind::Prefix(steps, body) => self.scoped(|walker| walker.prefix(steps, body)),
            ExpressionKind::Rename(process, pairs, statements) => {
                self.expression(process);
                self.scoped(|walker| {
                    walker.statements(statements);
                    for (from, to) in pairs {
                        walker.expression(from);
                        walker.expression(to);
                    }
                });
            }
            ExpressionKind::Replicated(operator, statements, body) => {
                if let ReplicatedOp::Shared(set) = operator {
                    self.expression(set);
                }
                self.scoped(|walker| {
                    walker.statements(statements);
                    if let ReplicatedOp::Alphabetised(alphabet) = operator {
                        walker.expression(alphabet);
                    }
                    walker.expression(body);
                });
            }
        }
    }
}

/// The names that a declaration gives to the whole script, apart from definitions.
fn declared_names(declaration: &Declaration) -> Vec<&Name> {
    match &declaration.kind {
        DeclarationKind::Channel(names, _) | DeclarationKind::Transparent(names) => names.iter().collect(),
        DeclarationKind::Datatype(name, constructors) => {
            std::iter::once(name).chain(constructors.iter().map(|constructor| &constructor.name)).collect()
        }
        DeclarationKind::Nametype(name, _) => vec![name],
        DeclarationKind::Definition(_) | DeclarationKind::Assert(_) => Vec::new(),
    }
}

/// The channels and constructors that a script declares.
pub(crate) fn constants(script: &Script) -> Constants {
    let mut constants = Constants::default();
    for declaration in &script.declarations {
        match &declaration.kind {
            DeclarationKind::Channel(names, _) => constants.extend(names.iter().cloned()),
            DeclarationKind::Datatype(_, list) => {
                constants.extend(list.iter().map(|constructor| constructor.name.clone()));
            }
            _ => {}
        }
    }
    constants
}

/// Checks that each name is given once and that each name in use is given, by the script or as one
/// of `builtins`.
pub(crate) fn check(script: &Script, builtins: &dyn Fn(&str) -> bool) -> Result<(), SourceError> {
    let constants = constants(script);
    let mut given: FxHashMap<Name, SourcePosition> = FxHashMap::default();
    for declaration in &script.declarations {
        for name in declared_names(declaration) {
            give(&mut given, name, declaration.place)?;
        }
    }
    let definitions = script.declarations.iter().filter_map(|declaration| match &declaration.kind {
        DeclarationKind::Definition(definition) => Some(definition),
        _ => None,
    });
    check_clauses(definitions, &mut given)?;
    let mut problems = Vec::new();
    for declaration in &script.declarations {
        let mut undefined = Vec::new();
        let mut found = |name: &Name, place: SourcePosition| {
            if !given.contains_key(name) && !builtins(name) {
                undefined.push(SourceError::new(place, format!("`{name}` is not defined")));
            }
        };
        let mut walker = Walker::new(&constants, &mut found);
        walk_declaration(&mut walker, declaration);
        problems.append(&mut walker.problems);
        problems.append(&mut undefined);
    }
    problems.into_iter().min_by_key(|problem| problem.place).map_or(Ok(()), Err)
}

fn give(given: &mut FxHashMap<Name, SourcePosition>, name: &Name, place: SourcePosition) -> Result<(), SourceError> {
    match given.insert(name.clone(), place) {
        None => Ok(()),
        Some(before) => Err(SourceError::new(place, format!("`{name}` is already declared at {before}"))),
    }
}

/// Clauses of one function must stand together and agree in the number of parameters.
fn check_clauses<'d>(
    definitions: impl Iterator<Item = &'d Definition>,
    given: &mut FxHashMap<Name, SourcePosition>,
) -> Result<(), SourceError> {
    let mut last: Option<&Definition> = None;
    for definition in definitions {
        let same = last.filter(|last| last.name == definition.name && last.parameters.is_some());
        match (same, &definition.parameters) {
            (Some(last), Some(parameters)) => {
                if last.parameters.as_ref().map(Vec::len) != Some(parameters.len()) {
                    let message = format!("the clauses of `{}` differ in their number of parameters", definition.name);
                    return Err(SourceError::new(definition.place, message));
                }
            }
            _ => give(given, &definition.name, definition.place)?,
        }
        last = Some(definition);
    }
    Ok(())
}

fn walk_declaration(walker: &mut Walker<'_>, declaration: &Declaration) {
    match &declaration.kind {
        DeclarationKind::Channel(_, fields) => walker.expressions(fields),
        DeclarationKind::Datatype(_, constructors) => {
            constructors.iter().for_each(|constructor| walker.expressions(&constructor.fields));
        }
        DeclarationKind::Nametype(_, of) => walker.expression(of),
        DeclarationKind::Transparent(_) => {}
        DeclarationKind::Definition(definition) => {
            walker.bind_all(definition.parameters.as_deref().unwrap_or_default());
            walker.expression(&definition.body);
        }
        DeclarationKind::Assert(assertion) => match &assertion.claim {
            Claim::TraceRefinement(first, second) => {
                walker.expression(first);
                walker.expression(second);
            }
            Claim::DeadlockFree(process) | Claim::DivergenceFree(process) => walker.expression(process),
        },
    }
}
