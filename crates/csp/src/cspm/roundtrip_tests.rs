//! Printing and parsing are inverse: over random trees, and over text.

use proptest::prelude::*;
use raddle_testkit::effort::sample;

use super::ast::*;
use super::parse;
use crate::error::SourcePosition;
use crate::value::Name;

fn name() -> impl Strategy<Value = Name> {
    prop_oneof!["[a-zA-Z][a-zA-Z0-9_]{0,3}'?", Just("P".to_owned()), Just("x".to_owned())]
        .prop_filter("is a keyword", |word| !super::lexer::KEYWORDS.contains(&word.as_str()))
        .prop_map(Name::from)
}

fn pattern() -> impl Strategy<Value = Pattern> {
    let leaf = prop_oneof![
        Just(PatternKind::Any),
        name().prop_map(PatternKind::Name),
        (-5i64..5).prop_map(PatternKind::Int),
        any::<bool>().prop_map(PatternKind::Bool),
    ];
    let place = SourcePosition::default();
    leaf.prop_map(move |kind| Pattern { kind, place }).prop_recursive(2, 6, 3, move |inner| {
        let some = |least: usize| prop::collection::vec(inner.clone(), least..3.max(least + 1));
        prop_oneof![
            some(2).prop_map(PatternKind::Tuple),
            some(0).prop_map(PatternKind::Seq),
            prop::collection::vec(inner.clone(), 0..2).prop_map(PatternKind::Set),
            some(2).prop_map(PatternKind::Concat),
            some(2).prop_map(PatternKind::Dot),
        ]
        .prop_map(move |kind| Pattern { kind, place })
    })
}

fn binary_operator() -> impl Strategy<Value = BinaryOp> {
    prop::sample::select(vec![
        BinaryOp::Add,
        BinaryOp::Subtract,
        BinaryOp::Multiply,
        BinaryOp::Divide,
        BinaryOp::Modulo,
        BinaryOp::Equal,
        BinaryOp::NotEqual,
        BinaryOp::Less,
        BinaryOp::LessEqual,
        BinaryOp::Greater,
        BinaryOp::GreaterEqual,
        BinaryOp::And,
        BinaryOp::Or,
        BinaryOp::Concat,
        BinaryOp::Guard,
        BinaryOp::Hide,
        BinaryOp::Interrupt,
        BinaryOp::Sliding,
    ])
}

fn chain_operator() -> impl Strategy<Value = ChainOp> {
    prop::sample::select(vec![ChainOp::External, ChainOp::Internal, ChainOp::Interleave, ChainOp::Sequential])
}

fn statements(inner: BoxedStrategy<Expression>) -> impl Strategy<Value = Vec<Statement>> {
    let statement = prop_oneof![
        3 => (pattern(), inner.clone()).prop_map(|(pattern, from)| Statement::Generator(pattern, from)),
        1 => inner.prop_map(Statement::Condition),
    ];
    prop::collection::vec(statement, 1..3)
}

fn definitions(inner: BoxedStrategy<Expression>) -> impl Strategy<Value = Vec<Definition>> {
    let parameters = prop::option::of(prop::collection::vec(pattern(), 0..3));
    let definition = (name(), parameters, inner).prop_map(|(name, parameters, body)| Definition {
        name,
        parameters,
        body,
        place: SourcePosition::default(),
    });
    prop::collection::vec(definition, 1..3)
}

fn communications(inner: BoxedStrategy<Expression>) -> impl Strategy<Value = Vec<Communication>> {
    let from = prop::option::of(inner.clone());
    let field = prop_oneof![
        inner.clone().prop_map(Field::Output),
        (pattern(), from.clone()).prop_map(|(pattern, from)| Field::Input(pattern, from)),
        (pattern(), from).prop_map(|(pattern, from)| Field::Choice(pattern, from)),
    ];
    let step =
        (inner, prop::collection::vec(field, 0..3)).prop_map(|(channel, fields)| Communication { channel, fields });
    prop::collection::vec(step, 1..3)
}

