//! What an order rests on, of what is known of a volume.

use lazaret_protocol::{ExpectedEntry, Preconditions, UpdateRequest};
use lazaret_tree::{Entry, RelPath, is_git, is_git_state};

use super::{VolumeEntry, VolumeState};

impl VolumeState {
    /// Returns what has to lie in the volume for `request` to be what a survey would lead to.
    ///
    /// That is everything that is replaced or goes, the directories on the way, and where the
    /// repository is touched, all that says where it stands. What a directory holds that is to
    /// go is not listed: it stays if anything is left in it.
    pub fn preconditions(&self, request: &UpdateRequest) -> Preconditions {
        let mut preconditions = Preconditions::default();
        let touched = || {
            let sent = request.send.iter().map(|(path, _)| path);
            sent.chain(request.remove.iter().map(|path| &**path))
        };
        for path in touched() {
            for path in path.ancestors().chain([path]) {
                if !preconditions.0.contains_key(path) {
                    preconditions.0.insert(path.to_owned(), self.expected(path));
                }
            }
        }
        if touched().any(is_git) {
            for (path, _) in self
                .iter()
                .filter(|(path, entry)| is_git_state(path, entry))
            {
                preconditions.0.insert(path.to_owned(), self.expected(path));
            }
        }
        preconditions
    }

    fn expected(&self, path: &RelPath) -> ExpectedEntry {
        match (self.at(path), self.known.get(path)) {
            (VolumeEntry::Absent, _) => ExpectedEntry::Nothing,
            (VolumeEntry::Known(Entry::Dir), _) => ExpectedEntry::Dir,
            (VolumeEntry::Known(_), Some(known)) => ExpectedEntry::Entry(known.identity),
            (VolumeEntry::Known(_) | VolumeEntry::Cache | VolumeEntry::Unsupported, _) => {
                ExpectedEntry::Unclear
            }
        }
    }
}
