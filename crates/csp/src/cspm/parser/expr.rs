//! Expressions.

use super::{DEPTH_LIMIT, HEIGHT_LIMIT, Parser};
use crate::cspm::ast::{
    BinaryOp, Bracket, ChainOp, Communication, Definition, Expression, ExpressionKind, Field, ReplicatedOp, Statement,
    UnaryOp,
};
use crate::cspm::level::{self, Level};
use crate::cspm::lexer::Token;
use crate::error::{SourceError, SourcePosition};

/// An operator that stands after its first operand.
#[derive(Clone, Copy, PartialEq)]
enum Infix {
    Binary(BinaryOp),
    Chain(ChainOp),
    /// `->`, `?`, `!`, `$`.
    Communicate,
    Dot,
    /// `[|`.
    Shared,
    /// `[`.
    Alphabetised,
    /// `(`.
    Call,
    /// `[[`.
    Rename,
}

impl Infix {
    fn level(self) -> Level {
        match self {
            Infix::Binary(operator) => level::of_binary(operator),
            Infix::Chain(operator) => level::of_chain(operator),
            Infix::Communicate => level::PREFIX,
            Infix::Dot => level::DOT,
            Infix::Shared | Infix::Alphabetised => level::PARALLEL,
            Infix::Call | Infix::Rename => level::POSTFIX,
        }
    }
}

type Parsed<T = Expression> = Result<T, SourceError>;

impl Parser {
    /// An expression whose operators bind at least as tightly as `least`.
    pub(super) fn expression(&mut self, least: Level) -> Parsed {
        let place = self.place();
        let outer = std::mem::take(&mut self.height);
        self.depth += 1;
        if self.depth > DEPTH_LIMIT {
            return Err(SourceError::new(place, "expressions are nested too deeply"));
        }
        let mut left = self.operand()?;
        // The operator that `left` was just built with: only then does a further one continue the
        // same list.
        let mut last = None;
        while let Some(infix) = self.peek_infix().filter(|infix| infix.level() >= least) {
            left = self.infix(left, infix, last == Some(infix))?;
            last = Some(infix);
        }
        self.depth -= 1;
        self.height = self.height.max(outer);
        Ok(left)
    }

    /// An expression inside brackets, where `>` compares again.
    fn bracketed(&mut self) -> Parsed {
        let outside = std::mem::replace(&mut self.in_sequence, false);
        let inner = self.expression(level::OPEN);
        self.in_sequence = outside;
        inner
    }

    fn node(&mut self, kind: ExpressionKind, place: SourcePosition) -> Parsed {
        self.height += 1;
        if self.height > HEIGHT_LIMIT {
            return Err(SourceError::new(place, "the expression is nested too deeply"));
        }
        Ok(Expression { kind, place })
    }

    fn peek_infix(&self) -> Option<Infix> {
        let Token::Symbol(symbol) = self.peek() else {
            return None;
        };
        // These begin an expression as well, and at the beginning of a line they do.
        if self.first_of_line() && matches!(*symbol, "(" | "-" | "<") {
            return None;
        }
        Some(match *symbol {
            "->" | "?" | "!" | "$" => Infix::Communicate,
            "." => Infix::Dot,
            "[|" => Infix::Shared,
            "[" => Infix::Alphabetised,
            "(" => Infix::Call,
            "[[" => Infix::Rename,
            "[]" => Infix::Chain(ChainOp::External),
            "|~|" => Infix::Chain(ChainOp::Internal),
            "|||" => Infix::Chain(ChainOp::Interleave),
            ";" => Infix::Chain(ChainOp::Sequential),
            ">" if self.in_sequence => return None,
            symbol => Infix::Binary(binary(symbol)?),
        })
    }

