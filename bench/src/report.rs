//! What came of a bench: a table to read, and JSON.

use std::fs;

use serde_json::{Value, json};

use super::corpus::Corpus;
use super::figures::{Figures, Spread};
use super::rows::Row;
use super::station::EngineUnderTest;

/// A row, measured.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    pub(super) row: Row,
    pub(super) spread: Spread,
}

impl Measured {
    /// `None` where nothing is promised.
    pub(super) fn is_met(&self) -> Option<bool> {
        // As it is printed: what reads as the target has met it.
        let shown = (self.spread.median * 1000.0).round() / 1000.0;
        Some(shown <= self.row.target?)
    }

    fn engine(&self) -> &'static str {
        self.row.engine.map_or("", |engine| engine.as_str())
    }
}

/// Everything that a report is made of.
#[derive(Debug)]
pub(super) struct Report<'a> {
    pub(super) figures: &'a Figures,
    pub(super) measured: Vec<Measured>,
    pub(super) corpora: Vec<(&'static str, Corpus)>,
    pub(super) stations: &'a [EngineUnderTest<'a>],
    pub(super) load: (String, String),
}

impl Report<'_> {
    /// The table as Markdown, which reads well as it is.
    pub(super) fn text(&self) -> String {
        let mut text = String::from(
            "| what | engine | ratio | rounds | target | |\n|---|---|---:|---|---:|---|\n",
        );
        for measured in &self.measured {
            let Measured { row, spread } = measured;
            let target = row.target.map_or("–".to_owned(), number);
            let met = match measured.is_met() {
                Some(true) => "met",
                Some(false) => "missed",
                None => "",
            };
            text.push_str(&format!(
                "| {} | {} | {} | {}..{} | {target} | {met} |\n",
                row.what.replace('|', "\\|"),
                measured.engine(),
                number(spread.median),
                number(spread.min),
                number(spread.max)
            ));
        }
        text.push_str("\n| what was timed | median | rounds |\n|---|---:|---|\n");
        for ((engine, series), rounds) in self.figures.series() {
            let Some(spread) = Spread::of(rounds) else {
                continue;
            };
            let unit = series.unit();
            let on = engine.map_or(String::new(), |engine| format!(" ({engine})"));
            text.push_str(&format!(
                "| {}{on} | {} {unit} | {}..{}, {} |\n",
                series.label(engine).replace('|', "\\|"),
                timed(spread.median),
                timed(spread.min),
                timed(spread.max),
                rounds.len()
            ));
        }
        text
    }

    pub(super) fn json(&self) -> Value {
        let rows: Vec<Value> = self
            .measured
            .iter()
            .map(|measured| {
                json!({
                    "name": measured.row.name,
                    "what": measured.row.what,
                    "engine": measured.row.engine.map(|engine| engine.as_str()),
                    "median": measured.spread.median,
                    "min": measured.spread.min,
                    "max": measured.spread.max,
                    "target": measured.row.target,
                    "met": measured.is_met(),
                })
            })
            .collect();
        let series: Vec<Value> = self
            .figures
            .series()
            .map(|((engine, series), rounds)| {
                json!({
                    "name": series.label(engine),
                    "engine": engine.map(|engine| engine.as_str()),
                    "unit": series.unit(),
                    "median": Spread::of(rounds).map(|spread| spread.median),
                    "rounds": rounds,
                })
            })
            .collect();
        let corpora = self.corpora.iter().map(|(name, corpus)| {
            let size = json!({ "files": corpus.files, "bytes": corpus.bytes });
            ((*name).to_owned(), size)
        });
        let engines = self.stations.iter().map(|station| {
            let version = Value::from(station.version.clone());
            (station.cli.name.as_str().to_owned(), version)
        });
        json!({
            "machine": machine(&self.load),
            "engines": engines.collect::<serde_json::Map<_, _>>(),
            "corpora": corpora.collect::<serde_json::Map<_, _>>(),
            "rows": rows,
            "series": series,
        })
    }
}

/// Three figures where it matters, not more.
pub(super) fn number(value: f64) -> String {
    match value {
        value if value >= 10.0 => format!("{value:.1}"),
        value if value >= 0.1 => format!("{value:.2}"),
        value => format!("{value:.3}"),
    }
}

/// Whole numbers, unless they are small.
fn timed(value: f64) -> String {
    match value.abs() >= 10.0 {
        true => format!("{value:.0}"),
        false => format!("{value:.2}"),
    }
}

/// Other programs' load decides what a figure is worth.
pub(super) fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace()
        .take(3)
        .collect::<Vec<_>>()
        .join(" ")
}

fn machine((before, after): &(String, String)) -> Value {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    json!({
        "cores": cores,
        "kernel": kernel.trim(),
        "load_before": before,
        "load_after": after,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::rows;

    #[test]
    fn what_reads_as_the_target_has_met_it() {
        let row = rows(&[]).remove(0);
        let measured = |median| Measured {
            row: row.clone(),
            spread: Spread {
                median,
                min: median,
                max: median,
            },
        };
        assert_eq!(measured(1.1004).is_met(), Some(true));
        assert_eq!(measured(1.101).is_met(), Some(false));
        let mut free = measured(1.0);
        free.row.target = None;
        assert_eq!(free.is_met(), None);
    }

    #[test]
    fn small_numbers_keep_their_figures() {
        let shown = [0.0234, 0.5, 1.456, 16.04].map(number);
        assert_eq!(shown, ["0.023", "0.50", "1.46", "16.0"]);
    }
}
