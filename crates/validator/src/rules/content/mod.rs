//! Rules about what files hold, and how they are read.

pub(crate) mod disguised;
pub(crate) mod file_pair;
pub(crate) mod modes;
pub(crate) mod text;

use std::io;

use lazaret_tree::RelPathBuf;

use crate::Subject;
use crate::codes;
use crate::finding_buffer::FindingBuffer;

/// Contents that can't be had are not taken for clean (AUD-09), and what was kept of the batch
/// is damaged: the rest of it may be half of something (APP-27). Only the kind of the error is
/// shown: its text may hold anything.
fn unreadable(path: &RelPathBuf, kind: io::ErrorKind, report: &mut FindingBuffer) {
    let subject = Subject::Path(path.clone());
    let message = format!("the contents can't be read: {kind}");
    let hint = "collect the changes again with `lazaret recover`";
    report.reject(subject, codes::CONTENT_UNREADABLE, message, hint);
}
