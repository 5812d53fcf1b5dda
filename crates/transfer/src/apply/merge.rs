//! Three-way merge of one file: what went in, what the workspace has now, what the session
//! made of it.
//!
//! Contents and the execute bit are merged each for itself. Where only one side changed
//! something, that side has it; where both did, texts are merged line by line with
//! `similar`'s three-way merge. Edits that overlap or touch are a conflict: there is no unchanged
//! line between them that says which comes first.

use std::ops::Range;

use lazaret_tree::Mode;
use similar::{MergeRegion, TextMerge};

/// Merges texts; `None` where the two sides are in conflict.
///
/// Lines are compared as git does it, and what comes out is what `git merge-file` makes,
/// wherever both find a merge. Nothing is merged that has a lone carriage return: the library
/// takes it for the end of a line, and lazaret and git do not.
pub fn texts(base: &str, host: &str, session: &str) -> Option<String> {
    if base == host || host == session {
        return Some(session.to_owned());
    }
    if base == session {
        return Some(host.to_owned());
    }
    if [base, host, session].into_iter().any(has_lone_return) {
        return None;
    }
    let merge = TextMerge::from_lines(base, host, session);
    (!merge.is_conflicted()).then(|| merge.to_string())
}

/// Where the edits of two sides overlap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clash {
    /// The first of its lines in the workspace's version, counted from 1.
    pub line: usize,
    /// Lines of the workspace's version, with their line feeds.
    pub host: Vec<String>,
    /// Lines of what both started from.
    pub base: Vec<String>,
    /// Lines of the session's version.
    pub session: Vec<String>,
}

/// Finds where two sides are in conflict, in order.
pub fn clashes(base: &str, host: &str, session: &str) -> Vec<Clash> {
    let merge = TextMerge::from_lines(base, host, session);
    let lines = |range: Range<usize>, line: &dyn Fn(usize) -> Option<String>| {
        range.filter_map(line).collect::<Vec<_>>()
    };
    let clash = |region: &MergeRegion| Clash {
        line: region.ours_range().start + 1,
        host: lines(region.ours_range(), &|at| {
            merge.ours_line(at).map(str::to_owned)
        }),
        base: lines(region.base_range(), &|at| {
            merge.base_line(at).map(str::to_owned)
        }),
        session: lines(region.theirs_range(), &|at| {
            merge.theirs_line(at).map(str::to_owned)
        }),
    };
    merge.conflicts().map(clash).collect()
}

/// Merges the execute bit. Both sides can only have changed it to the same.
pub fn modes(base: Mode, host: Mode, session: Mode) -> Mode {
    if base == host { session } else { host }
}

fn has_lone_return(text: &str) -> bool {
    let bytes = text.as_bytes();
    let mut returns = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\r');
    returns.any(|(at, _)| bytes.get(at + 1) != Some(&b'\n'))
}