    fn infix(&mut self, left: Expression, infix: Infix, continues: bool) -> Parsed {
        let place = self.place();
        let left = Box::new(left);
        match infix {
            Infix::Communicate => return self.prefix(*left, place),
            Infix::Dot => return self.dots(*left),
            _ => self.advance(),
        }
        let kind = match infix {
            Infix::Binary(operator) => {
                if continues && level::is_comparison(operator) {
                    return Err(SourceError::new(place, "comparisons cannot be chained"));
                }
                let right = Box::new(self.expression(right_level(operator))?);
                ExpressionKind::Binary(operator, left, right)
            }
            Infix::Chain(operator) => {
                let right = self.expression(infix.level() + 1)?;
                return self.chain(operator, *left, right, continues, place);
            }
            Infix::Shared => {
                let set = Box::new(self.bracketed()?);
                let exception = self.accept("|>");
                if !exception {
                    self.expect("|]", "after the set of shared events")?;
                }
                let right = Box::new(self.expression(level::PARALLEL + 1)?);
                match exception {
                    true => ExpressionKind::Exception(left, set, right),
                    false => ExpressionKind::Shared(left, set, right),
                }
            }
            Infix::Alphabetised => {
                let left_set = Box::new(self.bracketed()?);
                self.expect("||", "between the two alphabets")?;
                let right_set = Box::new(self.bracketed()?);
                self.expect("]", "after the two alphabets")?;
                let right = Box::new(self.expression(level::PARALLEL + 1)?);
                ExpressionKind::Alphabetised(left, left_set, right_set, right)
            }
            Infix::Call => {
                let arguments = match self.is(")") {
                    true => Vec::new(),
                    false => self.separated(Parser::bracketed)?,
                };
                self.expect(")", "after the arguments")?;
                ExpressionKind::Call(left, arguments)
            }
            Infix::Rename => {
                let pairs = self.separated(|parser| {
                    let from = parser.bracketed()?;
                    parser.expect("<-", "in a renaming")?;
                    Ok((from, parser.bracketed()?))
                })?;
                let statements = match self.accept("|") {
                    true => self.statements()?,
                    false => Vec::new(),
                };
                self.expect("]]", "after the renaming")?;
                ExpressionKind::Rename(left, pairs, statements)
            }
            Infix::Communicate | Infix::Dot => unreachable!("returned above"),
        };
        self.node(kind, place)
    }

    fn chain(
        &mut self,
        operator: ChainOp,
        left: Expression,
        right: Expression,
        continues: bool,
        place: SourcePosition,
    ) -> Parsed {
        match left.kind {
            ExpressionKind::Chain(same, mut operands) if continues && same == operator => {
                operands.push(right);
                Ok(Expression { kind: ExpressionKind::Chain(operator, operands), place: left.place })
            }
            _ => self.node(ExpressionKind::Chain(operator, vec![left, right]), place),
        }
    }

    /// An event is where its channel is, not where its first dot is.
    fn dots(&mut self, first: Expression) -> Parsed {
        let place = first.place;
        let mut parts = vec![first];
        while self.accept(".") {
            parts.push(self.expression(level::FIELD)?);
        }
        self.node(ExpressionKind::Dot(parts), place)
    }

    /// `a -> b?x -> P`, from the first arrow or field on. A loop, because generated prefixes are
    /// long.
    fn prefix(&mut self, channel: Expression, place: SourcePosition) -> Parsed {
        let mut steps = Vec::new();
        let mut channel = channel;
        loop {
            let fields = self.fields()?;
            self.expect("->", "after the event")?;
            steps.push(Communication { channel, fields });
            let next = self.expression(level::PREFIX + 1)?;
            let guard = self.is("&");
            if guard || !matches!(self.peek_infix(), Some(Infix::Communicate)) {
                let body = match guard {
                    true => self.infix(next, Infix::Binary(BinaryOp::Guard), false)?,
                    false => next,
                };
                return self.node(ExpressionKind::Prefix(steps, Box::new(body)), place);
            }
            channel = next;
        }
    }

