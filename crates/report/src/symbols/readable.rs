//! Names of C++ as people write them: without default template arguments, inline namespaces and
//! parameter lists.
//!
//! | demangled | readable |
//! |---|---|
//! | `std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >` | `std::string` |
//! | `std::map<int, A, std::less<int>, std::allocator<std::pair<int const, A> > >` | `std::map<int, A>` |
//! | `Pool::run(int)::{lambda(Job&)#1}::operator()(Job&) const` | `Pool::run::{lambda#1}::operator()` |
//!
//! A name that is not well formed stays as it is from the place on where it is not.

/// Says how a name is mangled.
const ABI_TAG: &str = "[abi:cxx11]";
/// Namespaces that no program names.
const INLINE: [&str; 3] = ["std::__cxx11::", "std::__1::", "std::__debug::"];
/// Templates that are written by another name if their first argument is `char`.
const ALIASES: [&str; 14] = [
    "string",
    "string_view",
    "ostream",
    "istream",
    "iostream",
    "stringstream",
    "istringstream",
    "ostringstream",
    "stringbuf",
    "streambuf",
    "fstream",
    "ifstream",
    "ofstream",
    "ios",
];
/// The usual last arguments of templates of the standard library, whatever the others are.
const ALWAYS: [&str; 2] = ["allocator", "char_traits"];
/// The same, if their own argument is the first one.
const OF_THE_FIRST: [&str; 4] = ["less", "equal_to", "hash", "default_delete"];
/// How deep arguments of templates may be nested; hostile names are deeper.
const DEEPEST: usize = 64;
/// What stands for arguments that are left out.
const ELIDED: &str = "<…>";

/// The name as people write it.
#[must_use]
pub fn readable(name: &str) -> String {
    let mut plain = name.replace(ABI_TAG, "");
    for namespace in INLINE {
        plain = plain.replace(namespace, "std::");
    }
    let mut reader = Reader { rest: &plain, depth: 0 };
    let mut text = reader.scope();
    text.push_str(reader.rest);
    text
}

/// The name with at most so many characters, if leaving arguments of templates out is enough for
/// that: the innermost ones go first.
#[must_use]
pub fn fitted(name: &str, most: usize) -> String {
    let mut text = name.to_owned();
    for depth in (1..=deepest(name)).rev() {
        if text.chars().count() <= most {
            break;
        }
        text = elided(name, depth);
    }
    text
}

/// How deep arguments of templates are nested.
fn deepest(name: &str) -> usize {
    let (mut depth, mut most) = (0usize, 0);
    for (_, bracket) in brackets(name) {
        depth = if bracket == '<' { depth + 1 } else { depth.saturating_sub(1) };
        most = most.max(depth);
    }
    most
}

/// The name without the arguments that are nested so deep.
fn elided(name: &str, level: usize) -> String {
    let (mut text, mut depth, mut at) = (String::new(), 0usize, 0);
    for (place, bracket) in brackets(name) {
        if bracket == '<' {
            depth += 1;
            if depth == level {
                text.push_str(&name[at..place]);
                text.push_str(ELIDED);
            }
        } else {
            if depth == level {
                at = place + 1;
            }
            depth = depth.saturating_sub(1);
        }
    }
    text.push_str(&name[at..]);
    text
}

/// The brackets of templates, but none of operators.
fn brackets(name: &str) -> impl Iterator<Item = (usize, char)> {
    let is_bracket = |(at, c): &(usize, char)| match c {
        '<' => !name[..*at].ends_with("operator") && !name[..*at].ends_with("operator<"),
        '>' => {
            let before = &name[..*at];
            !["operator", "operator>", "operator-", "-", "operator<="].iter().any(|end| before.ends_with(end))
        }
        _ => false,
    };
    name.char_indices().filter(is_bracket)
}

