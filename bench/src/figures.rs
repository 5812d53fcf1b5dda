//! Medians, and ratios round by round.

use std::collections::BTreeMap;

use super::rows::Row;
use super::series::Key;

/// What was measured, per round: milliseconds, or the series' own unit.
#[derive(Clone, Debug, Default)]
pub(super) struct Figures(BTreeMap<Key, Vec<f64>>);

/// A median and how far the rounds lie around it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spread {
    pub(super) median: f64,
    pub(super) min: f64,
    pub(super) max: f64,
}

impl Figures {
    pub(super) fn add(&mut self, key: Key, value: f64) {
        self.0.entry(key).or_default().push(value);
    }

    pub(super) fn series(&self) -> impl Iterator<Item = (Key, &[f64])> {
        self.0.iter().map(|(key, rounds)| (*key, rounds.as_slice()))
    }

    /// Returns what came of a row: the ratios of each round's two values, since a slow
    /// minute slows both. `None` where either was not measured.
    pub(super) fn of(&self, row: &Row) -> Option<Spread> {
        let own = self.0.get(&row.own)?;
        let Some(reference) = row.reference else {
            return Spread::of(own);
        };
        let reference = self.0.get(&reference)?;
        let ratios: Vec<f64> = own
            .iter()
            .zip(reference)
            .map(|(own, other)| own / other)
            .collect();
        Spread::of(&ratios)
    }
}

impl Spread {
    /// `None` of nothing.
    pub(super) fn of(values: &[f64]) -> Option<Self> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let middle = sorted.len() / 2;
        let median = match sorted.len() % 2 {
            1 => sorted[middle],
            _ => f64::midpoint(sorted[middle - 1], sorted[middle]),
        };
        Some(Self { median, min, max })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::series::Series;

    #[test]
    fn ratios_are_taken_round_by_round() {
        let (own, other) = ((None, Series::Packer), (None, Series::ReadingWalk));
        let mut figures = Figures::default();
        // The second round was slow for both: the ratio does not care.
        for (one, two) in [(10.0, 20.0), (100.0, 200.0), (15.0, 20.0)] {
            figures.add(own, one);
            figures.add(other, two);
        }
        let mut row = Row {
            name: "row",
            what: String::new(),
            title: String::new(),
            engine: None,
            own,
            reference: Some(other),
            target: None,
        };
        let spread = Spread {
            median: 0.5,
            min: 0.5,
            max: 0.75,
        };
        assert_eq!(figures.of(&row), Some(spread));
        row.reference = Some((None, Series::HostTar));
        assert_eq!(figures.of(&row), None);
        row.reference = None;
        assert_eq!(figures.of(&row).map(|spread| spread.median), Some(15.0));
    }

    #[test]
    fn the_median_of_an_even_number_lies_between() {
        assert_eq!(Spread::of(&[]), None);
        assert_eq!(
            Spread::of(&[4.0, 1.0]).map(|spread| spread.median),
            Some(2.5)
        );
    }
}
