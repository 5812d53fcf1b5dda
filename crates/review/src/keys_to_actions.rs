//! What each key does.

use super::branch::BranchChoice;
use super::geometry::Pane;
use super::help;
use super::item::{Allowance, Choice, ItemStatus, Mark, Sign};
use super::keys::Key;
use super::model::{Effect, Mode, Review, ReviewAnswer};
use super::tree::Row;

/// What is typed to pass what holds an item back.
const WORDS: [&str; 2] = ["allow", "theirs"];

/// Returns what has to be typed to pass what holds an item back.
pub(super) fn word(status: &ItemStatus) -> &'static str {
    let [allow, theirs] = WORDS;
    match status {
        ItemStatus::Conflict(_) => theirs,
        ItemStatus::Blocked | ItemStatus::Free | ItemStatus::Stays(_) => allow,
    }
}

impl Review {
    /// Takes a key, and says what is to be done.
    pub fn press(&mut self, key: Key) -> Effect {
        self.notice = None;
        // Ctrl-C leaves from everywhere, and is never a yes.
        match key {
            Key::Ctrl('c') => return Effect::End(ReviewAnswer::Keep),
            Key::Ctrl('z') => return Effect::Suspend,
            _ => {}
        }
        if self.geometry.is_none() {
            // A question that can't be read can't be answered either.
            return match key {
                Key::Char('q') => Effect::End(ReviewAnswer::Keep),
                _ => Effect::None,
            };
        }
        match std::mem::replace(&mut self.mode, Mode::Browse) {
            Mode::Browse => self.navigate(key),
            Mode::Help(top) => self.help(key, top),
            Mode::Filter => self.filter(key),
            Mode::Allow {
                item,
                typed,
                allowance,
            } => self.allow(key, item, typed, allowance),
            Mode::NotAllowed { reason, typed } => self.swallow(key, reason, typed),
            Mode::Apply(plan, top) => match key {
                Key::Char('y') if plan.can_apply() => Effect::End(ReviewAnswer::Apply),
                key => {
                    if let Some(top) = self.scrolled(key, top, plan.len()) {
                        self.mode = Mode::Apply(plan, top);
                    } else {
                        self.say("Nothing was applied.");
                    }
                    Effect::None
                }
            },
            Mode::Discard => match key {
                Key::Char('y') => Effect::End(ReviewAnswer::Discard),
                _ => {
                    self.say("Nothing was discarded.");
                    Effect::None
                }
            },
        }
    }

    fn navigate(&mut self, key: Key) -> Effect {
        match key {
            Key::Char('q') => return Effect::End(ReviewAnswer::Keep),
            Key::Char('?') => self.mode = Mode::Help(0),
            Key::Char('/') => self.mode = Mode::Filter,
            Key::Esc => {
                self.search.clear();
                self.list_again();
            }
            Key::Char('f') => {
                self.show = self.show.next();
                self.list_again();
            }
            Key::Tab | Key::BackTab => self.focus = other(self.focus),
            Key::Char('a') => {
                self.toggle_all();
            }
            Key::Char('A') => return Effect::Propose,
            Key::Char('D') => {
                self.mode = Mode::Discard;
                return Effect::Ask;
            }
            Key::Char('e') => return Effect::Export,
            Key::Char('!') => return self.allow_or_explain(),
            Key::Char('n') => self.next_hunk(),
            Key::Char('N') => self.previous_hunk(),
            Key::Char(']') => self.next_with_findings(),
            Key::Char('[') => self.previous_with_findings(),
            key => match self.focus {
                Pane::List => return self.browse_list(key),
                Pane::Diff => self.browse_diff(key),
            },
        }
        Effect::None
    }

    /// Says that a key has no meaning.
    pub(super) fn say_unknown(&mut self, key: Key) {
        self.say(format!("{key} does nothing here; ? lists the keys."));
    }

    /// Asks for the word that allows, or says why there is nothing to allow.
    fn allow_or_explain(&mut self) -> Effect {
        let effect = self.start_allowing();
        if let (Mode::Browse, Some(reason)) = (&self.mode, &self.notice) {
            self.mode = Mode::NotAllowed {
                reason: reason.clone(),
                typed: String::new(),
            };
        }
        effect
    }

    /// Takes letters of the word that would allow; every other key acts as it does always.
    fn swallow(&mut self, key: Key, reason: String, mut typed: String) -> Effect {
        match key {
            Key::Char(letter) => {
                typed.push(letter);
                if !WORDS.iter().any(|word| word.starts_with(&typed)) {
                    return self.navigate(key);
                }
            }
            Key::Enter if !typed.is_empty() => return Effect::None,
            Key::Esc => return Effect::None,
            Key::Backspace => drop(typed.pop()),
            _ => return self.navigate(key),
        }
        self.say(reason.clone());
        self.mode = Mode::NotAllowed { reason, typed };
        Effect::None
    }

