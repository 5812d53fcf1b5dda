//! `porter export` as a process, asked one thing after the other.

use std::io::Write as _;
use std::path::Path;

use lazaret_protocol::{StreamLimits, Survey, SurveyError, Wanted, write_wanted};

use super::session::Said;
use super::talking::Talking;

pub(super) struct Exporting(Talking);

impl Exporting {
    pub(super) fn of(root: &Path) -> Self {
        let root = root.to_str().expect("a name that we chose");
        Self(Talking::with(&["export", root]))
    }

    pub(super) fn survey(
        &mut self,
        request: &[u8],
        limits: &StreamLimits,
    ) -> Result<Survey, SurveyError> {
        self.0.say(request);
        Survey::read_from(&mut self.0.stdout, limits)
    }

    /// Asks for files, or for anything else, and returns what it says up to its end.
    pub(super) fn send(mut self, list: &[u8]) -> Said {
        // One that has given up hears nothing any more.
        drop(self.0.stdin.write_all(list));
        self.0.rest()
    }
}

/// Lists files as the host does.
pub(super) fn list(wanted: &[Wanted]) -> Vec<u8> {
    let mut list = Vec::new();
    write_wanted(wanted, &mut list).expect("to memory");
    list
}
