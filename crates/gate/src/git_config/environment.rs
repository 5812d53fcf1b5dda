//! `GitEnvironment`: what git reads of its surroundings.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::Path;

/// The variables and the current directory of the process that would run git.
#[derive(Clone, Copy)]
pub struct GitEnvironment<'a> {
    /// The variables.
    pub variables: &'a BTreeMap<String, OsString>,
    /// The current directory, as an absolute path.
    pub cwd: &'a Path,
}

/// Shows the names of variables only: some of their values are keys.
impl fmt::Debug for GitEnvironment<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GitEnvironment")
            .field("variables", &self.variables.keys())
            .field("cwd", &self.cwd)
            .finish()
    }
}

impl<'a> GitEnvironment<'a> {
    /// Returns the user's home directory; `None` if `HOME` is unset or not absolute.
    pub(super) fn home(self) -> Option<&'a Path> {
        let home = Path::new(self.variables.get("HOME")?);
        home.is_absolute().then_some(home)
    }

    /// Returns a variable as text; `None` if it is empty or not UTF-8.
    pub(super) fn text(self, name: &str) -> Option<&'a str> {
        let value = self.variables.get(name)?.to_str()?;
        (!value.is_empty()).then_some(value)
    }
}
