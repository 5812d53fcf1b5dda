//! The outcome: a table on the terminal, JUnit XML and JSON in a directory.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::json;

use crate::engine::EngineName;

/// What became of one scenario on one engine.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) engine: EngineName,
    pub(crate) scenario: String,
    pub(crate) outcome: Result<(), String>,
    /// What went wrong the first time, where it was run again.
    pub(crate) before: Option<String>,
    pub(crate) took: Duration,
}

impl Row {
    /// Failed, and passed when it was run again by itself.
    pub(crate) fn is_flaky(&self) -> bool {
        self.outcome.is_ok() && self.before.is_some()
    }

    fn word(&self) -> &'static str {
        match (&self.outcome, &self.before) {
            (Ok(()), None) => "passed",
            (Ok(()), Some(_)) => "flaky",
            (Err(_), _) => "failed",
        }
    }
}

/// Scenarios down, engines across; `-` where another engine had the turn.
pub(crate) fn table(rows: &[Row], engines: &[EngineName]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for row in rows {
        if !names.contains(&row.scenario.as_str()) {
            names.push(&row.scenario);
        }
    }
    let width = names
        .iter()
        .map(|name| name.len())
        .max()
        .unwrap_or(0)
        .max(8);
    let mut text = format!("{:width$}", "scenario");
    for engine in engines {
        let _ = write!(text, "  {engine:>15}");
    }
    text.push('\n');
    for name in names {
        let _ = write!(text, "{name:width$}");
        for engine in engines {
            let row = rows
                .iter()
                .find(|row| row.engine == *engine && row.scenario == name);
            let cell = match row {
                Some(row) => {
                    let word = match row.word() {
                        "passed" => "ok",
                        "failed" => "FAILED",
                        word => word,
                    };
                    format!("{word} {:5.1} s", row.took.as_secs_f64())
                }
                None => "-".to_owned(),
            };
            let _ = write!(text, "  {cell:>15}");
        }
        text.push('\n');
    }
    text
}

/// Writes `matrix.json` and `junit.xml`.
pub(crate) fn write(rows: &[Row], directory: &Path) -> Result<(), String> {
    let at = |error: std::io::Error| format!("{}: {error}", directory.display());
    fs::create_dir_all(directory).map_err(at)?;
    fs::write(directory.join("matrix.json"), as_json(rows)).map_err(at)?;
    fs::write(directory.join("junit.xml"), as_junit(rows)).map_err(at)
}

fn as_json(rows: &[Row]) -> String {
    let results: Vec<_> = rows
        .iter()
        .map(|row| {
            json!({
                "engine": row.engine.as_str(),
                "scenario": row.scenario,
                "outcome": row.word(),
                "seconds": row.took.as_secs_f64(),
                "message": row.outcome.as_ref().err(),
                "before": row.before,
            })
        })
        .collect();
    let report = json!({
        "passed": rows.iter().filter(|row| row.outcome.is_ok()).count(),
        "flaky": rows.iter().filter(|row| row.is_flaky()).count(),
        "failed": rows.iter().filter(|row| row.outcome.is_err()).count(),
        "results": results,
    });
    format!("{report:#}\n")
}

/// One suite per engine.
fn as_junit(rows: &[Row]) -> String {
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    for engine in EngineName::ALL {
        let rows: Vec<&Row> = rows.iter().filter(|row| row.engine == engine).collect();
        if rows.is_empty() {
            continue;
        }
        let failures = rows.iter().filter(|row| row.outcome.is_err()).count();
        let seconds: f64 = rows.iter().map(|row| row.took.as_secs_f64()).sum();
        let _ = writeln!(
            text,
            "  <testsuite name=\"{engine}\" tests=\"{}\" failures=\"{failures}\" time=\"{seconds:.3}\">",
            rows.len()
        );
        for row in rows {
            let _ = write!(
                text,
                "    <testcase classname=\"matrix.{engine}\" name=\"{}\" time=\"{:.3}\"",
                escape(&row.scenario),
                row.took.as_secs_f64()
            );
            // `flakyFailure` is what Surefire and nextest write of a test that passed at last.
            let (tag, message) = match (&row.outcome, &row.before) {
                (Ok(()), None) => {
                    text.push_str("/>\n");
                    continue;
                }
                (Ok(()), Some(before)) => ("flakyFailure", before),
                (Err(message), _) => ("failure", message),
            };
            let _ = writeln!(
                text,
                "><{tag} message=\"{}\">{}</{tag}></testcase>",
                escape(message.lines().next().unwrap_or_default()),
                escape(message)
            );
        }
        text.push_str("  </testsuite>\n");
    }
    text.push_str("</testsuites>\n");
    text
}

/// XML has no way to write most control characters: they are shown as their escapes.
fn escape(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' | '\t' => escaped.push(c),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => {
                let _ = write!(escaped, "{}", c.escape_unicode());
            }
            c => escaped.push(c),
        }
    }
    escaped
}
