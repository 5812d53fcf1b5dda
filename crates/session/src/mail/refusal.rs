//! `Refusal`: why mail is refused.

use lazaret_json::JsonError;

use crate::ask::json::ObjectError;

/// Why a file is no mail, or none that the group may send.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It is a symbolic link.
    #[error("it is a link")]
    Link,
    /// It is a directory.
    #[error("it is a directory")]
    Directory,
    /// It is a FIFO, a socket or a device.
    #[error("it is no regular file")]
    Special,
    /// It can't be opened.
    #[error("it can't be opened")]
    Closed,
    /// It is too long.
    #[error("it has more than 64 KiB")]
    Large,
    /// It is not the JSON that is taken.
    #[error(transparent)]
    Json(#[from] ObjectError),
    /// It is neither a message nor a task.
    #[error("{0}")]
    Schema(String),
    /// It holds a token of a login that the session was lent.
    #[error("it holds the login {0:?}")]
    Login(String),
    /// The chat is another group's.
    #[error("the chat {0:?} is none of this group's")]
    Chat(String),
    /// There is no such task, or it is another group's.
    #[error("this group has no task {0:?}")]
    Task(String),
    /// The group is another one, or there is none.
    #[error("{0:?} is no group whose tasks this one has")]
    Group(String),
    /// The group has as many tasks as it may have.
    #[error("the group has {0} tasks, which is the most")]
    Full(usize),
}

impl Refusal {
    /// Returns the stable word for it.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Link => "link",
            Self::Directory => "directory",
            Self::Special => "special",
            Self::Closed => "closed",
            Self::Large => "too-large",
            Self::Json(ObjectError::NotAnObject) => "not-an-object",
            Self::Json(ObjectError::Json(error)) => match error {
                JsonError::NotUtf8 { .. } => "not-utf-8",
                JsonError::Nul => "nul",
                JsonError::TooDeep { .. } => "too-deep",
                JsonError::RepeatedKey(_) => "repeated-key",
                JsonError::Syntax(_) => "syntax",
            },
            Self::Schema(_) => "schema",
            Self::Login(_) => "login",
            Self::Chat(_) => "chat",
            Self::Task(_) => "task",
            Self::Group(_) => "group",
            Self::Full(_) => "full",
        }
    }

    /// Whether the file may only not be whole yet.
    pub fn may_pass(&self) -> bool {
        matches!(
            self,
            Self::Json(ObjectError::Json(
                JsonError::Syntax(_) | JsonError::NotUtf8 { .. }
            ))
        )
    }
}
