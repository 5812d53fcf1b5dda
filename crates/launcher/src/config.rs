//! `Config`: the user's own defaults, from `config.toml` beside the profiles.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::environment::Environment;
use crate::failure::{Failure, FailureKind};
use crate::profile::{ProfileError, read_user_file};

/// The user's own defaults. No workspace can hold this file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Config {
    /// The profile of `run` and `start` where none is named and none is for the project.
    pub(crate) profile: Option<String>,
    /// The engine where neither a flag nor a variable names one.
    pub(crate) engine: Option<String>,
    /// What the clients of `lazaret mcp` may use.
    pub(crate) mcp: Option<McpConfig>,
    /// What groups may read beside their projects.
    pub(crate) extra: Option<ExtraConfig>,
}

/// `[extra]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExtraConfig {
    /// Directories that hold what groups may read.
    #[serde(default)]
    pub(crate) roots: Vec<PathBuf>,
}

/// `[mcp]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct McpConfig {
    /// Directories that hold the workspaces.
    #[serde(default)]
    pub(crate) roots: Vec<PathBuf>,
    /// Names of profiles.
    #[serde(default)]
    pub(crate) profiles: Vec<String>,
}

impl Config {
    /// Reads the file; without one, there are no defaults.
    ///
    /// # Errors
    /// It can't be read, or holds something else than is expected.
    pub(crate) fn load(env: &Environment) -> Result<Self, Failure> {
        let file = Self::file(env)?;
        match read_user_file(&file)? {
            Some(text) => Self::parse(&file, &text),
            None => Ok(Self::default()),
        }
    }

    /// Returns where it is.
    ///
    /// # Errors
    /// There is no directory for it.
    pub(crate) fn file(env: &Environment) -> Result<PathBuf, Failure> {
        Ok(env.config_dir()?.join("config.toml"))
    }

    fn parse(file: &Path, text: &str) -> Result<Self, Failure> {
        toml::from_str(text).map_err(|error| {
            let shown = file.display().to_string();
            let error = ProfileError::of_toml(&shown, text, &error);
            Failure::new(FailureKind::Profile, error)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Config, String> {
        Config::parse(Path::new("config.toml"), text).map_err(|failure| failure.chain().join(": "))
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        for (text, expected) in [
            (
                "profil = \"claude\"\n",
                "config.toml:1:1: unknown key `profil`",
            ),
            ("\nengine = 3\n", "config.toml:2:10: found integer"),
            ("[mcp]\nroot = []\n", "config.toml:2:1: unknown key `root`"),
            ("engine", "config.toml:1:7"),
        ] {
            let found = parse(text).unwrap_err();
            assert!(found.starts_with(expected), "{found}");
        }
        let config = parse("profile = \"claude\"\nengine = \"podman\"\n").unwrap();
        assert_eq!(config.profile.as_deref(), Some("claude"));
        assert_eq!(config.engine.as_deref(), Some("podman"));
        assert!(parse("").unwrap().mcp.is_none());
    }
}
