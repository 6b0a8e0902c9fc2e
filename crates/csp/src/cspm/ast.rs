//! The syntax tree of a script.
//!
//! Chains that can be very long in generated models (prefixes, choices, interleavings) are lists
//! rather than nested nodes, so that the tree stays shallow. Parentheses are not kept: the printer
//! inserts them where they are needed. Source positions are not part of a node's identity: two
//! trees are equal if they have the same meaning.

use crate::error::SourcePosition;
use crate::value::Name;

/// An expression: data, a set, an event or a process.
#[derive(Clone, Debug)]
pub struct Expression {
    /// What it is.
    pub kind: ExpressionKind,
    /// Its position; for an operator, the position of the operator.
    pub place: SourcePosition,
}

impl PartialEq for Expression {
    fn eq(&self, other: &Expression) -> bool {
        self.kind == other.kind
    }
}

impl Expression {
    /// An expression without a position in a file.
    pub fn new(kind: ExpressionKind) -> Expression {
        Expression { kind, place: SourcePosition::default() }
    }

    /// The name `name`, without a position in a file.
    pub fn name(name: impl Into<Name>) -> Expression {
        Expression::new(ExpressionKind::Name(name.into()))
    }
}

/// What an [`Expression`] is.
#[derive(Clone, PartialEq, Debug)]
pub enum ExpressionKind {
    /// `12`; never negative.
    Int(i64),
    /// `true`, `false`.
    Bool(bool),
    /// A variable, definition, channel, constructor or built-in.
    Name(Name),
    /// `f(a, b)`.
    Call(Box<Expression>, Vec<Expression>),
    /// `(a, b)`; at least two.
    Tuple(Vec<Expression>),
    /// `<a, b>`, `{a, b}`, `{| a, b |}`.
    List(Bracket, Vec<Expression>),
    /// `<a..b>`, `{a..b}`.
    Range(Bracket, Box<Expression>, Box<Expression>),
    /// `<a | x <- s>`, `{a | x <- s}`, `{| a | x <- s |}`.
    Comprehension(Bracket, Vec<Expression>, Vec<Statement>),
    /// `a.b.c`; at least two.
    Dot(Vec<Expression>),
    /// `-a`, `not a`, `#a`.
    Unary(UnaryOp, Box<Expression>),
    /// `a + b`, `P \ A` and the like.
    Binary(BinaryOp, Box<Expression>, Box<Expression>),
    /// `if a then b else c`.
    If(Box<Expression>, Box<Expression>, Box<Expression>),
    /// `let definitions within a`.
    Let(Vec<Definition>, Box<Expression>),
    /// `\ x, y @ a`.
    Lambda(Vec<Pattern>, Box<Expression>),
    /// `a -> b?x -> P`; at least one communication.
    Prefix(Vec<Communication>, Box<Expression>),
    /// `P [] Q [] R`; at least two.
    Chain(ChainOp, Vec<Expression>),
    /// `P [| A |] Q`.
    Shared(Box<Expression>, Box<Expression>, Box<Expression>),
    /// `P [A || B] Q`: process, its alphabet, the other's alphabet, the other.
    Alphabetised(Box<Expression>, Box<Expression>, Box<Expression>, Box<Expression>),
    /// `P [| A |> Q`.
    Exception(Box<Expression>, Box<Expression>, Box<Expression>),
    /// `P [[ a <- b, c <- d | x <- s ]]`.
    Rename(Box<Expression>, Vec<(Expression, Expression)>, Vec<Statement>),
    /// `[] x:S @ P` and the like.
    Replicated(ReplicatedOp, Vec<Statement>, Box<Expression>),
}

/// What kind of list the brackets make.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bracket {
    /// `< >`.
    Sequence,
    /// `{ }`.
    Set,
    /// `{| |}`: all events that begin with one of the elements.
    Productions,
}

/// Operators with one operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnaryOp {
    /// `-`.
    Negate,
    /// `not`.
    Not,
    /// `#`, the length of a sequence.
    Length,
}

/// Operators with two operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BinaryOp {
    /// `+`.
    Add,
    /// `-`.
    Subtract,
    /// `*`.
    Multiply,
    /// `/`.
    Divide,
    /// `%`.
    Modulo,
    /// `==`.
    Equal,
    /// `!=`.
    NotEqual,
    /// `<`.
    Less,
    /// `<=`.
    LessEqual,
    /// `>`.
    Greater,
    /// `>=`.
    GreaterEqual,
    /// `and`.
    And,
    /// `or`.
    Or,
    /// `^`, concatenation of sequences.
    Concat,
    /// `b & P`.
    Guard,
    /// `P \ A`.
    Hide,
    /// `P /\ Q`.
    Interrupt,
    /// `P [> Q`.
    Sliding,
}

/// Associative process operators.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChainOp {
    /// `[]`.
    External,
    /// `|~|`.
    Internal,
    /// `|||`.
    Interleave,
    /// `;`.
    Sequential,
}

/// Operators over all values of some variables.
#[derive(Clone, PartialEq, Debug)]
pub enum ReplicatedOp {
    /// `[] x:S @ P`, `|~| x:S @ P`, `||| x:S @ P`, `; x:s @ P`.
    Chain(ChainOp),
    /// `[| A |] x:S @ P`.
    Shared(Box<Expression>),
    /// `|| x:S @ [A] P`.
    Alphabetised(Box<Expression>),
}

/// One communication of a prefix: `c!a?x:S`.
#[derive(Clone, PartialEq, Debug)]
pub struct Communication {
    /// The channel or the event, with any fields after dots.
    pub channel: Expression,
    /// The fields after `!`, `?` and `$`.
    pub fields: Vec<Field>,
}

