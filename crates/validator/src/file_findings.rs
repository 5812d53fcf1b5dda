//! `FileFindings`: what there is to say of one file, without floods.

use std::collections::BTreeMap;

use lazaret_tree::{FindingCode, RelPathBuf};

use crate::Severity;
use crate::finding_buffer::FindingBuffer;
use crate::rules::structured::line_of;

/// One thing to say.
#[derive(Debug)]
pub(crate) struct FileFinding {
    pub(crate) severity: Severity,
    pub(crate) code: &'static FindingCode,
    /// Where in the new side, when it is about one place.
    pub(crate) at: Option<At>,
    pub(crate) message: String,
}

/// A place in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum At {
    /// An offset in bytes.
    Byte(u32),
    /// A line, counted from 1.
    Line(u32),
}

impl At {
    /// Returns true if an offset is in a text of so many bytes.
    #[cfg(any(test, feature = "fuzz"))]
    pub(crate) fn is_within(self, bytes: usize) -> bool {
        match self {
            Self::Byte(at) => at as usize <= bytes,
            Self::Line(_) => true,
        }
    }
}

/// The most findings with one code; how many more there are is said as well.
const MOST_ALIKE: usize = 10;

/// Findings about one file under way.
#[derive(Debug, Default)]
pub(crate) struct FileFindings {
    all: Vec<FileFinding>,
    counts: BTreeMap<(Severity, &'static str), Alike>,
}

/// Findings with one code and severity.
#[derive(Debug)]
struct Alike {
    code: &'static FindingCode,
    count: usize,
}

impl FileFindings {
    /// Adds one about an offset in bytes, or about the file; the message is made only when it
    /// is kept.
    pub(crate) fn add(
        &mut self,
        severity: Severity,
        code: &'static FindingCode,
        at: Option<u32>,
        message: impl FnOnce() -> String,
    ) {
        self.put(severity, code, at.map(At::Byte), message);
    }

    /// Adds one about a line, counted from 1; the message is made only when it is kept.
    pub(crate) fn add_line(
        &mut self,
        severity: Severity,
        code: &'static FindingCode,
        line: u32,
        message: impl FnOnce() -> String,
    ) {
        self.put(severity, code, Some(At::Line(line)), message);
    }

    fn put(
        &mut self,
        severity: Severity,
        code: &'static FindingCode,
        at: Option<At>,
        message: impl FnOnce() -> String,
    ) {
        let alike = self.counts.entry((severity, code.id));
        let alike = alike.or_insert(Alike { code, count: 0 });
        alike.count += 1;
        if alike.count <= MOST_ALIKE {
            self.all.push(FileFinding {
                severity,
                code,
                at,
                message: message(),
            });
        }
    }

    /// Returns how many there are, those that are not kept included.
    pub(crate) fn count(&self) -> usize {
        self.counts.values().map(|alike| alike.count).sum()
    }

    /// Returns those that are kept, and for each code how many there are beyond them.
    pub(crate) fn finish(mut self) -> Vec<FileFinding> {
        for ((severity, _), Alike { code, count }) in self.counts {
            if count > MOST_ALIKE {
                self.all.push(FileFinding {
                    severity,
                    code,
                    at: None,
                    message: format!("and {} more like these", count - MOST_ALIKE),
                });
            }
        }
        self.all
    }

    /// Hands them over to the buffer. `text` is the new side, which offsets are of.
    pub(crate) fn report(self, path: &RelPathBuf, text: &str, buffer: &mut FindingBuffer) {
        for finding in self.finish() {
            let FileFinding {
                severity,
                code,
                at,
                message,
            } = finding;
            let line = match at {
                Some(At::Byte(at)) => Some(line_of(text, at)),
                Some(At::Line(line)) => Some(line),
                None => None,
            };
            match line {
                Some(line) => buffer.line((path, line), severity, code, message),
                None => buffer.path(path, severity, code, message),
            }
        }
    }
}
