//! `Screen`: which of its two screens a terminal shows.

/// One of the two screens of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Screen {
    /// The one with scrollback.
    #[default]
    Normal,
    /// The one of full-screen programs.
    Alternate,
}
