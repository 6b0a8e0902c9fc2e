//! Estimates of the size of a search, in words.

use raddle_model::Estimate;

use super::summary::grouped;

/// From here on numbers are written as powers of ten.
const LARGE: f64 = 1e7;

/// The number of runs of a whole search: a range, or a lower bound.
#[must_use]
pub fn estimated(estimate: &Estimate) -> String {
    let least = estimate.least.max(1.0);
    match estimate.most {
        None => format!("more than {}", power(least)),
        Some(most) => {
            let (low, high) = (rounded(least), rounded(most));
            if low == high { format!("about {low}") } else { format!("{low} to {high}") }
        }
    }
}

/// The power of ten below a number.
fn power(number: f64) -> String {
    match number.log10().floor() {
        exponent if exponent < 4.0 => rounded(number),
        exponent => format!("10^{exponent:.0}"),
    }
}

/// Two digits are all that an estimate is worth.
fn rounded(number: f64) -> String {
    let exponent = number.max(1.0).log10().floor();
    let unit = 10f64.powf((exponent - 1.0).max(0.0));
    let value = (number / unit).round() * unit;
    if value < LARGE { grouped(value as u64) } else { format!("{:.1}x10^{exponent:.0}", value / 10f64.powf(exponent)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_two_digits() {
        let words = |least, most| estimated(&Estimate { least, most });
        assert_eq!(words(123_456.0, Some(7_890_123.0)), "120 000 to 7 900 000");
        assert_eq!(words(5040.0, Some(5041.0)), "about 5 000");
        assert_eq!(words(2.34e8, Some(1.0e12)), "2.3x10^8 to 1.0x10^12");
        assert_eq!(words(7.0, Some(7.0)), "about 7");
        assert_eq!(words(3_456_789.0, None), "more than 10^6");
        assert_eq!(words(512.0, None), "more than 510");
    }
}
