//! `ArgumentError`: arguments that no verb of the porter takes.

/// Why arguments can't be used. Host and porter are of one build, so any of these means that
/// they are not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ArgumentError {
    /// An argument, an option or a key that does not exist.
    #[error("unexpected argument `{}`", lazaret_tree::escape(.found.as_bytes()))]
    Unexpected {
        /// The argument.
        found: String,
    },
    /// A value of another form.
    #[error("{name}: expected {wanted}, found `{}`", lazaret_tree::escape(.found.as_bytes()))]
    Value {
        /// Of what.
        name: &'static str,
        /// What it should be.
        wanted: &'static str,
        /// The value.
        found: String,
    },
    /// Nothing where something has to be.
    #[error("no {name}")]
    Missing {
        /// What is missing.
        name: &'static str,
    },
}

impl ArgumentError {
    /// Returns the error of a value of another form.
    pub(crate) fn value(name: &'static str, wanted: &'static str, found: &str) -> Self {
        let found = found.to_owned();
        Self::Value {
            name,
            wanted,
            found,
        }
    }
}