/// Reads a name from its front.
struct Reader<'a> {
    rest: &'a str,
    /// How many templates it is inside of.
    depth: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(bytes);
        self.rest = rest;
        taken
    }

    fn skip(&mut self, start: &str) -> bool {
        let found = self.rest.strip_prefix(start);
        self.rest = found.unwrap_or(self.rest);
        found.is_some()
    }

    /// A name or type, up to a comma or bracket that belongs to what is around it.
    fn scope(&mut self) -> String {
        let mut text = String::new();
        while let Some(next) = self.rest.chars().next() {
            match next {
                _ if self.operator(&mut text) => {}
                '<' if self.depth < DEEPEST => self.arguments(&mut text),
                '>' | ',' if self.depth > 0 => break,
                '(' => self.parentheses(&mut text),
                '{' => self.braces(&mut text),
                ')' | '}' | ']' if self.depth > 0 => break,
                _ => text.push_str(self.take(next.len_utf8())),
            }
        }
        text
    }

    /// The name of an operator, whose signs are no brackets.
    fn operator(&mut self, text: &mut String) -> bool {
        const SIGNS: [&str; 10] = ["()", "<<=", ">>=", "<=>", "<<", ">>", "<=", ">=", "->*", "->"];
        let starts_word = !text.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let Some(after) = self.rest.strip_prefix("operator").filter(|_| starts_word) else { return false };
        let signs = SIGNS.iter().find(|signs| after.starts_with(**signs)).map(|signs| signs.len());
        let one = after.starts_with(['<', '>']).then_some(1);
        let Some(signs) = signs.or(one) else { return false };
        text.push_str(self.take("operator".len() + signs));
        true
    }

    /// The arguments of a template, without those that are usual.
    fn arguments(&mut self, text: &mut String) {
        let whole = self.rest;
        self.take(1);
        self.depth += 1;
        let mut all = Vec::new();
        let closed = loop {
            all.push(self.scope().trim().to_owned());
            if self.skip(",") {
                continue;
            }
            break self.skip(">");
        };
        self.depth -= 1;
        if !closed {
            // Not well formed: it stays.
            text.push_str(whole);
            self.rest = "";
            return;
        }
        drop_usual(&mut all);
        let template = text.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or("").to_owned();
        let alias = template.strip_prefix("basic_").filter(|name| all == ["char"] && ALIASES.contains(name));
        match alias {
            Some(name) => {
                text.truncate(text.len() - template.len());
                if !text.ends_with("::") {
                    text.push_str("std::");
                }
                text.push_str(name);
            }
            None => {
                text.push('<');
                text.push_str(&all.join(", "));
                text.push('>');
            }
        }
    }

    /// A list of parameters, which is left out of a name and kept in a type; or a namespace without
    /// a name.
    fn parentheses(&mut self, text: &mut String) {
        if self.rest.starts_with("(anonymous namespace)") {
            text.push_str(self.take("(anonymous namespace)".len()));
            return;
        }
        let list = self.enclosed('(', ')');
        let is_list = text.ends_with(|c: char| c.is_alphanumeric() || "_>)}]<=+-*/!&|^~%,".contains(c));
        // In an argument of a template, only what a scope follows is a list of parameters.
        let is_function = self.rest.starts_with("::") || self.rest.starts_with(" const::");
        if (self.depth > 0 && !is_function) || !is_list {
            text.push_str(list);
            return;
        }
        while [" const", " volatile", " &&", " &", " noexcept"].iter().any(|word| self.skip(word)) {}
    }

    /// A function without a name, as `{lambda(int)#1}`: without its parameters.
    fn braces(&mut self, text: &mut String) {
        let whole = self.enclosed('{', '}');
        match (whole.find('('), whole.rfind(')')) {
            (Some(open), Some(close)) if open < close && whole.ends_with('}') => {
                text.push_str(&whole[..open]);
                text.push_str(&whole[close + 1..]);
            }
            _ => text.push_str(whole),
        }
    }

    /// Text up to the bracket that closes the first one, or to the end.
    fn enclosed(&mut self, open: char, close: char) -> &'a str {
        let mut depth = 0usize;
        for (at, c) in self.rest.char_indices() {
            if c == open {
                depth += 1;
            } else if c == close {
                depth -= 1;
                if depth == 0 {
                    return self.take(at + 1);
                }
            }
        }
        self.take(self.rest.len())
    }
}