fn data(inner: BoxedStrategy<Expression>) -> BoxedStrategy<ExpressionKind> {
    let one = inner.clone().prop_map(Box::new).boxed();
    let some = |least: usize| prop::collection::vec(inner.clone(), least..3.max(least + 1));
    let bracket = prop::sample::select(vec![Bracket::Sequence, Bracket::Set, Bracket::Productions]);
    let ordered = prop::sample::select(vec![Bracket::Sequence, Bracket::Set]);
    prop_oneof![
        (one.clone(), some(0)).prop_map(|(function, arguments)| ExpressionKind::Call(function, arguments)),
        some(2).prop_map(ExpressionKind::Tuple),
        (bracket.clone(), some(0)).prop_map(|(bracket, list)| ExpressionKind::List(bracket, list)),
        (ordered, one.clone(), one).prop_map(|(bracket, first, last)| ExpressionKind::Range(bracket, first, last)),
        (bracket, some(1), statements(inner.clone()))
            .prop_map(|(bracket, list, from)| ExpressionKind::Comprehension(bracket, list, from)),
        some(2).prop_map(ExpressionKind::Dot),
    ]
    .boxed()
}

fn operators(inner: BoxedStrategy<Expression>) -> BoxedStrategy<ExpressionKind> {
    let one = inner.clone().prop_map(Box::new).boxed();
    let unary = prop::sample::select(vec![UnaryOp::Negate, UnaryOp::Not, UnaryOp::Length]);
    prop_oneof![
        (unary, one.clone()).prop_map(|(operator, operand)| ExpressionKind::Unary(operator, operand)),
        (binary_operator(), one.clone(), one.clone())
            .prop_map(|(operator, left, right)| ExpressionKind::Binary(operator, left, right)),
        (one.clone(), one.clone(), one.clone()).prop_map(|(condition, yes, no)| ExpressionKind::If(condition, yes, no)),
        (definitions(inner.clone()), one.clone()).prop_map(|(list, body)| ExpressionKind::Let(list, body)),
        (prop::collection::vec(pattern(), 1..3), one).prop_map(|(list, body)| ExpressionKind::Lambda(list, body)),
    ]
    .boxed()
}

fn processes(inner: BoxedStrategy<Expression>) -> BoxedStrategy<ExpressionKind> {
    let one = inner.clone().prop_map(Box::new).boxed();
    let some = |least: usize| prop::collection::vec(inner.clone(), least..3.max(least + 1));
    let pairs = prop::collection::vec((inner.clone(), inner.clone()), 1..3);
    let optional = prop_oneof![Just(Vec::new()), statements(inner.clone())];
    let replicated = prop_oneof![
        chain_operator().prop_map(ReplicatedOp::Chain),
        one.clone().prop_map(ReplicatedOp::Shared),
        one.clone().prop_map(ReplicatedOp::Alphabetised),
    ];
    let three = || (one.clone(), one.clone(), one.clone());
    prop_oneof![
        2 => (communications(inner.clone()), one.clone()).prop_map(|(steps, body)| ExpressionKind::Prefix(steps, body)),
        2 => (chain_operator(), some(2)).prop_map(|(operator, operands)| ExpressionKind::Chain(operator, operands)),
        1 => three().prop_map(|(left, set, right)| ExpressionKind::Shared(left, set, right)),
        1 => three().prop_map(|(left, set, right)| ExpressionKind::Exception(left, set, right)),
        1 => (three(), one.clone()).prop_map(|((left, first, second), right)| {
            ExpressionKind::Alphabetised(left, first, second, right)
        }),
        1 => (one.clone(), pairs, optional)
            .prop_map(|(process, pairs, from)| ExpressionKind::Rename(process, pairs, from)),
        2 => (replicated, statements(inner.clone()), one)
            .prop_map(|(operator, from, body)| ExpressionKind::Replicated(operator, from, body)),
    ]
    .boxed()
}

fn expression() -> BoxedStrategy<Expression> {
    let leaf = prop_oneof![
        (0i64..100).prop_map(ExpressionKind::Int),
        any::<bool>().prop_map(ExpressionKind::Bool),
        name().prop_map(ExpressionKind::Name),
    ];
    leaf.prop_map(Expression::new)
        .prop_recursive(4, 24, 3, |inner| {
            let inner = inner.boxed();
            prop_oneof![data(inner.clone()), operators(inner.clone()), processes(inner)].prop_map(Expression::new)
        })
        .boxed()
}

