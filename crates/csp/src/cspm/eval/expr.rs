//! Expressions to values.

use super::closure::{Binding, ClosureBody, Env, bind};
use super::{Builtin, Eval, Evaluation, SIZE_LIMIT, error};
use crate::cspm::ast::{BinaryOp, Bracket, Definition, Expression, ExpressionKind, Statement, UnaryOp};
use crate::error::SourcePosition;
use crate::value::{Name, Value};

impl<'a> Evaluation<'_, 'a> {
    /// The value of an expression. A process is a value, too; it is named, but not evaluated.
    pub(super) fn value(&mut self, expression: &'a Expression, env: &Env<'a>) -> Eval {
        let place = expression.place;
        self.nested(place, |this| match &expression.kind {
            ExpressionKind::Int(number) => Ok(Value::Int(*number)),
            ExpressionKind::Bool(truth) => Ok(Value::Bool(*truth)),
            ExpressionKind::Name(name) => this.name(name, env, place),
            ExpressionKind::Call(function, arguments) => this.call(function, arguments, env, place),
            ExpressionKind::Tuple(parts) => Ok(Value::Tuple(this.values(parts, env)?.into())),
            ExpressionKind::Dot(parts) => Ok(Value::dot(this.values(parts, env)?)),
            ExpressionKind::List(bracket, elements) => {
                let elements = this.values(elements, env)?;
                this.admit(elements.len(), place)?;
                this.collection(*bracket, elements, place)
            }
            ExpressionKind::Range(bracket, first, last) => {
                let (first, last) = (this.integer(first, env)?, this.integer(last, env)?);
                let length = last.checked_sub(first).and_then(|length| length.checked_add(1));
                this.admit(length.map_or(usize::MAX, |length| length.max(0) as usize), place)?;
                this.collection(*bracket, (first..=last).map(Value::Int).collect(), place)
            }
            ExpressionKind::Comprehension(bracket, elements, statements) => {
                let mut all = Vec::new();
                this.for_each_binding(statements, env, &mut |this, env| {
                    all.append(&mut this.values(elements, env)?);
                    match all.len() > SIZE_LIMIT {
                        true => error(place, format!("this has more than {SIZE_LIMIT} elements")),
                        false => Ok(()),
                    }
                })?;
                this.admit(all.len(), place)?;
                this.collection(*bracket, all, place)
            }
            ExpressionKind::Unary(operator, operand) => this.unary(*operator, operand, env),
            ExpressionKind::Binary(operator, left, right) if is_data(*operator) => {
                this.binary(*operator, left, right, env, place)
            }
            ExpressionKind::If(condition, yes, no) => {
                let branch = if this.boolean(condition, env)? { yes } else { no };
                this.value(branch, env)
            }
            ExpressionKind::Let(definitions, body) => this.value(body, &bind(env, Binding::Let(definitions))),
            ExpressionKind::Lambda(..) => Ok(Value::Function(this.closure(ClosureBody::Lambda(expression), env))),
            _ => Ok(Value::Process(this.process(expression, env)?)),
        })
    }

    pub(super) fn values(&mut self, expressions: &'a [Expression], env: &Env<'a>) -> Eval<Vec<Value>> {
        expressions.iter().map(|next| self.value(next, env)).collect()
    }

    pub(super) fn boolean(&mut self, expression: &'a Expression, env: &Env<'a>) -> Eval<bool> {
        match self.value(expression, env)? {
            Value::Bool(truth) => Ok(truth),
            other => error(expression.place, format!("expected a boolean, found {}: {other}", other.kind())),
        }
    }

    fn integer(&mut self, expression: &'a Expression, env: &Env<'a>) -> Eval<i64> {
        match self.value(expression, env)? {
            Value::Int(number) => Ok(number),
            other => error(expression.place, format!("expected an integer, found {}: {other}", other.kind())),
        }
    }

    fn collection(&mut self, bracket: Bracket, elements: Vec<Value>, place: SourcePosition) -> Eval {
        match bracket {
            Bracket::Sequence => Ok(Value::Seq(elements.into())),
            Bracket::Set => Ok(Value::set(elements)),
            Bracket::Productions => {
                let mut all = Vec::new();
                for element in &elements {
                    all.append(&mut self.productions(element, place)?);
                }
                Ok(Value::set(all))
            }
        }
    }

    /// Calls `visit` with every environment that the statements make, in the order of the sets and
    /// sequences.
    pub(super) fn for_each_binding(
        &mut self,
        statements: &'a [Statement],
        env: &Env<'a>,
        visit: &mut dyn FnMut(&mut Self, &Env<'a>) -> Eval<()>,
    ) -> Eval<()> {
        let Some((first, rest)) = statements.split_first() else {
            return visit(self, env);
        };
        match first {
            Statement::Condition(condition) => match self.boolean(condition, env)? {
                true => self.for_each_binding(rest, env, visit),
                false => Ok(()),
            },
            Statement::Generator(pattern, from) => {
                let elements = match self.value(from, env)? {
                    Value::Set(elements) | Value::Seq(elements) => elements,
                    other => {
                        let message = format!("expected a set or a sequence, found {}: {other}", other.kind());
                        return error(from.place, message);
                    }
                };
                for element in elements.iter() {
                    let patterns = std::slice::from_ref(pattern);
                    if let Some(inner) = self.bind_patterns(patterns, std::slice::from_ref(element), env) {
                        self.for_each_binding(rest, &inner, visit)?;
                    }
                }
                Ok(())
            }
        }
    }

    fn unary(&mut self, operator: UnaryOp, operand: &'a Expression, env: &Env<'a>) -> Eval {
        match operator {
            UnaryOp::Not => Ok(Value::Bool(!self.boolean(operand, env)?)),
            UnaryOp::Negate => match self.integer(operand, env)?.checked_neg() {
                Some(number) => Ok(Value::Int(number)),
                None => error(operand.place, "the result does not fit an integer"),
            },
            UnaryOp::Length => {
                let sequence = self.value(operand, env)?;
                self.builtin(Builtin::Length, &[sequence], operand.place)
            }
        }
    }

    fn binary(
        &mut self,
        operator: BinaryOp,
        left: &'a Expression,
        right: &'a Expression,
        env: &Env<'a>,
        place: SourcePosition,
    ) -> Eval {
        match operator {
            BinaryOp::And => Ok(Value::Bool(self.boolean(left, env)? && self.boolean(right, env)?)),
            BinaryOp::Or => Ok(Value::Bool(self.boolean(left, env)? || self.boolean(right, env)?)),
            BinaryOp::Equal | BinaryOp::NotEqual => {
                let (first, second) = (self.value(left, env)?, self.value(right, env)?);
                for value in [&first, &second] {
                    if matches!(value, Value::Process(_) | Value::Function(_)) {
                        return error(place, format!("{} cannot be compared", value.kind()));
                    }
                }
                Ok(Value::Bool((first == second) == (operator == BinaryOp::Equal)))
            }
            BinaryOp::Less | BinaryOp::LessEqual => self.ordered(left, right, operator, env, place),
            BinaryOp::Greater => self.ordered(right, left, BinaryOp::Less, env, place),
            BinaryOp::GreaterEqual => self.ordered(right, left, BinaryOp::LessEqual, env, place),
            BinaryOp::Concat => {
                let (first, second) = (self.value(left, env)?, self.value(right, env)?);
                self.builtin(Builtin::Concat, &[Value::Seq([first, second].into())], place)
            }
            _ => {
                let (first, second) = (self.integer(left, env)?, self.integer(right, env)?);
                arithmetic(operator, first, second, place)
            }
        }
    }

    /// Numbers by size, sets by inclusion, sequences by being the beginning of one another.
    fn ordered(
        &mut self,
        left: &'a Expression,
        right: &'a Expression,
        operator: BinaryOp,
        env: &Env<'a>,
        place: SourcePosition,
    ) -> Eval {
        let (first, second) = (self.value(left, env)?, self.value(right, env)?);
        let below = match (&first, &second) {
            (Value::Int(first), Value::Int(second)) => first <= second,
            (Value::Set(first), Value::Set(second)) => {
                first.iter().all(|element| second.binary_search(element).is_ok())
            }
            (Value::Seq(first), Value::Seq(second)) => second.starts_with(first),
            _ => return error(place, format!("{} and {} have no order", first.kind(), second.kind())),
        };
        Ok(Value::Bool(below && (operator == BinaryOp::LessEqual || first != second)))
    }

    /// What a name stands for: the innermost binding, the script's, or the language's.
    pub(super) fn name(&mut self, name: &Name, env: &Env<'a>, place: SourcePosition) -> Eval {
        let mut at = env.as_ref();
        while let Some(frame) = at {
            match &frame.binding {
                Binding::Variable(bound, value) if bound == name => return Ok(value.clone()),
                &Binding::Let(definitions) => {
                    if let Some(first) = definitions.iter().position(|given| given.name == *name) {
                        let code = ClosureBody::Local(definitions, first);
                        let outer = frame.outer.clone();
                        return self.defined(code, &definitions[first], &outer, place);
                    }
                }
                Binding::Variable(..) => {}
            }
            at = frame.outer.as_ref();
        }
        if let Some(&index) = self.evaluator.by_name.get(name) {
            let first = self.evaluator.definitions[index][0];
            return self.defined(ClosureBody::Global(index), first, &None, place);
        }
        if self.evaluator.constants.contains(name) {
            return Ok(Value::Atom(name.clone()));
        }
        if let Some(set) = self.named_type(name, place)? {
            return Ok(set);
        }
        let builtin = match self.evaluator.shapes.transparent.contains(name) {
            true => Some(Builtin::Identity),
            false => Builtin::find(name),
        };
        match builtin {
            Some(constant) if constant.arity() == 0 => self.builtin(constant, &[], place),
            Some(function) => Ok(Value::Function(self.closure(ClosureBody::Builtin(function), &None))),
            None => error(place, format!("`{name}` is not defined")),
        }
    }

    /// What a definition is: a function, a process to be computed later, or a value that is
    /// computed once.
    fn defined(&mut self, code: ClosureBody<'a>, first: &'a Definition, env: &Env<'a>, place: SourcePosition) -> Eval {
        let closure = self.closure(code, env);
        if first.parameters.is_some() {
            return Ok(Value::Function(closure));
        }
        if self.is_process(first, env) {
            return Ok(Value::Process(self.suspend(closure, Vec::new())));
        }
        match self.evaluator.cache.get(&closure) {
            Some(Some(known)) => return Ok(known.clone()),
            Some(None) => return error(place, format!("`{}` is defined by itself", first.name)),
            None => {}
        }
        self.evaluator.cache.insert(closure, None);
        let (body, inner) = self.enter(closure, &[], place)?;
        let computed = self.value(body, &inner);
        match &computed {
            Ok(value) => self.evaluator.cache.insert(closure, Some(value.clone())),
            Err(_) => self.evaluator.cache.remove(&closure),
        };
        computed
    }

    fn call(
        &mut self,
        function: &'a Expression,
        arguments: &'a [Expression],
        env: &Env<'a>,
        place: SourcePosition,
    ) -> Eval {
        let function = self.value(function, env)?;
        let arguments = self.values(arguments, env)?;
        let Value::Function(closure) = function else {
            return error(place, format!("{} cannot be called: {function}", function.kind()));
        };
        match self.evaluator.closures[closure as usize].code {
            ClosureBody::Builtin(builtin) => self.builtin(builtin, &arguments, place),
            _ => {
                let (body, inner) = self.enter(closure, &arguments, place)?;
                if self.denotes_process(body, &inner, &mut Vec::new()) {
                    return Ok(Value::Process(self.suspend(closure, arguments)));
                }
                self.value(body, &inner)
            }
        }
    }

    fn is_process(&mut self, definition: &'a Definition, env: &Env<'a>) -> bool {
        let key = std::ptr::from_ref(definition) as usize;
        if let Some(&known) = self.evaluator.processes.get(&key) {
            return known;
        }
        let is = self.denotes_process(&definition.body, env, &mut vec![key]);
        self.evaluator.processes.insert(key, is);
        is
    }

    /// Whether an expression is a process, by its form: names are resolved, nothing is computed. A
    /// recursive call decides nothing; another branch of the recursion does.
    fn denotes_process(&self, expression: &'a Expression, env: &Env<'a>, seen: &mut Vec<usize>) -> bool {
        match &expression.kind {
            ExpressionKind::Binary(operator, ..) => !is_data(*operator),
            ExpressionKind::Prefix(..)
            | ExpressionKind::Chain(..)
            | ExpressionKind::Shared(..)
            | ExpressionKind::Alphabetised(..)
            | ExpressionKind::Exception(..)
            | ExpressionKind::Rename(..)
            | ExpressionKind::Replicated(..) => true,
            ExpressionKind::If(_, yes, no) => {
                self.denotes_process(yes, env, seen) || self.denotes_process(no, env, seen)
            }
            ExpressionKind::Let(definitions, body) => {
                self.denotes_process(body, &bind(env, Binding::Let(definitions)), seen)
            }
            ExpressionKind::Call(function, _) => match &function.kind {
                ExpressionKind::Name(name) => self.name_denotes_process(name, env, seen),
                _ => false,
            },
            ExpressionKind::Name(name) => self.name_denotes_process(name, env, seen),
            _ => false,
        }
    }

    fn name_denotes_process(&self, name: &Name, env: &Env<'a>, seen: &mut Vec<usize>) -> bool {
        let mut follow = |clause: &'a Definition, env: &Env<'a>| {
            let key = std::ptr::from_ref(clause) as usize;
            if seen.contains(&key) {
                return false;
            }
            seen.push(key);
            self.denotes_process(&clause.body, env, seen)
        };
        let mut at = env.as_ref();
        while let Some(frame) = at {
            match &frame.binding {
                Binding::Variable(bound, value) if bound == name => return matches!(value, Value::Process(_)),
                &Binding::Let(definitions) => {
                    let mut clauses = definitions.iter().filter(|given| given.name == *name).peekable();
                    if clauses.peek().is_some() {
                        return clauses.any(|clause| follow(clause, &Some(frame.clone())));
                    }
                }
                Binding::Variable(..) => {}
            }
            at = frame.outer.as_ref();
        }
        if let Some(&index) = self.evaluator.by_name.get(name) {
            return self.evaluator.definitions[index].iter().any(|clause| follow(clause, &None));
        }
        Builtin::find(name).is_some_and(Builtin::is_process)
    }
}

fn is_data(operator: BinaryOp) -> bool {
    !matches!(operator, BinaryOp::Guard | BinaryOp::Hide | BinaryOp::Interrupt | BinaryOp::Sliding)
}

/// Division rounds towards minus infinity and a remainder has the sign of the divisor, as the
/// evaluator of FDR (libcspm) has it.
fn arithmetic(operator: BinaryOp, first: i64, second: i64, place: SourcePosition) -> Eval {
    let result = match operator {
        BinaryOp::Add => first.checked_add(second),
        BinaryOp::Subtract => first.checked_sub(second),
        BinaryOp::Multiply => first.checked_mul(second),
        _ if second == 0 => return error(place, "division by zero"),
        BinaryOp::Divide => first
            .checked_div(second)
            .map(|quotient| quotient - i64::from(first % second != 0 && (first < 0) != (second < 0))),
        // The remainder always fits, also where the quotient does not.
        _ => Some(match first.wrapping_rem(second) {
            rest if rest != 0 && (rest < 0) != (second < 0) => rest + second,
            rest => rest,
        }),
    };
    match result {
        Some(number) => Ok(Value::Int(number)),
        None => error(place, "the result does not fit an integer"),
    }
}
