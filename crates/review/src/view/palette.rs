//! What things look like. Whatever a colour says, a character says too.

use lazaret_gate::file_diff::LineKind;
use lazaret_validator::Severity;
use ratatui::style::{Color, Modifier, Style};

use crate::item::{Mark, Sign};
use crate::text::TextStyle;

/// Whether there are colours. Bold, reversed and underlined text is no colour
/// (no-color.org).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Palette {
    /// The sixteen colours of the terminal, so that they fit its background.
    Coloured,
    /// None.
    Plain,
}

impl Palette {
    fn colour(self, colour: Color) -> Style {
        match self {
            Self::Coloured => Style::new().fg(colour),
            Self::Plain => Style::new(),
        }
    }

    pub(super) fn title(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    pub(super) fn dim(self) -> Style {
        match self {
            Self::Coloured => Style::new().fg(Color::DarkGray),
            Self::Plain => Style::new().add_modifier(Modifier::DIM),
        }
    }

    pub(super) fn key(self) -> Style {
        self.colour(Color::Cyan).add_modifier(Modifier::BOLD)
    }

    pub(super) fn question(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD | Modifier::REVERSED)
    }

    pub(super) fn cursor(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    pub(super) fn head(self) -> Style {
        self.colour(Color::Cyan)
    }

    pub(super) fn severity(self, severity: Option<Severity>) -> Style {
        match severity {
            Some(Severity::Block) => self.colour(Color::Red).add_modifier(Modifier::BOLD),
            Some(Severity::Warn) => self.colour(Color::Yellow).add_modifier(Modifier::BOLD),
            Some(Severity::Note) => self.colour(Color::Blue),
            None => Style::new(),
        }
    }

    pub(super) fn mark(self, mark: Mark) -> Style {
        match mark {
            Mark::Taken | Mark::Partly => Style::new().add_modifier(Modifier::BOLD),
            Mark::Left => self.dim(),
            Mark::Stays => self.colour(Color::Red).add_modifier(Modifier::BOLD),
        }
    }

    pub(super) fn sign(self, sign: Sign) -> Style {
        match sign {
            Sign::Added => self.colour(Color::Green),
            Sign::Modified => self.colour(Color::Yellow),
            Sign::Deleted => self.colour(Color::Red),
            Sign::Mentioned => Style::new(),
        }
    }

    pub(super) fn line(self, kind: LineKind) -> Style {
        match kind {
            LineKind::Context => Style::new(),
            LineKind::Removed => self.colour(Color::Red),
            LineKind::Added => self.colour(Color::Green),
        }
    }

    pub(super) fn text_style(self, kind: LineKind, text_style: TextStyle) -> Style {
        let line = self.line(kind);
        match (text_style, self) {
            (TextStyle::Plain, _) => line,
            (TextStyle::Changed, Self::Coloured) => line.add_modifier(Modifier::REVERSED),
            (TextStyle::Changed, Self::Plain) => {
                line.add_modifier(Modifier::BOLD | Modifier::UNDERLINED)
            }
            (TextStyle::Escaped, _) => {
                let style = self.colour(Color::Magenta);
                style.add_modifier(Modifier::BOLD | Modifier::REVERSED)
            }
            (TextStyle::Tab, _) => self.dim(),
        }
    }
}