/// A field of a communication.
#[derive(Clone, PartialEq, Debug)]
pub enum Field {
    /// `!a`.
    Output(Expression),
    /// `?x` or `?x:S`: the environment chooses.
    Input(Pattern, Option<Expression>),
    /// `$x` or `$x:S`: the process chooses.
    Choice(Pattern, Option<Expression>),
}

/// A part of a comprehension or of a replicated operator.
#[derive(Clone, PartialEq, Debug)]
pub enum Statement {
    /// `x <- S` or `x : S`.
    Generator(Pattern, Expression),
    /// A condition that must hold.
    Condition(Expression),
}

/// What a value is matched against.
#[derive(Clone, Debug)]
pub struct Pattern {
    /// What it is.
    pub kind: PatternKind,
    /// Where it stands.
    pub place: SourcePosition,
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Pattern) -> bool {
        self.kind == other.kind
    }
}

/// What a [`Pattern`] is.
#[derive(Clone, PartialEq, Debug)]
pub enum PatternKind {
    /// `_`.
    Any,
    /// A variable to bind, or a constructor or channel that must be met.
    Name(Name),
    /// A number that must be met.
    Int(i64),
    /// A truth value that must be met.
    Bool(bool),
    /// `(p, q)`; at least two.
    Tuple(Vec<Pattern>),
    /// `<p, q>`.
    Seq(Vec<Pattern>),
    /// `{}` or `{p}`.
    Set(Vec<Pattern>),
    /// `p ^ q`; at least two.
    Concat(Vec<Pattern>),
    /// `p.q`; at least two.
    Dot(Vec<Pattern>),
}

/// One clause of a definition: `f(x, 0) = a`. A function with several clauses is several of these
/// in a row.
#[derive(Clone, Debug)]
pub struct Definition {
    /// What is defined.
    pub name: Name,
    /// The parameters; `None` for a constant.
    pub parameters: Option<Vec<Pattern>>,
    /// What it is.
    pub body: Expression,
    /// Where it stands.
    pub place: SourcePosition,
}

impl PartialEq for Definition {
    fn eq(&self, other: &Definition) -> bool {
        (&self.name, &self.parameters, &self.body) == (&other.name, &other.parameters, &other.body)
    }
}

/// A constructor of a datatype: `A.T.U`.
#[derive(Clone, PartialEq, Debug)]
pub struct Constructor {
    /// Its name.
    pub name: Name,
    /// The sets its fields are taken from.
    pub fields: Vec<Expression>,
}

/// A declaration of a script.
#[derive(Clone, Debug)]
pub struct Declaration {
    /// What it is.
    pub kind: DeclarationKind,
    /// Where it stands.
    pub place: SourcePosition,
}

impl PartialEq for Declaration {
    fn eq(&self, other: &Declaration) -> bool {
        self.kind == other.kind
    }
}

/// What a [`Declaration`] is.
#[derive(Clone, PartialEq, Debug)]
pub enum DeclarationKind {
    /// `channel a, b : T.U`: names and the sets their fields are taken from.
    Channel(Vec<Name>, Vec<Expression>),
    /// `datatype D = A | B.T`.
    Datatype(Name, Vec<Constructor>),
    /// `nametype N = T`.
    Nametype(Name, Expression),
    /// `transparent normal, diamond`: compressions of FDR, which change no trace.
    Transparent(Vec<Name>),
    /// `f(x) = a`.
    Definition(Definition),
    /// `assert ...`.
    Assert(Assertion),
}

/// What an `assert` line claims.
#[derive(Clone, PartialEq, Debug)]
pub struct Assertion {
    /// Whether it says `not`.
    pub negated: bool,
    /// The claim.
    pub claim: Claim,
}

/// A property of processes.
#[derive(Clone, PartialEq, Debug)]
pub enum Claim {
    /// `S [T= P`.
    TraceRefinement(Expression, Expression),
    /// `P :[deadlock free]`.
    DeadlockFree(Expression),
    /// `P :[divergence free]`.
    DivergenceFree(Expression),
}

/// A whole file.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Script {
    /// Its declarations, in order.
    pub declarations: Vec<Declaration>,
}

impl UnaryOp {
    /// How it is written.
    pub fn symbol(self) -> &'static str {
        match self {
            UnaryOp::Negate => "-",
            UnaryOp::Not => "not",
            UnaryOp::Length => "#",
        }
    }
}

impl BinaryOp {
    /// How it is written.
    pub fn symbol(self) -> &'static str {
        match self {
            BinaryOp::Add => "+",
            BinaryOp::Subtract => "-",
            BinaryOp::Multiply => "*",
            BinaryOp::Divide => "/",
            BinaryOp::Modulo => "%",
            BinaryOp::Equal => "==",
            BinaryOp::NotEqual => "!=",
            BinaryOp::Less => "<",
            BinaryOp::LessEqual => "<=",
            BinaryOp::Greater => ">",
            BinaryOp::GreaterEqual => ">=",
            BinaryOp::And => "and",
            BinaryOp::Or => "or",
            BinaryOp::Concat => "^",
            BinaryOp::Guard => "&",
            BinaryOp::Hide => "\\",
            BinaryOp::Interrupt => "/\\",
            BinaryOp::Sliding => "[>",
        }
    }
}

impl ChainOp {
    /// How it is written.
    pub fn symbol(self) -> &'static str {
        match self {
            ChainOp::External => "[]",
            ChainOp::Internal => "|~|",
            ChainOp::Interleave => "|||",
            ChainOp::Sequential => ";",
        }
    }
}
