//! The ignore files that the walk meets on its way down.

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::{IgnoreMatch, Kind, ignore_match};

/// Which file a rule comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IgnoreFile {
    /// `.gitignore`, or `.git/info/exclude`: a bad line is no rule.
    Git,
    /// `.lazaretignore`: a bad line is an error.
    Lazaret,
}

/// The rules in force at one place, outermost first.
#[derive(Debug, Default)]
pub(crate) struct Ignores {
    levels: Vec<Level>,
}

#[derive(Debug)]
struct Level {
    /// How many bytes of a path name the directory that the file lies in, with the
    /// slash behind it.
    prefix: usize,
    file: IgnoreFile,
    rules: Gitignore,
}

/// A line of a `.lazaretignore` that is no pattern.
#[derive(Debug)]
pub(crate) struct BadLine {
    /// From 1.
    pub(crate) line: usize,
    pub(crate) message: String,
}

impl Ignores {
    /// Adds the rules of a file in the directory of a path with `prefix` bytes.
    pub(crate) fn push(
        &mut self,
        prefix: usize,
        file: IgnoreFile,
        contents: &[u8],
    ) -> Result<(), BadLine> {
        let text = String::from_utf8_lossy(contents);
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let mut builder = GitignoreBuilder::new("");
        for (index, line) in text.lines().enumerate() {
            if let Err(error) = builder.add_line(None, line)
                && file == IgnoreFile::Lazaret
            {
                let (line, message) = (index + 1, reason(error));
                return Err(BadLine { line, message });
            }
        }
        let rules = builder.build().map_err(|error| BadLine {
            line: 1,
            message: reason(error),
        })?;
        if !rules.is_empty() {
            self.levels.push(Level {
                prefix,
                file,
                rules,
            });
        }
        Ok(())
    }

    /// How many files are in force.
    pub(crate) fn depth(&self) -> usize {
        self.levels.len()
    }

    /// Leaves directories: only the outermost `depth` files stay in force.
    pub(crate) fn truncate(&mut self, depth: usize) {
        self.levels.truncate(depth);
    }

    /// Asks the nearest file of that sort that has an opinion.
    pub(crate) fn ignore_match(
        &self,
        file: IgnoreFile,
        path: &[u8],
        kind: Kind,
    ) -> Option<IgnoreMatch> {
        let levels = self.levels.iter().rev().filter(|level| level.file == file);
        levels
            .filter_map(|level| ignore_match(&level.rules, path.get(level.prefix..)?, kind))
            .next()
    }
}

/// What is wrong with a pattern, without the path that the error may carry.
pub(super) fn reason(error: ignore::Error) -> String {
    match error {
        ignore::Error::Glob { err, .. } => err,
        other => other.to_string(),
    }
}
