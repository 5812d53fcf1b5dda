//! Moving about, taking and leaving.

use super::diff_view::Parts;
use super::geometry::Pane;
use super::item::ItemStatus;
use super::keys::Key;
use super::model::{Effect, Review};
use super::tree::RowKind;

impl Review {
    pub(super) fn browse_list(&mut self, key: Key) -> Effect {
        let page = self.list_height().saturating_sub(1).max(1);
        match key {
            Key::Up | Key::Char('k') => self.go_to(self.cursor.saturating_sub(1)),
            Key::Down | Key::Char('j') => self.go_to(self.cursor + 1),
            Key::PageUp | Key::Ctrl('b') => self.go_to(self.cursor.saturating_sub(page)),
            Key::PageDown | Key::Ctrl('f') => self.go_to(self.cursor + page),
            Key::Home | Key::Char('g') => self.go_to(0),
            Key::End | Key::Char('G') => self.go_to(usize::MAX),
            Key::Char(' ') => self.toggle_row(),
            Key::Enter => match self.kind_at_cursor() {
                Some(RowKind::Dir(dir)) => self.fold(dir.id),
                Some(RowKind::Branch(row)) => self.fold_branch(row.branch),
                Some(RowKind::File(_) | RowKind::Commit(_)) => self.focus = Pane::Diff,
                Some(RowKind::Commits) | None => {}
            },
            Key::Right | Key::Char('l') => match self.kind_at_cursor() {
                Some(RowKind::Dir(dir)) if dir.is_closed => self.fold(dir.id),
                Some(RowKind::Branch(row)) if row.is_closed => self.fold_branch(row.branch),
                Some(RowKind::Dir(_) | RowKind::Branch(_) | RowKind::Commits) => {
                    self.go_to(self.cursor + 1)
                }
                Some(RowKind::File(_) | RowKind::Commit(_)) => self.focus = Pane::Diff,
                None => {}
            },
            Key::Left | Key::Char('h') => match self.kind_at_cursor() {
                Some(RowKind::Dir(dir)) if !dir.is_closed => self.fold(dir.id),
                Some(RowKind::Branch(row)) if !row.is_closed => self.fold_branch(row.branch),
                Some(_) => self.go_to_parent(),
                None => {}
            },
            key => self.say_unknown(key),
        }
        Effect::None
    }

    pub(super) fn browse_diff(&mut self, key: Key) {
        let page = self.page_height().saturating_sub(2).max(1);
        match key {
            Key::Up | Key::Char('k') => self.scroll_to(self.page_top.saturating_sub(1)),
            Key::Down | Key::Char('j') => self.scroll_to(self.page_top + 1),
            Key::PageUp | Key::Ctrl('b') => self.scroll_to(self.page_top.saturating_sub(page)),
            Key::PageDown | Key::Ctrl('f') => self.scroll_to(self.page_top + page),
            Key::Home | Key::Char('g') => self.scroll_to(0),
            Key::End | Key::Char('G') => self.scroll_to(usize::MAX),
            Key::Left | Key::Char('h') => self.focus = Pane::List,
            Key::Char(' ') => self.toggle_hunk(),
            key => self.say_unknown(key),
        }
    }

    fn kind_at_cursor(&self) -> Option<RowKind> {
        self.rows.get(self.cursor).map(|row| row.kind.clone())
    }

    fn go_to_parent(&mut self) {
        let depth = self.rows[self.cursor].depth;
        let mut above = self.rows[..self.cursor].iter();
        if let Some(parent) = above.rposition(|row| row.depth < depth) {
            self.go_to(parent);
        }
    }

    fn toggle_row(&mut self) {
        let Some(row) = self.rows.get(self.cursor) else {
            return;
        };
        match row.kind {
            RowKind::Commits => return self.toggle_branches(&self.branches_on_show()),
            RowKind::Branch(row) => return self.toggle_branches(&[row.branch]),
            RowKind::Commit(_) => return self.explain_commit(),
            RowKind::Dir(_) | RowKind::File(_) => {}
        }
        let items = self.items_on_show(row.items());
        if !items.iter().any(|item| self.items[*item].is_free()) {
            self.explain_refusal(items.first().copied());
            return;
        }
        self.toggle_items(&items);
        self.lay_out();
    }