/// Removes the last arguments as long as they are what a container has unless something else is
/// said.
fn drop_usual(all: &mut Vec<String>) {
    while all.len() > 1 {
        let (first, last) = (&all[0], &all[all.len() - 1]);
        let argument = |names: &[&str]| {
            let rest = last.strip_prefix("std::").unwrap_or(last).strip_suffix('>')?;
            let (name, argument) = rest.split_once('<')?;
            names.contains(&name).then_some(argument)
        };
        let is_usual = argument(&ALWAYS).is_some() || argument(&OF_THE_FIRST).is_some_and(|of| of == first);
        if !is_usual {
            return;
        }
        all.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STRING: &str = "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >";

    #[test]
    fn names_are_as_people_write_them() {
        let map = format!(
            "std::map<{STRING}, std::vector<int, std::allocator<int> >, std::less<{STRING} >, \
             std::allocator<std::pair<{STRING} const, std::vector<int, std::allocator<int> > > > >"
        );
        for (given, expected) in [
            (STRING, "std::string"),
            ("basic_string<char, std::char_traits<char>, std::allocator<char> >", "std::string"),
            (map.as_str(), "std::map<std::string, std::vector<int>>"),
            ("std::unique_ptr<A, std::default_delete<A> >::get() const", "std::unique_ptr<A>::get"),
            ("std::set<int, std::less<void>, std::allocator<int> >", "std::set<int, std::less<void>>"),
            ("std::basic_ostream<char, std::char_traits<char> >& std::endl", "std::ostream& std::endl"),
            ("bank::Account::deposit(int)", "bank::Account::deposit"),
            ("(anonymous namespace)::f(int)", "(anonymous namespace)::f"),
            ("Pool::run(int)::{lambda(Job&)#1}::operator()(Job&) const", "Pool::run::{lambda#1}::operator()"),
            ("main::{lambda()#1}::operator()() const", "main::{lambda#1}::operator()"),
            ("A::operator<(A const&) const", "A::operator<"),
            ("A::operator<< <int>(int)", "A::operator<< <int>"),
            ("A::operator()<int>(int)", "A::operator()<int>"),
            ("A::operator->() const", "A::operator->"),
            ("std::function<void (int)>::operator()(int) const", "std::function<void (int)>::operator()"),
            ("call<void (*)(int, char)>(void (*)(int, char))", "call<void (*)(int, char)>"),
            ("f<(A)1, 2ul>(int)", "f<(A)1, 2ul>"),
            ("Shard::get[abi:cxx11](int) const", "Shard::get"),
            ("each<Store::find(int const&) const::{lambda(int)#1}>(int)", "each<Store::find::{lambda#1}>"),
            ("deposit", "deposit"),
            ("operators(int)", "operators"),
            ("", ""),
        ] {
            assert_eq!(readable(given), expected, "{given}");
        }
    }

    #[test]
    fn broken_names_stay() {
        for name in ["a<b", "a<b,", "a<b<c>", ">", "a>b", "<", ",,", "operator", "a::operator<"] {
            assert_eq!(readable(name), name);
        }
        assert_eq!(readable("f(int"), "f");
        let deep = "a<".repeat(10_000);
        assert!(readable(&deep).len() <= deep.len());
        let closed = format!("{}{}", "a<".repeat(10_000), ">".repeat(10_000));
        assert!(readable(&closed).starts_with("a<a<"));
    }

    #[test]
    fn what_is_too_long_loses_inner_arguments_first() {
        let name = "net::Cache<std::string, std::map<int, std::vector<Account>>>::put<B>";
        assert_eq!(fitted(name, 80), name);
        assert_eq!(fitted(name, 65), "net::Cache<std::string, std::map<int, std::vector<…>>>::put<B>");
        assert_eq!(fitted(name, 50), "net::Cache<std::string, std::map<…>>::put<B>");
        assert_eq!(fitted(name, 20), "net::Cache<…>::put<…>");
        assert_eq!(fitted("a::operator<<", 3), "a::operator<<");
        assert_eq!(fitted("plain", 2), "plain");
    }
}
