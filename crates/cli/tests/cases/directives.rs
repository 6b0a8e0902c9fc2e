//! The directives at the top of a case.

use libtest_mimic::Trial;

/// What a file says about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Case {
    pub compilers: Vec<String>,
    pub runs: Vec<Run>,
}

/// One run and what is expected of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// Options of `raddle check`.
    pub options: Vec<String>,
    /// Flags of the compiler.
    pub flags: Vec<String>,
    /// Arguments of the program.
    pub args: Vec<String>,
    pub verdict: String,
    pub executions: Option<u64>,
    pub blocked: Option<u64>,
    /// All runs of the search, at most.
    pub most_runs: Option<u64>,
    /// It takes long: made only if more is asked for.
    pub long: bool,
    pub exit: Option<i32>,
    pub findings: Vec<Expected>,
    pub count: Count,
    /// Findings that follow from no other one.
    pub groups: Option<usize>,
}

/// How many findings there may be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Count {
    /// Only expected ones.
    #[default]
    Listed,
    /// Others as well.
    AtLeast,
    /// Only expected ones, and so many.
    Exactly(usize),
}

/// A finding that a case expects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expected {
    pub kind: String,
    pub detail: Option<String>,
    pub variable: Option<String>,
    pub line: Option<u64>,
    pub line2: Option<u64>,
    pub severity: Option<String>,
}

impl Case {
    /// Reads the first lines of a file, up to the first that is no directive.
    pub fn parse(text: &str) -> Result<Case, String> {
        let mut case = Case { compilers: vec!["gcc".into()], runs: Vec::new() };
        let mut common = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let Some((key, value)) = directive(line) else { break };
            let wrong = |what: &str| format!("line {}: {what}", number + 1);
            match (key, case.runs.last_mut()) {
                ("check", _) => {
                    case.runs.push(Run { options: words(value), flags: common.clone(), ..Run::default() });
                }
                ("compilers", None) => case.compilers = words(value),
                ("flags", None) => common.extend(words(value)),
                (_, None) => return Err(wrong("a directive of a run before the first `check:`")),
                (key, Some(run)) => run.directive(key, value).map_err(|what| wrong(&what))?,
            }
        }
        match case.runs.iter().find(|run| run.verdict.is_empty()) {
            _ if case.runs.is_empty() => Err("there is no `check:`".into()),
            Some(run) => Err(format!("the run {:?} has no verdict", run.options)),
            None => Ok(case),
        }
    }
}

impl Run {
    /// Whether it says how many executions there are.
    pub fn has_counts(&self) -> bool {
        self.executions.is_some() || self.blocked.is_some()
    }

    /// Whether the option is among those of `raddle check`.
    pub fn has_option(&self, option: &str) -> bool {
        self.options.iter().any(|given| given == option)
    }

    /// Whether the memory model is a weak one, which has one search of its own.
    pub fn is_weak(&self) -> bool {
        self.options.iter().any(|given| given == "tso" || given == "rc11")
    }

    /// The same with more options.
    pub fn with_options(&self, more: [&str; 2]) -> Run {
        Run { options: self.options.iter().cloned().chain(more.map(String::from)).collect(), ..self.clone() }
    }

    /// The same without a word about executions.
    pub fn without_counts(&self) -> Run {
        Run { executions: None, blocked: None, ..self.clone() }
    }

    fn directive(&mut self, key: &str, value: &str) -> Result<(), String> {
        match key {
            "flags" => self.flags.extend(words(value)),
            "args" => self.args = words(value),
            "verdict" if matches!(value, "verified" | "bug" | "incomplete") => self.verdict = value.into(),
            "executions" => self.executions = Some(parsed(value)?),
            "blocked" => self.blocked = Some(parsed(value)?),
            "most-runs" => self.most_runs = Some(parsed(value)?),
            "long" if value.is_empty() => self.long = true,
            "exit" => self.exit = Some(parsed(value)?),
            "finding" => self.findings.push(Expected::parse(value)?),
            "findings" if value == "at-least" => self.count = Count::AtLeast,
            "findings" => self.count = Count::Exactly(parsed(value)?),
            "groups" => self.groups = Some(parsed(value)?),
            _ => return Err(format!("`{key}: {value}` means nothing here")),
        }
        Ok(())
    }
}

impl Expected {
    fn parse(text: &str) -> Result<Self, String> {
        let mut words = text.split_whitespace();
        let mut expected = Expected { kind: words.next().ok_or("no kind")?.into(), ..Expected::default() };
        for word in words {
            let (key, value) = word.split_once('=').ok_or_else(|| format!("`{word}` has no `=`"))?;
            match key {
                "detail" => expected.detail = Some(value.into()),
                "var" => expected.variable = Some(value.into()),
                "line" => expected.line = Some(parsed(value)?),
                "line2" => expected.line2 = Some(parsed(value)?),
                "severity" => expected.severity = Some(value.into()),
                _ => return Err(format!("`{key}` is nothing that a finding has")),
            }
        }
        Ok(expected)
    }
}

/// `// key: value`.
fn directive(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.strip_prefix("// ")?.split_once(':')?;
    let is_key = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_lowercase());
    let is_value = value.is_empty() || value.starts_with(' ');
    (is_key && is_value).then(|| (key, value.trim()))
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(String::from).collect()
}

fn parsed<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("`{text}` is no number"))
}

/// Tests of the reader itself.
pub fn self_tests() -> Vec<Trial> {
    let reads = || {
        let text = "// compilers: gcc clang\n// flags: -DA\n// check:\n// verdict: verified\n// executions: 3\n\
                    // check: --strategy dpor\n// flags: -DB\n// verdict: bug\n\
                    // finding: data-race var=x line=3 line2=4\n\
                    // findings: 2\n// groups: 1\n\n// exit: 7\n";
        let case = Case::parse(text)?;
        assert_eq!(case.compilers, ["gcc", "clang"]);
        assert_eq!(case.runs[0].executions, Some(3));
        assert_eq!(case.runs[0].flags, ["-DA"]);
        assert_eq!(
            (&case.runs[1].options[..], &case.runs[1].flags[..]),
            (&words("--strategy dpor")[..], &words("-DA -DB")[..])
        );
        let finding = &case.runs[1].findings[0];
        assert_eq!((finding.variable.as_deref(), finding.line, finding.line2), (Some("x"), Some(3), Some(4)));
        assert_eq!((case.runs[1].count, case.runs[1].exit), (Count::Exactly(2), None));
        assert_eq!((case.runs[0].groups, case.runs[1].groups), (None, Some(1)));
        Ok(())
    };
    let refuses = || {
        for text in [
            "int main;",
            "// verdict: bug\n",
            "// check:\n",
            "// check:\n// verdict: maybe\n",
            "// check:\n// colour: red\n",
        ] {
            assert!(Case::parse(text).is_err(), "{text}");
        }
        Ok(())
    };
    vec![Trial::test("directives are read", reads), Trial::test("nonsense is refused", refuses)]
}