    fn toggle_hunk(&mut self) {
        let Some(item) = self.selected() else {
            return self.toggle_row();
        };
        if !self.items[item].is_free() {
            self.explain_refusal(Some(item));
            return;
        }
        let (hunks, parts) = self.diff_view().map_or((0, Parts::Whole), |diff_view| {
            (diff_view.hunks.len(), diff_view.parts)
        });
        if hunks > 1 && parts == Parts::Hunks {
            self.items[item].toggle_hunk(self.hunk, hunks);
            self.take_half_along(item);
        } else {
            if hunks > 1 {
                self.say("This file can only be taken or left as a whole.");
            }
            self.toggle_items(&[item]);
        }
    }

    pub(super) fn explain_refusal(&mut self, item: Option<usize>) {
        let words = match item.map(|item| &self.items[item].status) {
            Some(ItemStatus::Blocked) => "This is blocked. Press ! to allow it by name.",
            Some(ItemStatus::Conflict(_)) => {
                "You changed this too. Press ! to have yours replaced by the session's."
            }
            Some(ItemStatus::Stays(_)) => {
                "This stays in the copy; the pane with the diff says why."
            }
            Some(ItemStatus::Free) | None => "There is nothing to choose.",
        };
        self.say(words);
    }

    /// Scrolls; the hunk that the keys mean stays one that can be seen.
    fn scroll_to(&mut self, top: usize) {
        self.page_top = top.min(self.last_top());
        let bottom = self.page_top + self.page_height();
        let is_seen = |(start, end): (usize, usize)| start < bottom && end >= self.page_top;
        if self.page.span(self.hunk).is_some_and(is_seen) {
            return;
        }
        let mut hunks = 0..self.page.heads.len();
        if let Some(hunk) = hunks.find(|hunk| self.page.span(*hunk).is_some_and(is_seen)) {
            self.hunk = hunk;
        }
    }

    /// Goes to the next hunk, or to the first one of the next file.
    pub(super) fn next_hunk(&mut self) {
        if self.hunk + 1 < self.page.heads.len() {
            self.show_hunk(self.hunk + 1);
            return;
        }
        let files = self.rows.iter().skip(self.cursor + 1);
        match files.into_iter().position(|row| row.body().is_some()) {
            Some(further) => self.go_to(self.cursor + 1 + further),
            None => self.say("This is the last hunk."),
        }
    }

    /// Goes to the hunk before, or to the file before.
    pub(super) fn previous_hunk(&mut self) {
        if self.hunk > 0 {
            self.show_hunk(self.hunk - 1);
            return;
        }
        let mut above = self.rows[..self.cursor.min(self.rows.len())].iter();
        match above.rposition(|row| row.body().is_some()) {
            Some(row) => self.go_to(row),
            None => self.say("This is the first hunk."),
        }
    }

    /// Puts the head of a hunk at the top, or as near to it as the end allows.
    fn show_hunk(&mut self, hunk: usize) {
        self.hunk = hunk;
        if let Some((start, end)) = self.page.span(hunk)
            && !(start >= self.page_top && end < self.page_top + self.page_height())
        {
            self.page_top = start.min(self.last_top());
        }
    }

    pub(super) fn next_with_findings(&mut self) {
        let from = self.rows.get(self.cursor).map_or(0, |row| {
            row.item().map_or(row.items().start, |item| item + 1)
        });
        let items = self.items_on_show(from..self.items.len());
        let found = items.into_iter().find(|item| self.has_findings(*item));
        self.go_to_item(found, "No finding further down.");
    }

    pub(super) fn previous_with_findings(&mut self) {
        let to = self
            .rows
            .get(self.cursor)
            .map_or(0, |row| row.items().start);
        let items = self.items_on_show(0..to);
        let found = items.into_iter().rfind(|item| self.has_findings(*item));
        self.go_to_item(found, "No finding further up.");
    }

    fn has_findings(&self, item: usize) -> bool {
        !self.items[item].findings.is_empty()
    }

    fn go_to_item(&mut self, item: Option<usize>, otherwise: &str) {
        match item.and_then(|item| self.reveal(item)) {
            Some(row) => self.go_to(row),
            None => self.say(otherwise),
        }
    }
}
