//! `Environment`: all that lazaret takes from its surroundings, read once in `main`.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};

use lazaret_gate::git_config::GitEnvironment;

use crate::failure::{Failure, FailureKind};

/// Whether a stream is a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamKind {
    /// A terminal: a person may be there.
    Terminal,
    /// A file, a pipe, nothing.
    Other,
}

/// The kinds of the three standard streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamKinds {
    /// Standard input.
    pub stdin: StreamKind,
    /// Standard output.
    pub stdout: StreamKind,
    /// Standard error.
    pub stderr: StreamKind,
}

/// The surroundings of the process. Nothing else in lazaret looks at them.
#[derive(Clone)]
pub struct Environment {
    /// The variables that lazaret may look at.
    pub variables: BTreeMap<String, OsString>,
    /// The kinds of the three streams.
    pub streams: StreamKinds,
    /// Columns of the terminal on stderr, when it is one.
    pub terminal_width: Option<u16>,
    /// The effective user id.
    pub uid: u32,
    /// The current directory.
    pub cwd: PathBuf,
}

/// Shows the names of variables only: some of their values are keys.
impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environment")
            .field("variables", &self.variables.keys())
            .field("streams", &self.streams)
            .field("terminal_width", &self.terminal_width)
            .field("uid", &self.uid)
            .field("cwd", &self.cwd)
            .finish()
    }
}

impl Environment {
    /// Keeps the variables whose names are UTF-8; no other one means anything to lazaret.
    pub fn new(
        variables: impl IntoIterator<Item = (OsString, OsString)>,
        streams: StreamKinds,
        terminal_width: Option<u16>,
        uid: u32,
        cwd: PathBuf,
    ) -> Self {
        let variables = variables
            .into_iter()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
            .collect();
        Self {
            variables,
            streams,
            terminal_width,
            uid,
            cwd,
        }
    }

    /// Returns a variable as text; an empty one or one that is not UTF-8 counts as absent.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.os(name)?.to_str()
    }

    /// Returns a variable as it is; an empty one counts as absent.
    pub(crate) fn os(&self, name: &str) -> Option<&OsStr> {
        let value = self.variables.get(name)?;
        (!value.is_empty()).then_some(value.as_os_str())
    }

    /// Returns the user's home directory.
    ///
    /// # Errors
    /// When `HOME` is unset or not absolute.
    pub fn home(&self) -> Result<&Path, Failure> {
        self.os("HOME")
            .map(Path::new)
            .filter(|home| home.is_absolute())
            .ok_or_else(|| {
                Failure::message(FailureKind::State, "HOME is not set to an absolute path")
                    .hinted("Set HOME, or XDG_STATE_HOME, XDG_CONFIG_HOME and XDG_CACHE_HOME.")
            })
    }

    /// Puts the home in the place of a `~` that a path begins with. Without one it stays.
    pub fn expand(&self, path: &Path) -> PathBuf {
        match (path.strip_prefix("~"), self.home()) {
            (Ok(rest), Ok(home)) => home.join(rest),
            _ => path.to_path_buf(),
        }
    }

    /// `$XDG_STATE_HOME/lazaret`: sessions.
    ///
    /// # Errors
    /// When neither the variable nor `HOME` is an absolute path.
    pub fn state_dir(&self) -> Result<PathBuf, Failure> {
        self.xdg("XDG_STATE_HOME", ".local/state")
    }

    /// `$XDG_CONFIG_HOME/lazaret`: the user's own profiles.
    ///
    /// # Errors
    /// When neither the variable nor `HOME` is an absolute path.
    pub fn config_dir(&self) -> Result<PathBuf, Failure> {
        self.xdg("XDG_CONFIG_HOME", ".config")
    }

    /// `$XDG_CACHE_HOME/lazaret`: what can be made again.
    ///
    /// # Errors
    /// When neither the variable nor `HOME` is an absolute path.
    pub fn cache_dir(&self) -> Result<PathBuf, Failure> {
        self.xdg("XDG_CACHE_HOME", ".cache")
    }

    /// Returns what the search for an engine looks at.
    pub fn for_detection(&self) -> lazaret_runtime::Environment {
        // One that is not UTF-8 names an engine all the same: it is refused, not passed over.
        let text = |name| Some(self.os(name)?.to_string_lossy().into_owned());
        let path = |name| self.os(name).map(PathBuf::from);
        lazaret_runtime::Environment {
            docker_host: text("DOCKER_HOST"),
            docker_context: text("DOCKER_CONTEXT"),
            docker_config: path("DOCKER_CONFIG"),
            docker_tls_verify: text("DOCKER_TLS_VERIFY"),
            docker_tls: text("DOCKER_TLS"),
            docker_cert_path: text("DOCKER_CERT_PATH"),
            container_host: text("CONTAINER_HOST"),
            kubeconfig: self.os("KUBECONFIG").map(ToOwned::to_owned),
            xdg_runtime_dir: path("XDG_RUNTIME_DIR"),
            home: path("HOME"),
            path: self.os("PATH").map(OsStr::to_owned),
            uid: self.uid,
            root: PathBuf::from("/"),
        }
    }

    /// Returns what git would read of the surroundings.
    pub fn for_git(&self) -> GitEnvironment<'_> {
        GitEnvironment {
            variables: &self.variables,
            cwd: &self.cwd,
        }
    }

    /// The XDG base directory specification: a relative path in a variable is ignored.
    fn xdg(&self, variable: &str, below_home: &str) -> Result<PathBuf, Failure> {
        let base = match self.os(variable).map(Path::new) {
            Some(path) if path.is_absolute() => path.to_path_buf(),
            _ => self.home()?.join(below_home),
        };
        Ok(base.join("lazaret"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(variables: &[(&str, &str)]) -> Environment {
        let streams = StreamKinds {
            stdin: StreamKind::Other,
            stdout: StreamKind::Other,
            stderr: StreamKind::Other,
        };
        let variables = variables
            .iter()
            .map(|(name, value)| (name.into(), value.into()));
        Environment::new(variables, streams, None, 1000, "/work".into())
    }

    #[test]
    fn directories_follow_the_xdg_specification() {
        let env = environment(&[("HOME", "/h")]);
        assert_eq!(
            env.state_dir().unwrap(),
            Path::new("/h/.local/state/lazaret")
        );
        assert_eq!(env.config_dir().unwrap(), Path::new("/h/.config/lazaret"));
        assert_eq!(env.cache_dir().unwrap(), Path::new("/h/.cache/lazaret"));

        let env = environment(&[
            ("XDG_STATE_HOME", "/s"),
            ("XDG_CONFIG_HOME", "relative"),
            ("XDG_CACHE_HOME", ""),
        ]);
        assert_eq!(env.state_dir().unwrap(), Path::new("/s/lazaret"));
        // Relative and empty values are to be ignored; then there is no HOME.
        assert!(env.config_dir().is_err());
        assert!(env.cache_dir().is_err());
    }

    #[test]
    fn flt_25_home_must_be_absolute() {
        assert!(environment(&[("HOME", "h")]).home().is_err());
        assert!(environment(&[("HOME", "")]).home().is_err());
        assert_eq!(
            environment(&[("HOME", "/h")]).home().unwrap(),
            Path::new("/h")
        );
    }
}
