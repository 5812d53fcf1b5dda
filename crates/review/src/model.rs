//! `Review`: everything that a review knows between two keys. Pure: no terminal, no files.

use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;

use lazaret_gate::file_diff::LineCounts;
use lazaret_validator::Severity;

use super::branch::Commits;
use super::diff_view::DiffView;
use super::geometry::{Geometry, Pane};
use super::item::{Choice, Item, ItemStatus};
use super::page::PageLayout;
use super::plan::Plan;
use super::tree::{Body, Outline, Row, RowKind};

pub use super::mode::{Effect, Mode, ReviewAnswer};

/// Bodies that are kept for going back to.
const MOST_BODIES: usize = 16;

/// Which items are on show, by severity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Show {
    /// All.
    All,
    /// Those with a warning or worse.
    Warned,
    /// Those with a block finding.
    Blocked,
}

impl Show {
    /// Returns the least severity, if one is wanted.
    pub fn least(self) -> Option<Severity> {
        match self {
            Self::All => None,
            Self::Warned => Some(Severity::Warn),
            Self::Blocked => Some(Severity::Block),
        }
    }

    pub(super) fn next(self) -> Self {
        match self {
            Self::All => Self::Warned,
            Self::Warned => Self::Blocked,
            Self::Blocked => Self::All,
        }
    }
}

/// What the title says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Title {
    /// The session's name.
    pub session: String,
    /// The workspace, escaped.
    pub workspace: String,
    /// What was committed inside, in words; `None` where there is none.
    pub commits: Option<String>,
}

/// Everything that a review knows.
#[derive(Debug)]
pub struct Review {
    pub(super) title: Title,
    pub(super) items: Vec<Item>,
    pub(super) commits: Commits,
    outline: Outline,
    closed: BTreeSet<usize>,
    pub(super) closed_branches: BTreeSet<usize>,
    pub(super) show: Show,
    pub(super) search: String,
    wanted: Vec<bool>,
    pub(super) rows: Vec<Row>,
    pub(super) cursor: usize,
    pub(super) list_top: usize,
    pub(super) focus: Pane,
    pub(super) page: PageLayout,
    pub(super) page_top: usize,
    pub(super) hunk: usize,
    diff_views: VecDeque<(Body, DiffView)>,
    pub(super) geometry: Option<Geometry>,
    pub(super) mode: Mode,
    pub(super) notice: Option<String>,
}

impl Review {
    /// Starts a review of items, which are in path order.
    pub fn new(title: Title, items: Vec<Item>) -> Self {
        let mut review = Self {
            title,
            outline: Outline::new(&items),
            items,
            commits: Commits::default(),
            closed: BTreeSet::new(),
            closed_branches: BTreeSet::new(),
            show: Show::All,
            search: String::new(),
            wanted: Vec::new(),
            rows: Vec::new(),
            cursor: 0,
            list_top: 0,
            focus: Pane::List,
            page: PageLayout::default(),
            page_top: 0,
            hunk: 0,
            diff_views: VecDeque::new(),
            geometry: None,
            mode: Mode::Browse,
            notice: None,
        };
        review.list_again();
        review.cursor = review.first_row();
        review
    }

    /// Shows commits below the files.
    pub fn with_commits(mut self, commits: Commits) -> Self {
        self.closed_branches = commits.long_branches().collect();
        self.commits = commits;
        self.list_again();
        self.cursor = self.first_row();
        self
    }

    /// Returns the first row that is more than a heading.
    fn first_row(&self) -> usize {
        let mut rows = self.rows.iter();
        rows.position(|row| row.item().is_some() || row.branch().is_some())
            .unwrap_or(0)
    }

    /// Takes the size of the screen, in columns and rows.
    pub fn resize(&mut self, width: u16, height: u16) {
        self.geometry = Geometry::new(width, height);
        self.lay_out();
        self.keep_in_sight();
    }

    /// Borrows the items, with what was chosen.
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// Takes what the gate says of the items now; what was chosen stays as it is.
    pub fn rejudged(&mut self, statuses: Vec<ItemStatus>) {
        for (item, status) in self.items.iter_mut().zip(statuses) {
            item.status = status;
        }
        self.lay_out();
    }

