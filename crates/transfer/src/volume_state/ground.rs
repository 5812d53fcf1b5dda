//! What an order rests on, of what is known of a volume.

use lazaret_protocol::{Ground, Lies, UpdateOrder};
use lazaret_tree::{Entry, RelPath, is_git, is_git_state};

use super::{At, VolumeState};

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
        match (self.at(path), self.held.get(path)) {
            (At::Nothing, _) => Lies::Nothing,
            (At::Held(Entry::Dir), _) => Lies::Dir,
            (At::Held(_), Some(held)) => Lies::Entry(held.identity),
            (At::Held(_) | At::Cache | At::Other, _) => Lies::Unclear,
        }
    }
}