    /// Takes everything on show, or leaves it where all of it is taken.
    fn toggle_all(&mut self) {
        let items = self.items_on_show(0..self.items.len());
        let branches = self.branches_on_show();
        let is_taken = |item: &usize| {
            let item = &self.items[*item];
            !item.is_free() || item.choice == Choice::Take
        };
        let are_taken = items.iter().all(is_taken);
        let are_landed = self.are_landed(&branches);
        // Files that are taken already stay so if branches were left.
        if !are_taken || are_landed {
            self.toggle_items(&items);
        }
        let choice = match are_taken && are_landed {
            true => BranchChoice::Leave,
            false => BranchChoice::Land,
        };
        self.choose_branches(&branches, choice);
        self.lay_out();
    }

    fn start_allowing(&mut self) -> Effect {
        let Some(item) = self.selected() else {
            if self.rows.get(self.cursor).is_some_and(Row::is_of_commits) {
                self.say("`lazaret commits land` takes `--allow PATH` for what blocks a branch.");
            } else if self.rows.is_empty() {
                self.say("There is nothing here to allow.");
            } else {
                self.say("Choose a file: ! allows one at a time.");
            }
            return Effect::None;
        };
        let shown = &mut self.items[item];
        match (&shown.status, shown.allowance) {
            (ItemStatus::Blocked | ItemStatus::Conflict(_), Allowance::None) => {
                self.mode = Mode::Allow {
                    item,
                    typed: String::new(),
                    allowance: Allowance::Once,
                };
                Effect::Ask
            }
            (
                ItemStatus::Blocked | ItemStatus::Conflict(_),
                Allowance::Once | Allowance::Remembered,
            ) => {
                shown.allowance = Allowance::None;
                self.say("The allowance was taken back.");
                Effect::Rejudge
            }
            (ItemStatus::Stays(_), _) => {
                self.explain_refusal(Some(item));
                Effect::None
            }
            (ItemStatus::Free, _) => {
                self.say("This is not blocked.");
                Effect::None
            }
        }
    }

    fn allow(
        &mut self,
        key: Key,
        item: usize,
        mut typed: String,
        mut allowance: Allowance,
    ) -> Effect {
        let word = word(&self.items[item].status);
        // Whose version wins is a choice of the moment.
        let can_remember = self.items[item].status == ItemStatus::Blocked;
        match key {
            Key::Esc => return Effect::None,
            Key::Tab | Key::BackTab if can_remember => {
                allowance = match allowance {
                    Allowance::Remembered => Allowance::Once,
                    Allowance::None | Allowance::Once => Allowance::Remembered,
                };
            }
            Key::Enter if typed == word => {
                self.items[item].allowance = allowance;
                self.items[item].choice = Choice::Take;
                self.lay_out();
                return Effect::Rejudge;
            }
            Key::Enter => {
                self.say("Another word was typed; nothing has changed.");
                return Effect::None;
            }
            Key::Backspace => {
                typed.pop();
            }
            Key::Char(c) if typed.len() < word.len() => typed.push(c),
            _ => {}
        }
        self.mode = Mode::Allow {
            item,
            typed,
            allowance,
        };
        Effect::None
    }

    fn filter(&mut self, key: Key) -> Effect {
        match key {
            Key::Enter => return Effect::None,
            Key::Esc => {
                self.search.clear();
                self.list_again();
                return Effect::None;
            }
            Key::Backspace => {
                self.search.pop();
            }
            Key::Char(c) => self.search.push(c),
            _ => {}
        }
        self.list_again();
        self.mode = Mode::Filter;
        Effect::None
    }

    fn help(&mut self, key: Key, top: usize) -> Effect {
        let width = self.geometry.map_or(0, |geometry| geometry.middle().width);
        let rows = help::lines(width.into()).len();
        if let Some(top) = self.scrolled(key, top, rows) {
            self.mode = Mode::Help(top);
        }
        Effect::None
    }

    /// Returns the first row on show of a text of `rows` rows; `None` for every key that
    /// does not scroll.
    fn scrolled(&self, key: Key, top: usize, rows: usize) -> Option<usize> {
        let height = self.text_height();
        let page = height.saturating_sub(1).max(1);
        let wanted = match key {
            Key::Up | Key::Char('k') => top.saturating_sub(1),
            Key::Down | Key::Char('j') => top + 1,
            Key::PageUp | Key::Ctrl('b') => top.saturating_sub(page),
            Key::PageDown | Key::Ctrl('f') => top + page,
            Key::Home | Key::Char('g') => 0,
            Key::End | Key::Char('G') => usize::MAX,
            _ => return None,
        };
        Some(wanted.min(rows.saturating_sub(height)))
    }

    /// Counts the files that are taken, of all that could be; and those that stay.
    pub(super) fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for item in self
            .items
            .iter()
            .filter(|item| item.sign != Sign::Mentioned)
        {
            counts.all += 1;
            match item.mark() {
                Mark::Taken => counts.taken += 1,
                Mark::Partly => {
                    counts.taken += 1;
                    counts.partly += 1;
                }
                Mark::Left => {}
                Mark::Stays => counts.stays += 1,
            }
        }
        counts
    }
}

/// What the bottom line says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Changes.
    pub(super) all: usize,
    /// Changes that are taken, at least in part.
    pub(super) taken: usize,
    /// Changes that are taken in part.
    pub(super) partly: usize,
    /// Changes that can't be taken.
    pub(super) stays: usize,
}

fn other(pane: Pane) -> Pane {
    match pane {
        Pane::List => Pane::Diff,
        Pane::Diff => Pane::List,
    }
}