    /// Shows what would be applied and landed, and asks.
    pub fn ask(&mut self, mut plan: Plan) {
        self.plan_commits(&mut plan);
        self.mode = Mode::Apply(plan, 0);
    }

    /// Says something on the bottom line until the next key.
    pub fn say(&mut self, words: impl Into<String>) {
        self.notice = Some(words.into());
    }

    /// Returns what the body is to be shown of and is not there yet.
    pub fn wanted_body(&self) -> Option<Body> {
        let body = self.body()?;
        self.body_of(body).is_none().then_some(body)
    }

    /// Takes a body.
    pub fn put_body(&mut self, body: Body, diff_view: DiffView) {
        if let Body::Item(item) = body {
            self.items[item].counts = Some(diff_view.counts());
        }
        self.diff_views.retain(|(other, _)| *other != body);
        self.diff_views.push_front((body, diff_view));
        self.diff_views.truncate(MOST_BODIES);
        if self.body() == Some(body) {
            self.lay_out();
        }
    }

    /// Returns an item on show whose lines were not counted yet.
    pub fn wanted_counts(&self) -> Option<usize> {
        let height = self.list_height();
        let rows = self.rows.iter().skip(self.list_top).take(height);
        rows.filter_map(Row::item)
            .find(|item| self.items[*item].counts.is_none())
    }

    /// Takes the number of an item's lines.
    pub fn put_counts(&mut self, item: usize, counts: LineCounts) {
        self.items[item].counts = Some(counts);
    }

    /// Returns the item under the cursor.
    pub fn selected(&self) -> Option<usize> {
        self.rows.get(self.cursor)?.item()
    }

    /// Returns what the diff pane shows the contents of.
    pub(super) fn body(&self) -> Option<Body> {
        self.rows.get(self.cursor)?.body()
    }

    pub(super) fn diff_view(&self) -> Option<&DiffView> {
        self.body_of(self.body()?)
    }

    pub(super) fn body_of(&self, body: Body) -> Option<&DiffView> {
        let mut views = self.diff_views.iter();
        let found = views.find(|(other, _)| *other == body);
        found.map(|(_, diff_view)| diff_view)
    }

    /// Lists the rows again after the filter or a directory changed; the cursor stays on
    /// what it was on, or goes to what is nearest before it.
    pub(super) fn list_again(&mut self) {
        let before = self.rows.get(self.cursor).cloned();
        let search = self.search.to_lowercase();
        let is_wanted = |item: &Item| {
            (self.show.least()).is_none_or(|least| item.severity() >= Some(least))
                && item.path.to_lowercase().contains(&search)
        };
        self.wanted = self.items.iter().map(is_wanted).collect();
        self.rows = self.outline.rows(&self.wanted, &self.closed);
        self.rows.extend(self.commit_rows(&search));
        if let Some(before) = &before {
            self.cursor = self.row_like(before);
        }
        self.cursor = self.cursor.min(self.rows.len().saturating_sub(1));
        let after = self.rows.get(self.cursor);
        if after.map(Row::key) != before.as_ref().map(Row::key) {
            self.page_top = 0;
            self.hunk = 0;
        }
        self.lay_out();
        self.keep_in_sight();
    }

    /// Returns the row that stands for the same, or the nearest one before it.
    fn row_like(&self, before: &Row) -> usize {
        let mut rows = self.rows.iter();
        let at = before.items().start;
        let same = rows.position(|row| {
            row.key() == before.key() && (row.body().is_some() || row.is_of_commits())
        });
        let nearest = |row: &Row| match before.is_of_commits() {
            true => row.branch() <= before.branch(),
            false => !row.is_of_commits() && row.items().start <= at,
        };
        same.or_else(|| self.rows.iter().rposition(nearest))
            .unwrap_or(0)
    }

    /// Opens or closes the directory under the cursor.
    pub(super) fn fold(&mut self, id: usize) {
        if !self.closed.remove(&id) {
            self.closed.insert(id);
        }
        self.list_again();
    }