fn script() -> impl Strategy<Value = Script> {
    let names = || prop::collection::vec(name(), 1..3);
    // A lone dotted type is its fields, so a single field never is one.
    let fields = |least: usize| {
        prop::collection::vec(expression(), least..3).prop_filter("one dotted field", |list| {
            !matches!(list[..], [Expression { kind: ExpressionKind::Dot(_), .. }])
        })
    };
    let constructor = (name(), fields(0)).prop_map(|(name, fields)| Constructor { name, fields });
    let claim = prop_oneof![
        (expression(), expression()).prop_map(|(first, second)| Claim::TraceRefinement(first, second)),
        expression().prop_map(Claim::DeadlockFree),
        expression().prop_map(Claim::DivergenceFree),
    ];
    let kind = prop_oneof![
        (names(), fields(0)).prop_map(|(names, fields)| DeclarationKind::Channel(names, fields)),
        (name(), prop::collection::vec(constructor, 1..3))
            .prop_map(|(name, list)| DeclarationKind::Datatype(name, list)),
        (name(), expression()).prop_map(|(name, of)| DeclarationKind::Nametype(name, of)),
        names().prop_map(DeclarationKind::Transparent),
        definitions(expression()).prop_map(|mut list| DeclarationKind::Definition(list.swap_remove(0))),
        (any::<bool>(), claim).prop_map(|(negated, claim)| DeclarationKind::Assert(Assertion { negated, claim })),
    ];
    let place = SourcePosition::default();
    prop::collection::vec(kind.prop_map(move |kind| Declaration { kind, place }), 0..4)
        .prop_map(|declarations| Script { declarations })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(sample(2000) as u32))]

    #[test]
    fn a_printed_tree_parses_to_itself(script in script()) {
        let text = script.to_string();
        match parse(&text) {
            Ok(back) => prop_assert_eq!(back, script, "\n{}", text),
            Err(error) => prop_assert!(false, "{}\n{}", error, text),
        }
    }

    /// Whatever the text is, the parser answers.
    #[test]
    fn no_text_breaks_the_parser(pieces in prop::collection::vec(piece(), 0..30)) {
        let text = pieces.join(" ");
        if let Ok(script) = parse(&text) {
            let printed = script.to_string();
            prop_assert_eq!(parse(&printed).map_err(|error| error.to_string()), Ok(script), "\n{}", printed);
        }
    }
}

fn piece() -> impl Strategy<Value = String> {
    let symbols: Vec<String> =
        super::lexer::OPERATORS.iter().chain(super::lexer::KEYWORDS).map(ToString::to_string).collect();
    prop_oneof![
        3 => prop::sample::select(symbols),
        3 => prop::sample::select(vec!["P", "x", "1", "= P", "x = 1", "\n"]).prop_map(str::to_owned),
        1 => "\\PC{0,3}",
    ]
}

#[test]
fn a_long_model_is_flat() {
    let events = vec!["a"; 50_000].join(" -> ");
    let chain = vec!["P"; 50_000].join(" ||| ");
    let source = format!("channel a\nP = {events} -> STOP\nQ = {chain}\n");
    let script = parse(&source).expect("parses");
    assert_eq!(parse(&script.to_string()).expect("parses again"), script);
}

#[test]
fn nesting_is_refused_before_the_stack_ends() {
    for text in [
        format!("x = {}1{}", "(".repeat(100_000), ")".repeat(100_000)),
        format!("x = 1{}", " + 1".repeat(100_000)),
        format!("x = {}1", "- ".repeat(100_000)),
        format!("x = {}", "if true then 1 else ".repeat(100_000)),
        format!("f({}y) = 1", "<".repeat(100_000)),
        format!("x = f{}", "(1)".repeat(100_000)),
    ] {
        let error = parse(&text).expect_err("too deep").to_string();
        assert!(error.contains("nested too deeply"), "{error}");
    }
}

#[test]
fn syntax_errors_name_line_and_column() {
    let error = |source: &str| parse(source).expect_err("is malformed").to_string();
    assert_eq!(error("P = a ->"), "1:9: expected an expression, found the end of the file");
    assert_eq!(error("P = (a -> STOP\nQ = STOP"), "2:1: expected `)` to close the parenthesis, found `Q`");
    assert_eq!(error("channel\n"), "2:1: expected the name of a channel, found the end of the file");
    assert_eq!(error("P = STOP\nassert P [F= P"), "2:10: refinement in the model F is not supported, only `[T=`");
    assert_eq!(error("assert P :[deterministic]"), "1:10: the property `deterministic` is not supported");
    assert_eq!(error("include \"x\""), "1:9: strings, and so `include`, are not supported");
    assert_eq!(error("x = 1 == 2 == 3"), "1:12: comparisons cannot be chained");
    assert_eq!(error("x = {1..}"), "1:9: ranges without an end are not supported");
    assert_eq!(error("P = [] x:S P"), "1:12: expected `@` after the variables of the operator, found `P`");
}
