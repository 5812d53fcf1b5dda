//! `ProjectSettings`: what a project's `lazaret.toml` says of its workspaces.

use std::path::Path;

use serde::Serialize;

use super::raw::RawIsolation;
use super::source::{ProfileError, Source};
use super::tighten::text;
use super::{Isolation, WORKSPACE_FILE, resolve};
use crate::failure::{Failure, FailureKind, OrFail as _};

/// What a project's `lazaret.toml` says of its workspaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectSettings {
    /// How much of the project a session sees at most: `Project` leaves it to the profile.
    pub isolation: Isolation,
    /// Paths that a command can read and not change.
    pub protect: Vec<String>,
    /// Paths of the project that go in with each of its workspaces, for reading only.
    pub share: Vec<String>,
}

#[derive(Debug, Serialize)]
struct File<'a> {
    workspace: Table<'a>,
}

#[derive(Debug, Serialize)]
struct Table<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    isolation: Option<&'static str>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    protect: &'a [String],
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    share: &'a [String],
}

impl ProjectSettings {
    /// Reads them; a project without the file leaves all to the profile.
    ///
    /// # Errors
    /// When the file can't be read, or is none.
    pub fn of(project: &Path) -> Result<Self, Failure> {
        Ok(Self::parse(&text(project)?.unwrap_or_default())?)
    }

    fn parse(text: &str) -> Result<Self, ProfileError> {
        let source = Source {
            file: WORKSPACE_FILE,
            text,
        };
        let raw = source.parse()?.workspace;
        let paths = |key, raw: &Option<toml::Spanned<Vec<String>>>| match raw {
            Some(raw) => resolve::paths(&source, key, raw),
            None => Ok(Vec::new()),
        };
        Ok(Self {
            isolation: match raw.isolation.as_ref().map(toml::Spanned::get_ref) {
                Some(RawIsolation::Workspace) => Isolation::Workspace,
                Some(RawIsolation::Project) | None => Isolation::Project,
            },
            protect: paths("protect", &raw.protect)?,
            share: paths("share", &raw.share)?,
        })
    }

    /// Writes the file.
    ///
    /// # Errors
    /// One of the paths is none.
    pub fn to_toml(&self) -> Result<String, Failure> {
        let file = File {
            workspace: Table {
                isolation: match self.isolation {
                    Isolation::Workspace => Some("workspace"),
                    Isolation::Project => None,
                },
                protect: &self.protect,
                share: &self.share,
            },
        };
        let text = toml::to_string(&file).or_fail(FailureKind::Internal, "the settings")?;
        Self::parse(&text)?;
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let settings = ProjectSettings {
            isolation: Isolation::Workspace,
            protect: vec!["AGENTS.md".to_owned(), "a \"b\"\\".to_owned()],
            share: Vec::new(),
        };
        let text = settings.to_toml().unwrap();
        assert_eq!(ProjectSettings::parse(&text).unwrap(), settings);
        let wrong = ProjectSettings {
            protect: vec!["../x".to_owned()],
            ..settings
        };
        assert!(wrong.to_toml().is_err());
        let none = ProjectSettings::parse("").unwrap();
        assert_eq!(none.isolation, Isolation::Project);
    }
}
