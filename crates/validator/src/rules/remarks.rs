//! `Remarks`: what there is to say about a file, without floods.

use std::collections::BTreeMap;

use lazaret_tree::{RelPathBuf, escape};

use crate::Severity;
use crate::report::Report;
use crate::rules::structured::line_of;

/// One thing to say.
#[derive(Debug)]
pub(crate) struct Remark {
    pub(crate) severity: Severity,
    pub(crate) code: &'static str,
    /// Offset in bytes of the new side.
    pub(crate) at: Option<u32>,
    pub(crate) message: String,
}

/// The most remarks with one code; how many more there are is said as well.
const MOST_ALIKE: usize = 10;

/// Remarks under way.
#[derive(Debug, Default)]
pub(crate) struct Remarks {
    all: Vec<Remark>,
    counts: BTreeMap<(Severity, &'static str), usize>,
}

impl Remarks {
    /// Adds one; the message is made only when it is kept.
    pub(crate) fn add(
        &mut self,
        severity: Severity,
        code: &'static str,
        at: Option<u32>,
        message: impl FnOnce() -> String,
    ) {
        let count = self.counts.entry((severity, code)).or_default();
        *count += 1;
        if *count <= MOST_ALIKE {
            self.all.push(Remark {
                severity,
                code,
                at,
                message: message(),
            });
        }
    }

    /// Returns how many there are, those that are not kept included.
    pub(crate) fn count(&self) -> usize {
        self.counts.values().sum()
    }

    /// Ends with how many there are beyond those that are kept.
    pub(crate) fn finish(mut self) -> Vec<Remark> {
        for ((severity, code), count) in self.counts {
            if count > MOST_ALIKE {
                self.all.push(Remark {
                    severity,
                    code,
                    at: None,
                    message: format!("and {} more like these", count - MOST_ALIKE),
                });
            }
        }
        self.all
    }
}

/// Hands remarks over to the report, with lines of the new side.
pub(crate) fn put(remarks: Vec<Remark>, path: &RelPathBuf, text: &str, report: &mut Report) {
    for remark in remarks {
        let Remark {
            severity,
            code,
            at,
            message,
        } = remark;
        match at {
            Some(at) => report.line((path, line_of(text, at)), severity, code, message),
            None => report.path(path, severity, code, message),
        }
    }
}

/// The most characters of a name or an address in a message.
const MOST_SHOWN: usize = 100;

/// Escapes and shortens what a file says.
pub(crate) fn shown(text: &str) -> String {
    let most = text.char_indices().nth(MOST_SHOWN);
    match most {
        Some((end, _)) => format!(
            "{}…",
            escape(text.get(..end).unwrap_or_default().as_bytes())
        ),
        None => escape(text.as_bytes()),
    }
}
