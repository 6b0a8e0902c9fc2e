//! How many random examples a test tries. Tests with a fixed set of examples do not ask.

/// Set by `./x test --more`.
pub const MORE: &str = "RADDLE_TEST_MORE";

/// `./x test` tries this part of the examples.
const PART: u64 = 3;
/// `./x test --more` tries so many times as many.
const MANY: u64 = 10;

/// Whether long tests are wanted.
#[must_use]
pub fn is_more() -> bool {
    std::env::var_os(MORE).is_some()
}

/// A count, ten times as large with `--more`: for tests that are cheap enough as they are.
#[must_use]
pub fn examples(count: u64) -> u64 {
    if is_more() { MANY * count } else { count }
}

/// A third of a count, or ten times the count with `--more`. For suites whose examples are
/// expensive. Lower bounds on what the examples show are counts as well.
#[must_use]
pub fn sample(count: u64) -> u64 {
    if is_more() { MANY * count } else { count.div_ceil(PART) }
}
