//! `Geometry`: what goes where on a screen of some size.

use ratatui::layout::Rect;

/// The fewest columns and rows in which a review makes sense.
pub const SMALLEST: (u16, u16) = (40, 10);

/// From here on the list and the diff are side by side.
const WIDE: u16 = 72;

/// Which pane has the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pane {
    /// The list of files.
    List,
    /// The diff of the selected one.
    Diff,
}

/// What goes where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Geometry {
    /// Everything.
    pub screen: Rect,
    /// The line at the top.
    pub title: Rect,
    /// The list; as large as the diff when only one of them is on show.
    pub list: Rect,
    /// The line between them, when both are on show.
    pub divider: Option<Rect>,
    /// The diff.
    pub diff: Rect,
    /// The lines at the bottom.
    pub status: Rect,
}

impl Geometry {
    /// What is drawn instead of the panes goes here.
    pub fn middle(&self) -> Rect {
        Rect {
            x: 1,
            y: 2,
            width: self.screen.width - 2,
            height: self.screen.height - 4,
        }
    }

    /// Divides a screen; `None` when it is too small.
    pub fn new(width: u16, height: u16) -> Option<Self> {
        if width < SMALLEST.0 || height < SMALLEST.1 {
            return None;
        }
        let rect = Rect::new;
        let middle = height - 3;
        let (list, divider, diff) = if width < WIDE {
            let whole = rect(0, 1, width, middle);
            (whole, None, whole)
        } else {
            let left = (width * 2 / 5).clamp(30, 60);
            (
                rect(0, 1, left, middle),
                Some(rect(left, 1, 1, middle)),
                rect(left + 2, 1, width - left - 2, middle),
            )
        };
        Some(Self {
            screen: rect(0, 0, width, height),
            title: rect(0, 0, width, 1),
            list,
            divider,
            diff,
            status: rect(0, height - 2, width, 2),
        })
    }

    /// Whether a pane is on show while `focus` has the keys.
    pub fn shows(&self, pane: Pane, focus: Pane) -> bool {
        self.divider.is_some() || pane == focus
    }
}
