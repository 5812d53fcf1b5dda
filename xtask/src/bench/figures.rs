//! Medians, and ratios round by round.

use std::fmt;
use std::time::Duration;

use serde_json::{Value, json};

/// What was measured, in milliseconds per round.
#[derive(Clone, Debug, Default)]
pub(super) struct Figures {
    series: Vec<(&'static str, Vec<f64>)>,
    ratios: Vec<(&'static str, &'static str, f64)>,
}

impl Figures {
    pub(super) fn add(&mut self, name: &'static str, took: Duration) {
        let took = took.as_secs_f64() * 1000.0;
        match self.series.iter_mut().find(|(other, _)| *other == name) {
            Some((_, rounds)) => rounds.push(took),
            None => self.series.push((name, vec![took])),
        }
    }

    /// The median of `name`'s time over `reference`'s time in the same round.
    pub(super) fn compare(&mut self, name: &'static str, reference: &'static str) {
        let rounds = self.rounds(name).iter().zip(self.rounds(reference));
        let ratios: Vec<f64> = rounds.map(|(own, other)| own / other).collect();
        if let Some(ratio) = median(&ratios) {
            self.ratios.push((name, reference, ratio));
        }
    }

    fn rounds(&self, name: &str) -> &[f64] {
        let series = self.series.iter().find(|(other, _)| *other == name);
        series
            .map(|(_, rounds)| rounds.as_slice())
            .unwrap_or_default()
    }

    pub(super) fn json(&self) -> Value {
        let series: Vec<Value> = self
            .series
            .iter()
            .map(|(name, rounds)| json!({ "name": name, "median_ms": median(rounds), "rounds_ms": rounds }))
            .collect();
        let ratios: Vec<Value> = self
            .ratios
            .iter()
            .map(|(name, reference, ratio)| json!({ "name": name, "reference": reference, "ratio": ratio }))
            .collect();
        json!({ "series": series, "ratios": ratios })
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, rounds) in &self.series {
            let median = median(rounds).unwrap_or_default();
            writeln!(
                f,
                "{name:24} {median:8.0} ms   (median of {})",
                rounds.len()
            )?;
        }
        for (name, reference, ratio) in &self.ratios {
            writeln!(f, "{name} / {reference}: {ratio:.2}")?;
        }
        Ok(())
    }
}

/// None of nothing.
fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        length if length % 2 == 1 => Some(sorted[middle]),
        _ => Some(f64::midpoint(sorted[middle - 1], sorted[middle])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_taken_round_by_round() {
        let mut figures = Figures::default();
        // The second round was slow for both: the ratio does not care.
        for (own, other) in [(10, 20), (100, 200), (15, 20)] {
            figures.add("own", Duration::from_millis(own));
            figures.add("other", Duration::from_millis(other));
        }
        figures.compare("own", "other");
        assert_eq!(figures.ratios, [("own", "other", 0.5)]);
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[4.0, 1.0]), Some(2.5));
    }
}
