//! `TerminalSize`: columns and rows.

use std::fmt;
use std::str::FromStr;

use crate::ArgumentError;

/// Columns and rows of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalSize {
    /// Columns.
    pub columns: u16,
    /// Rows.
    pub rows: u16,
}

impl fmt::Display for TerminalSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.columns, self.rows)
    }
}

impl FromStr for TerminalSize {
    type Err = ArgumentError;

    fn from_str(text: &str) -> Result<Self, ArgumentError> {
        let size = text.split_once('x').and_then(|(columns, rows)| {
            Some(Self {
                columns: columns.parse().ok()?,
                rows: rows.parse().ok()?,
            })
        });
        size.filter(|size| size.to_string() == text)
            .ok_or_else(|| ArgumentError::value("terminal", "COLUMNSxROWS", text))
    }
}
