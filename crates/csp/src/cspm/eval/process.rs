//! Expressions to processes.

use super::closure::{Binding, ClosureBody, Env, bind};
use super::{Eval, Evaluation, error};
use crate::core::{EventId, ProcId, SetId};
use crate::cspm::ast::{BinaryOp, ChainOp, Expression, ExpressionKind, ReplicatedOp, Statement};
use crate::error::SourcePosition;
use crate::value::Value;

impl<'a> Evaluation<'_, 'a> {
    /// The process that an expression of the script's outermost level is.
    pub(crate) fn top_process(&mut self, expression: &'a Expression) -> Eval<ProcId> {
        self.process(expression, &None)
    }

    /// The process that an expression is. Calls are suspended, so this ends even where the process
    /// does not.
    pub(super) fn process(&mut self, expression: &'a Expression, env: &Env<'a>) -> Eval<ProcId> {
        let place = expression.place;
        self.nested(place, |this| match &expression.kind {
            ExpressionKind::Prefix(..) => this.prefix_from(expression, 0, env),
            ExpressionKind::Chain(operator, operands) => {
                let operands = this.processes(operands, env)?;
                this.chain(*operator, operands, place)
            }
            ExpressionKind::Binary(BinaryOp::Guard, condition, body) => match this.boolean(condition, env)? {
                true => this.process(body, env),
                false => Ok(this.model.stop()),
            },
            ExpressionKind::Binary(BinaryOp::Hide, process, set) => {
                let (process, set) = (this.process(process, env)?, this.events(set, env)?);
                Ok(this.model.hide(process, set))
            }
            ExpressionKind::Binary(BinaryOp::Interrupt, first, second) => {
                let (first, second) = (this.process(first, env)?, this.process(second, env)?);
                Ok(this.model.interrupt(first, second))
            }
            ExpressionKind::Binary(BinaryOp::Sliding, first, second) => {
                let (first, second) = (this.process(first, env)?, this.process(second, env)?);
                Ok(this.model.sliding(first, second))
            }
            ExpressionKind::Shared(first, set, second) => {
                let both = [this.process(first, env)?, this.process(second, env)?];
                let set = this.events(set, env)?;
                Ok(this.model.parallel(set, both))
            }
            ExpressionKind::Exception(first, set, second) => {
                let (first, second) = (this.process(first, env)?, this.process(second, env)?);
                let set = this.events(set, env)?;
                Ok(this.model.exception(first, set, second))
            }
            ExpressionKind::Alphabetised(first, first_set, second_set, second) => {
                let (first, second) = (this.process(first, env)?, this.process(second, env)?);
                let (first_set, second_set) = (this.events(first_set, env)?, this.events(second_set, env)?);
                Ok(this.model.alphabetised([(first_set, first), (second_set, second)]))
            }
            ExpressionKind::Rename(process, pairs, statements) => {
                let process = this.process(process, env)?;
                let pairs = this.renaming(pairs, statements, env)?;
                let relation = this.model.relation(pairs);
                Ok(this.model.rename(process, relation))
            }
            ExpressionKind::Replicated(operator, statements, body) => {
                this.replicated(operator, statements, body, env, place)
            }
            ExpressionKind::If(condition, yes, no) => {
                let branch = if this.boolean(condition, env)? { yes } else { no };
                this.process(branch, env)
            }
            ExpressionKind::Let(definitions, body) => this.process(body, &bind(env, Binding::Let(definitions))),
            ExpressionKind::Call(function, arguments) => this.call_process(function, arguments, env, place),
            _ => {
                let value = this.value(expression, env)?;
                as_process(value, place)
            }
        })
    }

    fn processes(&mut self, expressions: &'a [Expression], env: &Env<'a>) -> Eval<Vec<ProcId>> {
        expressions.iter().map(|next| self.process(next, env)).collect()
    }

    fn events(&mut self, expression: &'a Expression, env: &Env<'a>) -> Eval<SetId> {
        let value = self.value(expression, env)?;
        self.event_set(&value, expression.place)
    }

    /// A call where a process is wanted is always suspended, whatever the function looks like.
    fn call_process(
        &mut self,
        function: &'a Expression,
        arguments: &'a [Expression],
        env: &Env<'a>,
        place: SourcePosition,
    ) -> Eval<ProcId> {
        let function = self.value(function, env)?;
        let arguments = self.values(arguments, env)?;
        let Value::Function(closure) = function else {
            return error(place, format!("{} cannot be called: {function}", function.kind()));
        };
        if let ClosureBody::Builtin(builtin) = self.evaluator.closures[closure as usize].code {
            let value = self.builtin(builtin, &arguments, place)?;
            return as_process(value, place);
        }
        // Finds the clause now, so that a call without one is reported where it stands.
        self.enter(closure, &arguments, place)?;
        Ok(self.suspend(closure, arguments))
    }

    fn chain(&mut self, operator: ChainOp, operands: Vec<ProcId>, place: SourcePosition) -> Eval<ProcId> {
        Ok(match operator {
            ChainOp::External => self.model.external(operands),
            ChainOp::Interleave => self.model.interleave(operands),
            ChainOp::Internal if operands.is_empty() => {
                return error(place, "an internal choice needs something to choose from");
            }
            ChainOp::Internal => self.model.internal(operands),
            ChainOp::Sequential => {
                let mut operands = operands.into_iter().rev();
                let Some(last) = operands.next() else {
                    return Ok(self.model.skip());
                };
                operands.fold(last, |rest, next| self.model.sequence(next, rest))
            }
        })
    }

    fn replicated(
        &mut self,
        operator: &'a ReplicatedOp,
        statements: &'a [Statement],
        body: &'a Expression,
        env: &Env<'a>,
        place: SourcePosition,
    ) -> Eval<ProcId> {
        let mut operands = Vec::new();
        let mut alphabets = Vec::new();
        self.for_each_binding(statements, env, &mut |this, env| {
            if let ReplicatedOp::Alphabetised(alphabet) = operator {
                alphabets.push(this.events(alphabet, env)?);
            }
            operands.push(this.process(body, env)?);
            Ok(())
        })?;
        match operator {
            ReplicatedOp::Chain(chain) => self.chain(*chain, operands, place),
            ReplicatedOp::Shared(set) => {
                let set = self.events(set, env)?;
                Ok(self.model.parallel(set, operands))
            }
            ReplicatedOp::Alphabetised(_) => Ok(self.model.alphabetised(alphabets.into_iter().zip(operands))),
        }
    }

    /// A channel on either side stands for all of its events: `a <- b` renames `a.x` to `b.x`.
    fn renaming(
        &mut self,
        pairs: &'a [(Expression, Expression)],
        statements: &'a [Statement],
        env: &Env<'a>,
    ) -> Eval<Vec<(EventId, EventId)>> {
        let mut all = Vec::new();
        self.for_each_binding(statements, env, &mut |this, env| {
            for (from, to) in pairs {
                let (from_place, to_place) = (from.place, to.place);
                let (from, to) = (this.value(from, env)?, this.value(to, env)?);
                let mut rests: Vec<Option<Value>> = this.extensions(&from, from_place)?.into_iter().map(Some).collect();
                if rests.is_empty() {
                    rests.push(None);
                }
                for rest in rests {
                    let extended = |value: &Value| Value::dot([value.clone()].into_iter().chain(rest.clone()));
                    let pair = (this.event(&extended(&from), from_place)?, this.event(&extended(&to), to_place)?);
                    all.push(pair);
                }
            }
            Ok(())
        })?;
        Ok(all)
    }
}

fn as_process(value: Value, place: SourcePosition) -> Eval<ProcId> {
    match value {
        Value::Process(process) => Ok(process),
        other => error(place, format!("expected a process, found {}: {other}", other.kind())),
    }
}
