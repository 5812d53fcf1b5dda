//! `ProbeReport`: what a probe found, one line for each control.
//!
//! ```text
//! report  = line* "place " PLACEMENT "\n" "end " COUNT "\n"
//! line    = ID " " verdict " " DETAIL "\n"      in the order of the ids
//! verdict = "pass" | "fail" | "n/a"
//! ```
//!
//! All of it is printable ASCII. A report that is cut short proves nothing.

use std::fmt;

use crate::{Control, Placement};

/// The longest report that is read, in bytes.
pub const REPORT_LIMIT: u64 = 64 << 10;

/// The longest detail, in characters.
const DETAIL: usize = 300;

/// The porter's word for a control.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is in force.
    Pass,
    /// It is not.
    Fail,
    /// There is nothing that it could apply to.
    NotApplicable,
}

impl Verdict {
    fn word(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::NotApplicable => "n/a",
        }
    }
}

/// What was found of one control.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportLine {
    /// The control.
    pub control: Control,
    /// Whether it is in force.
    pub verdict: Verdict,
    /// What was found, for people.
    pub detail: String,
}

/// What was found of every control that can be seen from inside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeReport {
    /// In the order of the controls.
    pub lines: Vec<ReportLine>,
    /// Where the probe ran.
    pub placement: Placement,
}

/// Why bytes are not a whole report.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReportError {
    /// The report ends before the control.
    #[error("{control} was not reported")]
    Missing {
        /// The control.
        control: Control,
    },
    /// The report says nothing of where it was made.
    #[error("the report of the controls does not say where it was made")]
    NoPlacement,
    /// The report is cut short, or counts wrongly.
    #[error("the report of the controls has no end")]
    NoEnd,
    /// The report is not of our porter.
    #[error("line {line} of the report of the controls makes no sense")]
    Malformed {
        /// Its number, from 1.
        line: usize,
    },
}

impl ProbeReport {
    /// Parses the whole of a porter's stdout.
    ///
    /// # Errors
    /// When a control of [`Control::REPORTED`] is missing, or something else is there.
    pub fn parse(report: &[u8]) -> Result<Self, ReportError> {
        let mut reader = Reader::of(report)?;
        let lines = Control::REPORTED
            .iter()
            .map(|control| reader.line(*control));
        let lines = lines.collect::<Result<Vec<_>, _>>()?;
        let placement = reader.placement()?;
        reader.end(lines.len())?;
        Ok(Self { lines, placement })
    }

    /// Whether the end line of a report has come, and so nothing more of it will.
    pub fn is_whole(report: &[u8]) -> bool {
        let ended = report.strip_suffix(b"\n");
        let last = ended.and_then(|lines| lines.rsplit(|byte| *byte == b'\n').next());
        last.is_some_and(|line| line.starts_with(b"end "))
    }
}

impl fmt::Display for ProbeReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for ReportLine {
            control,
            verdict,
            detail,
        } in &self.lines
        {
            write!(f, "{} {} ", control.id(), verdict.word())?;
            // Names in /dev or the environment may hold anything; the form of a line may not.
            for found in detail.chars().take(DETAIL) {
                let shown = match found {
                    ' '..='~' => found,
                    _ => '?',
                };
                write!(f, "{shown}")?;
            }
            f.write_str("\n")?;
        }
        writeln!(f, "place {}", self.placement)?;
        writeln!(f, "end {}", self.lines.len())
    }
}

/// Lines, each ended.
struct Reader<'a> {
    lines: std::iter::Enumerate<std::str::Split<'a, char>>,
}

impl<'a> Reader<'a> {
    fn of(report: &'a [u8]) -> Result<Self, ReportError> {
        let first_bad = report
            .split(|byte| *byte == b'\n')
            .position(|line| !line.iter().all(|byte| matches!(byte, b' '..=b'~')));
        match (first_bad, str::from_utf8(report)) {
            (None, Ok(text)) => Ok(Self {
                lines: text.split('\n').enumerate(),
            }),
            (line, _) => Err(ReportError::Malformed {
                line: line.unwrap_or_default() + 1,
            }),
        }
    }

    fn line(&mut self, control: Control) -> Result<ReportLine, ReportError> {
        let missing = ReportError::Missing { control };
        let Some((number, line)) = self.lines.next() else {
            return Err(missing);
        };
        let malformed = ReportError::Malformed { line: number + 1 };
        if line.is_empty() || line.starts_with("place ") || line.starts_with("end ") {
            return Err(missing);
        }
        let (id, rest) = line.split_once(' ').ok_or(malformed.clone())?;
        match id.parse::<Control>() {
            Ok(found) if found == control => {}
            Ok(_) => return Err(missing),
            Err(_) => return Err(malformed),
        }
        let (word, detail) = rest.split_once(' ').ok_or(malformed.clone())?;
        let mut verdicts = [Verdict::Pass, Verdict::Fail, Verdict::NotApplicable].into_iter();
        let verdict = verdicts.find(|verdict| verdict.word() == word);
        Ok(ReportLine {
            control,
            verdict: verdict.ok_or(malformed)?,
            detail: detail.to_owned(),
        })
    }

    fn placement(&mut self) -> Result<Placement, ReportError> {
        match self.lines.next() {
            Some((_, line)) if line.is_empty() || line.starts_with("end ") => {
                Err(ReportError::NoPlacement)
            }
            Some((number, line)) => {
                let placement = line.strip_prefix("place ");
                let placement = placement.and_then(|placement| placement.parse().ok());
                placement.ok_or(ReportError::Malformed { line: number + 1 })
            }
            None => Err(ReportError::NoEnd),
        }
    }

    fn end(mut self, count: usize) -> Result<(), ReportError> {
        match self.lines.next() {
            Some((_, line)) if line == format!("end {count}") => {}
            Some((number, line)) if !line.is_empty() && !line.starts_with("end ") => {
                return Err(ReportError::Malformed { line: number + 1 });
            }
            _ => return Err(ReportError::NoEnd),
        }
        // What follows the last newline is empty, and nothing follows that.
        match (self.lines.next(), self.lines.next()) {
            (Some((_, "")), None) => Ok(()),
            (None, _) => Err(ReportError::NoEnd),
            (Some((number, _)), _) => Err(ReportError::Malformed { line: number + 1 }),
        }
    }
}
