//! What `porter probe` is asked, and what it answers.
//!
//! The host asks by arguments, `--expect KEY=VALUE`: a [`ProbeRequest`]. The answer is a
//! [`ProbeReport`], one line for each control. `porter run` does the same where it is asked
//! to, as the process that becomes the command.

mod placement;
mod report;
mod request;

pub use placement::{KEYS as PLACEMENT_KEYS, Placement};
pub use report::{ProbeReport, REPORT_LIMIT, ReportError, ReportLine, Verdict};
pub use request::{ForeignNamespace, IdMapping, NetworkBarrier, ProbeRequest, SizedPath};
