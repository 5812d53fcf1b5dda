//! What an order rests on, of what is known of a volume.

use lazaret_protocol::{Ground, Lies, UpdateOrder};
use lazaret_tree::{Entry, RelPath, is_git, is_git_state};

use super::{VolumeEntry, VolumeState};

impl VolumeState {
    /// Returns what has to lie in the volume for `order` to be what a survey would lead to.
    ///
    /// That is everything that is replaced or goes, the directories on the way, and where the
    /// repository is touched, all that says where it stands. What a directory holds that is to
    /// go is not listed: it stays if anything is left in it.
    pub fn ground(&self, order: &UpdateOrder) -> Ground {
        let mut ground = Ground::default();
        let touched = || {
            let sent = order.send.iter().map(|(path, _)| path);
            sent.chain(order.remove.iter().map(|path| &**path))
        };
        for path in touched() {
            for path in path.ancestors().chain([path]) {
                if !ground.0.contains_key(path) {
                    ground.0.insert(path.to_owned(), self.lies(path));
                }
            }
        }
        if touched().any(is_git) {
            for (path, _) in self
                .iter()
                .filter(|(path, entry)| is_git_state(path, entry))
            {
                ground.0.insert(path.to_owned(), self.lies(path));
            }
        }
        ground
    }

    fn lies(&self, path: &RelPath) -> Lies {
        match (self.at(path), self.known.get(path)) {
            (VolumeEntry::Absent, _) => Lies::Nothing,
            (VolumeEntry::Known(Entry::Dir), _) => Lies::Dir,
            (VolumeEntry::Known(_), Some(known)) => Lies::Entry(known.identity),
            (VolumeEntry::Known(_) | VolumeEntry::Cache | VolumeEntry::Unsupported, _) => {
                Lies::Unclear
            }
        }
    }
}