    /// Opens all directories in which an item lies hidden.
    pub(super) fn reveal(&mut self, item: usize) -> Option<usize> {
        loop {
            if let Some(row) = self.rows.iter().position(|row| row.item() == Some(item)) {
                return Some(row);
            }
            let hiding = self.rows.iter().find_map(|row| match &row.kind {
                RowKind::Dir(dir) if dir.is_closed && dir.items.contains(&item) => Some(dir.id),
                _ => None,
            })?;
            self.fold(hiding);
        }
    }

    /// Puts the cursor on a row.
    pub(super) fn go_to(&mut self, row: usize) {
        let before = self.rows.get(self.cursor).map(Row::key);
        self.cursor = row.min(self.rows.len().saturating_sub(1));
        if self.rows.get(self.cursor).map(Row::key) != before {
            self.page_top = 0;
            self.hunk = 0;
        }
        self.lay_out();
        self.keep_in_sight();
    }

    /// Lays the diff pane out again.
    pub(super) fn lay_out(&mut self) {
        let page = match (self.geometry, self.rows.get(self.cursor)) {
            (Some(geometry), Some(row)) => {
                let width = usize::from(geometry.diff.width).saturating_sub(1);
                match (row.item(), row.is_of_commits()) {
                    (_, true) => self.commit_page(row, width),
                    (Some(item), false) => {
                        let body = self.body_of(Body::Item(item));
                        PageLayout::new(&self.items[item], body, width)
                    }
                    (None, false) => {
                        PageLayout::of_dir(row.name(&self.items), &self.items[row.items()], width)
                    }
                }
            }
            _ => PageLayout::default(),
        };
        self.page = page;
        self.hunk = self.hunk.min(self.page.heads.len().saturating_sub(1));
        self.page_top = self.page_top.min(self.last_top());
    }

    /// Returns the furthest that the diff can be scrolled.
    pub(super) fn last_top(&self) -> usize {
        self.page.rows.len().saturating_sub(self.page_height())
    }

    pub(super) fn page_height(&self) -> usize {
        self.geometry
            .map_or(1, |geometry| usize::from(geometry.diff.height))
    }

    pub(super) fn list_height(&self) -> usize {
        self.geometry
            .map_or(1, |geometry| usize::from(geometry.list.height))
    }

    fn keep_in_sight(&mut self) {
        let height = self.list_height();
        let last = self.rows.len().saturating_sub(height);
        let lowest = (self.cursor + 1).saturating_sub(height);
        self.list_top = self.list_top.clamp(lowest.min(last), self.cursor.min(last));
    }

    /// Returns the rows of text that a screen of its own can show.
    pub(super) fn text_height(&self) -> usize {
        self.page_height().saturating_sub(1)
    }

    /// Takes what was left among `items`, or leaves all of it when nothing was. What was moved
    /// goes with its new place; by itself it is taken or left only where it is the one item.
    pub(super) fn toggle_items(&mut self, items: &[usize]) {
        let mut free = items.iter().filter(|item| self.items[**item].is_free());
        let choice = match free.all(|item| self.items[*item].choice == Choice::Take) {
            true => Choice::Leave,
            false => Choice::Take,
        };
        for item in items {
            if self.items[*item].is_free() {
                self.items[*item].choice = choice.clone();
            }
        }
        match items {
            [item] => self.take_half_along(*item),
            items => {
                let is_meant = |item: &usize| items.binary_search(item).is_ok();
                for item in 0..self.items.len() {
                    let from = self.items[item].moved_from.map(|from| from as usize);
                    if is_meant(&item) || from.as_ref().is_some_and(is_meant) {
                        self.take_half_along(item);
                    }
                }
            }
        }
    }

    /// Leaves or takes what was moved to an item with it.
    pub(super) fn take_half_along(&mut self, item: usize) {
        let Item {
            moved_from, choice, ..
        } = &self.items[item];
        if let (Some(from), Choice::Take | Choice::Leave) = (moved_from, choice) {
            let (from, choice) = (*from as usize, choice.clone());
            self.items[from].choice = choice;
        }
    }

    /// Returns which of `items` the filter lets through, in closed directories too.
    pub(super) fn items_on_show(&self, items: Range<usize>) -> Vec<usize> {
        items.filter(|item| self.wanted[*item]).collect()
    }
}
