//! `CombineError`: why images can't be combined.

/// Why images can't be combined.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CombineError {
    /// They start from different images.
    #[error(
        "cannot combine images {one} and {other}: {one} starts from {one_base}, {other} from \
         {other_base}"
    )]
    Base {
        /// One of them.
        one: String,
        /// The image that it starts from.
        one_base: String,
        /// The other.
        other: String,
        /// The image that it starts from.
        other_base: String,
    },
    /// They want a component in two ways.
    #[error(
        "cannot combine images {one} and {other}: they want different versions or sources of \
         component `{component}`"
    )]
    Component {
        /// One of them.
        one: String,
        /// The other.
        other: String,
        /// What both want.
        component: String,
    },
    /// They declare different users.
    #[error("cannot combine images {one} and {other}: they declare different `[user]`s")]
    User {
        /// One of them.
        one: String,
        /// The other.
        other: String,
    },
    /// They install different files in one place.
    #[error("cannot combine images {one} and {other}: both have /{path}, with other content")]
    Path {
        /// One of them.
        one: String,
        /// The other.
        other: String,
        /// The path, escaped.
        path: String,
    },
}
