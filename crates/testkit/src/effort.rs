//! How many random examples a test tries. Tests with a fixed set of examples do not ask.

/// Set by `./x test --more`. If it is a number above 1, it says how many times as many examples
/// there are.
pub const MORE: &str = "RADDLE_TEST_MORE";

/// `FROM..TO`: tests of random programs try these seeds in place of their own, all of them. To look
/// at a failure again, or for a campaign.
pub const SEEDS: &str = "RADDLE_TEST_SEEDS";

/// The seeds that were asked for.
///
/// # Panics
/// If what was asked for is no range.
#[must_use]
pub fn chosen_seeds() -> Option<std::ops::Range<u64>> {
    let said = std::env::var(SEEDS).ok()?;
    let range = said.split_once("..").and_then(|(from, to)| Some(from.parse().ok()?..to.parse().ok()?));
    Some(range.unwrap_or_else(|| panic!("{SEEDS} is no range FROM..TO: {said}")))
}

/// `./x test` tries this part of the examples.
const PART: u64 = 3;
/// `./x test --more` tries so many times as many.
const MANY: u64 = 10;

/// Whether long tests are wanted.
#[must_use]
pub fn is_more() -> bool {
    std::env::var_os(MORE).is_some()
}

/// How many times as many examples `--more` tries.
fn factor() -> u64 {
    let said = std::env::var(MORE).ok().and_then(|said| said.parse().ok());
    said.filter(|&factor| factor > 1).unwrap_or(MANY)
}

/// A count, ten times as large with `--more`: for tests that are cheap enough as they are.
#[must_use]
pub fn examples(count: u64) -> u64 {
    if is_more() { factor() * count } else { count }
}

/// A third of a count, or ten times the count with `--more`. For suites whose examples are
/// expensive. Lower bounds on what the examples show are counts as well.
#[must_use]
pub fn sample(count: u64) -> u64 {
    if is_more() { factor() * count } else { count.div_ceil(PART) }
}
