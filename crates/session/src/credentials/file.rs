//! `CredentialFile`: a login of the user's that a session is lent, as it gets it.

use std::fmt;

use lazaret_protocol::CredentialMode;
use lazaret_tree::RelPathBuf;
use zeroize::Zeroizing;

use crate::credentials::cache::CredentialCache;

/// A file of the user's for the home of a session's container.
pub struct CredentialFile {
    /// Its name, for messages.
    pub name: String,
    /// Where it lies inside, below the agent's home.
    pub to: RelPathBuf,
    /// How it may be used there.
    pub mode: CredentialMode,
    /// It.
    pub contents: Zeroizing<Vec<u8>>,
    /// Whether it is what a session before has made of it.
    pub is_renewed: bool,
    /// Where it is kept once it is renewed.
    pub cache: CredentialCache,
}

/// Shows no contents.
impl fmt::Debug for CredentialFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CredentialFile")
            .field("name", &self.name)
            .field("is_renewed", &self.is_renewed)
            .finish_non_exhaustive()
    }
}