    fn fields(&mut self) -> Parsed<Vec<Field>> {
        let mut fields = Vec::new();
        loop {
            if self.accept("!") {
                fields.push(Field::Output(self.expression(level::DOT)?));
                continue;
            }
            let chooses = self.is("$");
            if !chooses && !self.is("?") {
                return Ok(fields);
            }
            self.advance();
            let pattern = self.pattern()?;
            let from = match self.accept(":") {
                true => Some(self.expression(level::FIELD)?),
                false => None,
            };
            fields.push(if chooses { Field::Choice(pattern, from) } else { Field::Input(pattern, from) });
        }
    }

    fn operand(&mut self) -> Parsed {
        let place = self.place();
        let kind = match self.peek().clone() {
            Token::Int(number) => {
                self.advance();
                ExpressionKind::Int(number)
            }
            Token::Name(name) => {
                self.advance();
                ExpressionKind::Name(name)
            }
            Token::Symbol(symbol) => return self.symbol_operand(symbol, place),
            _ => return Err(self.unexpected("an expression")),
        };
        self.node(kind, place)
    }

    fn symbol_operand(&mut self, symbol: &'static str, place: SourcePosition) -> Parsed {
        let kind = match symbol {
            "true" | "false" => {
                self.advance();
                ExpressionKind::Bool(symbol == "true")
            }
            "-" => self.unary(UnaryOp::Negate)?,
            "not" => self.unary(UnaryOp::Not)?,
            "#" => self.unary(UnaryOp::Length)?,
            "(" => {
                self.advance();
                let mut parts = self.separated(Parser::bracketed)?;
                self.expect(")", "to close the parenthesis")?;
                if parts.len() == 1 {
                    return Ok(parts.swap_remove(0));
                }
                ExpressionKind::Tuple(parts)
            }
            "<" => self.list(Bracket::Sequence, ">")?,
            "{" => self.list(Bracket::Set, "}")?,
            "{|" => self.list(Bracket::Productions, "|}")?,
            "if" => self.conditional()?,
            "let" => self.let_within()?,
            "\\" => {
                self.advance();
                let parameters = self.separated(Parser::pattern)?;
                self.expect("@", "after the parameters of the function")?;
                ExpressionKind::Lambda(parameters, Box::new(self.expression(level::OPEN)?))
            }
            "[]" | "|~|" | "|||" | ";" | "||" | "[|" => self.replicated(symbol)?,
            _ => return Err(self.unexpected("an expression")),
        };
        self.node(kind, place)
    }

    fn unary(&mut self, operator: UnaryOp) -> Parsed<ExpressionKind> {
        self.advance();
        let own = level::of_unary(operator);
        // `not not a` and `# #a` make sense; `- -a` does not lex apart from a comment without its
        // space.
        let operand = self.expression(if operator == UnaryOp::Negate { own + 1 } else { own })?;
        Ok(ExpressionKind::Unary(operator, Box::new(operand)))
    }

    fn list(&mut self, bracket: Bracket, close: &str) -> Parsed<ExpressionKind> {
        self.advance();
        if self.accept(close) {
            return Ok(ExpressionKind::List(bracket, Vec::new()));
        }
        let outside = std::mem::replace(&mut self.in_sequence, bracket == Bracket::Sequence);
        let elements = self.separated(|parser| parser.expression(level::OPEN))?;
        let kind = if elements.len() == 1 && bracket != Bracket::Productions && self.accept("..") {
            let [first] = <[Expression; 1]>::try_from(elements).expect("has one element");
            if self.is(close) {
                return Err(SourceError::new(self.place(), "ranges without an end are not supported"));
            }
            let last = self.expression(level::OPEN)?;
            ExpressionKind::Range(bracket, Box::new(first), Box::new(last))
        } else if self.accept("|") {
            ExpressionKind::Comprehension(bracket, elements, self.statements()?)
        } else {
            ExpressionKind::List(bracket, elements)
        };
        self.in_sequence = outside;
        self.expect(close, "to close the list")?;
        Ok(kind)
    }

