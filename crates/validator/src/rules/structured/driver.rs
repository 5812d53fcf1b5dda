//! Both sides of a file that package managers read: what the rules for lockfiles and for
//! manifests have in common.

use lazaret_tree::{Change, Entry, FindingCode};

use crate::Severity::{Block, Note, Warn};
use crate::finding_buffer::FindingBuffer;
use crate::rules::{Context, FilePair, FileSide};

use super::{Unreadable, line_of, text_of};

/// A kind of files that are read and compared.
#[derive(Debug)]
pub(crate) struct DocumentKind {
    /// What such a file is called.
    pub(crate) noun: &'static str,
    /// A link stands in its place.
    pub(crate) link: &'static FindingCode,
    /// It was deleted.
    pub(crate) deleted: &'static FindingCode,
    /// It can't be read.
    pub(crate) unreadable: &'static FindingCode,
}

/// What is known of a file before the change.
#[derive(Debug)]
pub(crate) enum Before<T> {
    /// There was none.
    New,
    /// It is not known, or says nothing that can be read.
    Unknown(Unreadable),
    /// What it said.
    Known(T),
}

impl<T> Before<T> {
    /// Returns what the file said, where that is known.
    pub(crate) fn known(&self) -> Option<&T> {
        match self {
            Self::Known(known) => Some(known),
            Self::New | Self::Unknown(_) => None,
        }
    }
}

/// Both sides of a file, as far as they can be read.
#[derive(Debug)]
pub(crate) struct Sides<'a, T> {
    pub(crate) before: Before<T>,
    pub(crate) after: T,
    /// The text of the new side.
    pub(crate) text: &'a str,
}

impl DocumentKind {
    /// Says what is not about contents: that a file goes, or becomes a link.
    pub(crate) fn check_entry(
        &self,
        context: &Context<'_>,
        change: &Change,
        deleted: &str,
        buffer: &mut FindingBuffer,
    ) {
        let path = &change.path;
        if context.is_git(path) {
            return;
        }
        let was_file = matches!(change.before, Some(Entry::File { .. }));
        match &change.after {
            Some(Entry::Symlink { .. }) => {
                let message = format!("a link stands where a {} is looked for", self.noun);
                buffer.path(path, Warn, self.link, message);
            }
            None if was_file => buffer.path(path, Note, self.deleted, deleted.to_owned()),
            Some(Entry::File { .. } | Entry::Dir) | None => {}
        }
    }

    /// Reads both sides. If the new one can't be read, it says so and returns nothing.
    pub(crate) fn read<'a, T>(
        &self,
        pair: &'a FilePair<'_>,
        read: impl Fn(&'a str) -> Result<T, Unreadable>,
        buffer: &mut FindingBuffer,
    ) -> Option<Sides<'a, T>> {
        if let FileSide::Unreadable(_) = pair.after() {
            // `content.unreadable` withholds it.
            return None;
        }
        let before = match pair.before() {
            FileSide::Absent => Before::New,
            side => match text_of(side).and_then(&read) {
                Ok(known) => Before::Known(known),
                Err(why) => Before::Unknown(why),
            },
        };
        let text = text_of(pair.after());
        let found = text.clone().and_then(|text| Ok((text, read(text)?)));
        match found {
            Ok((text, after)) => Some(Sides {
                before,
                after,
                text,
            }),
            Err(why) => {
                let severity = if before.known().is_some() {
                    Block
                } else {
                    Warn
                };
                let noun = self.noun;
                let message = format!("can't be read as the {noun} that its name says: {why}");
                let (path, text) = (pair.path(), text.unwrap_or_default());
                match why.at {
                    Some(at) => {
                        let place = (path, line_of(text, at));
                        buffer.line(place, severity, self.unreadable, message);
                    }
                    None => buffer.path(path, severity, self.unreadable, message),
                }
                None
            }
        }
    }
}
