//! How many runs a search will take.

use serde::{Deserialize, Serialize};

/// The number of runs of a whole search, as a range.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Hardly fewer.
    pub least: f64,
    /// Hardly more, if anything is known of that.
    pub most: Option<f64>,
}

/// The range around a single sample: the estimate is trusted to a factor.
const ONE_SAMPLE: f64 = 8.0;
/// The range around many samples that agree.
const MANY_SAMPLES: f64 = 1.5;

impl Estimate {
    /// At least so many.
    #[must_use]
    pub fn at_least(runs: f64) -> Self {
        Estimate { least: runs, most: None }
    }

    /// About so many, by a rule of thumb.
    #[must_use]
    pub fn guess(runs: f64) -> Self {
        Estimate { least: runs / ONE_SAMPLE, most: Some(runs * ONE_SAMPLE) }
    }

    /// From independent estimates whose mean is unbiased. The range is two standard errors of their
    /// logarithms: sizes of search trees differ by factors.
    #[must_use]
    pub fn of_samples(samples: &[f64]) -> Option<Self> {
        let count = samples.len() as f64;
        if samples.is_empty() {
            return None;
        }
        let mean = samples.iter().sum::<f64>() / count;
        let mean_log = samples.iter().map(|sample| sample.ln()).sum::<f64>() / count;
        let variance = samples.iter().map(|sample| (sample.ln() - mean_log).powi(2)).sum::<f64>() / (count - 1.0);
        let factor = match samples.len() {
            1 => ONE_SAMPLE,
            _ => (2.0 * (variance / count).sqrt()).exp().max(MANY_SAMPLES),
        };
        Some(Estimate { least: mean / factor, most: Some(mean * factor) })
    }

    /// The middle of the range.
    #[must_use]
    pub fn likely(&self) -> f64 {
        self.most.map_or(self.least, |most| (self.least * most).sqrt())
    }

    /// With what is known for sure: so many runs were made or are known to be necessary.
    #[must_use]
    pub fn with_known(self, runs: f64) -> Self {
        Estimate { least: self.least.max(runs), most: self.most.map(|most| most.max(runs)) }
    }

    /// No more than so many runs are made.
    #[must_use]
    pub fn within(self, limit: f64) -> Self {
        Estimate { least: self.least.min(limit), most: Some(self.most.map_or(limit, |most| most.min(limit))) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_that_agree_give_a_narrow_range() {
        let agreeing = Estimate::of_samples(&[100.0, 110.0, 90.0]).unwrap();
        assert!(agreeing.least > 60.0 && agreeing.most.unwrap() < 160.0, "{agreeing:?}");
        let apart = Estimate::of_samples(&[10.0, 1000.0, 90.0]).unwrap();
        assert!(apart.least < 60.0 && apart.most.unwrap() > 1000.0, "{apart:?}");
        let single = Estimate::of_samples(&[100.0]).unwrap();
        assert_eq!(single.likely(), 100.0);
        assert_eq!(Estimate::of_samples(&[]), None);
    }

    #[test]
    fn what_is_known_limits_the_range() {
        let estimate = Estimate { least: 10.0, most: Some(40.0) };
        assert_eq!(estimate.with_known(50.0), Estimate { least: 50.0, most: Some(50.0) });
        assert_eq!(estimate.within(20.0), Estimate { least: 10.0, most: Some(20.0) });
        assert_eq!(Estimate::at_least(7.0).likely(), 7.0);
    }
}
