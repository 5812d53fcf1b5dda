//! Joins the two halves of a rename.

use lazaret_gate::choices::{Choices, Pick};
use lazaret_tree::Renames;

use super::GateAdapter;
use crate::item::{Choice, Item};

impl GateAdapter<'_> {
    /// Tells the items of what was moved from each other. What was left goes with its other
    /// half, unless it was chosen by itself.
    pub(super) fn join_halves(&self, items: &mut [Item], choices: &Choices) {
        let renames = Renames::of(self.case.shared_changes());
        if renames.is_empty() {
            return;
        }
        // Where each change is among the items.
        let mut at: Vec<Option<u32>> = vec![None; self.case.shared_changes().len()];
        for (item, place) in (0..).zip(&self.places) {
            if let Some(slot) = place.and_then(|place| at.get_mut(place as usize)) {
                *slot = Some(item);
            }
        }
        for pair in renames.pairs() {
            let (Some(from), Some(to)) = (at[pair.from], at[pair.to]) else {
                continue;
            };
            let is_alone = *choices.of(&self.case.shared_changes()[pair.from].path) == Pick::Alone;
            let is_left = items[to as usize].choice == Choice::Leave;
            items[to as usize].moved_from = Some(from);
            if is_left && !is_alone {
                items[from as usize].choice = Choice::Leave;
            }
        }
    }
}