    fn conditional(&mut self) -> Parsed<ExpressionKind> {
        self.advance();
        let condition = Box::new(self.bracketed()?);
        self.expect("then", "after the condition")?;
        let yes = Box::new(self.bracketed()?);
        self.expect("else", "after the first branch")?;
        Ok(ExpressionKind::If(condition, yes, Box::new(self.expression(level::OPEN)?)))
    }

    fn let_within(&mut self) -> Parsed<ExpressionKind> {
        self.advance();
        let outside = std::mem::replace(&mut self.in_sequence, false);
        let mut definitions: Vec<Definition> = vec![self.definition()?];
        while !self.is("within") {
            definitions.push(self.definition()?);
        }
        self.in_sequence = outside;
        self.advance();
        Ok(ExpressionKind::Let(definitions, Box::new(self.expression(level::OPEN)?)))
    }

    fn replicated(&mut self, symbol: &str) -> Parsed<ExpressionKind> {
        self.advance();
        let shared = match symbol {
            "[|" => {
                let set = self.bracketed()?;
                self.expect("|]", "after the set of shared events")?;
                Some(Box::new(set))
            }
            _ => None,
        };
        let statements = self.statements()?;
        self.expect("@", "after the variables of the operator")?;
        let operator = match (symbol, shared) {
            (_, Some(set)) => ReplicatedOp::Shared(set),
            ("||", _) => {
                self.expect("[", "before the alphabet")?;
                let alphabet = self.bracketed()?;
                self.expect("]", "after the alphabet")?;
                ReplicatedOp::Alphabetised(Box::new(alphabet))
            }
            ("[]", _) => ReplicatedOp::Chain(ChainOp::External),
            ("|~|", _) => ReplicatedOp::Chain(ChainOp::Internal),
            ("|||", _) => ReplicatedOp::Chain(ChainOp::Interleave),
            _ => ReplicatedOp::Chain(ChainOp::Sequential),
        };
        // FDR lets the body of an alphabetised operator end at the first looser operator.
        let least = if symbol == "||" { level::PARALLEL + 1 } else { level::OPEN };
        Ok(ExpressionKind::Replicated(operator, statements, Box::new(self.expression(least)?)))
    }

    fn statements(&mut self) -> Parsed<Vec<Statement>> {
        self.separated(|parser| {
            // Only what follows tells a pattern from a condition.
            let (start, depth) = (parser.at, parser.depth);
            if let Ok(pattern) = parser.pattern()
                && (parser.accept("<-") || parser.accept(":"))
            {
                return Ok(Statement::Generator(pattern, parser.expression(level::OPEN)?));
            }
            (parser.at, parser.depth) = (start, depth);
            Ok(Statement::Condition(parser.expression(level::OPEN)?))
        })
    }
}

fn binary(symbol: &str) -> Option<BinaryOp> {
    Some(match symbol {
        "+" => BinaryOp::Add,
        "-" => BinaryOp::Subtract,
        "*" => BinaryOp::Multiply,
        "/" => BinaryOp::Divide,
        "%" => BinaryOp::Modulo,
        "==" => BinaryOp::Equal,
        "!=" => BinaryOp::NotEqual,
        "<" => BinaryOp::Less,
        "<=" => BinaryOp::LessEqual,
        ">" => BinaryOp::Greater,
        ">=" => BinaryOp::GreaterEqual,
        "and" => BinaryOp::And,
        "or" => BinaryOp::Or,
        "^" => BinaryOp::Concat,
        "&" => BinaryOp::Guard,
        "\\" => BinaryOp::Hide,
        "/\\" => BinaryOp::Interrupt,
        "[>" => BinaryOp::Sliding,
        _ => return None,
    })
}

/// What the right operand may be: only the guard associates to the right.
fn right_level(operator: BinaryOp) -> Level {
    match operator {
        BinaryOp::Guard => level::PREFIX,
        _ => level::of_binary(operator) + 1,
    }
}
