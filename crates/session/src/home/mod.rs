//! A home that is kept: history and memory outlast a command, settings and programs do not.
//!
//! The home is a volume of the session's, made once and kept until the session is removed. Before
//! each command starts, a porter in the command's own container tells what lies at the paths of
//! settings and programs; [`lazaret_validator::home`] judges it, what differs is kept in the
//! session's directory, and the porter puts the user's own back.
//!
//! | file | what |
//! |---|---|
//! | `prepare` | the judgement before a command |
//! | `clean` | lent files go after it |
//! | `exchange` | one exchange with `porter home` |
//! | `state` | what is known of the home outside of it |
//! | `reset` | a fresh one |

mod clean;
mod exchange;
mod prepare;
pub mod reset;
pub mod state;

use std::path::PathBuf;

use lazaret_tree::RelPathBuf;

use crate::engine::lasting_volume::LastingVolume;
use crate::engine::owner::ResourceOwner;
use crate::store::SessionDir;

pub(crate) use self::clean::remove_lent;
pub use self::exchange::HomeError;
pub(crate) use self::prepare::prepare;

/// Its directory in that of the session.
const DIR: &str = "home";

/// A home that is kept, as a profile asks for it. Paths are those below the home.
#[derive(Debug, Clone, Default)]
pub struct HomeSpec {
    /// Files of the user's that are copied into it.
    pub seed: Vec<SeedFile>,
    /// Files that the command may change for good.
    pub memory: Vec<RelPathBuf>,
}

/// A file of the user's for a home.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeedFile {
    /// Where it lies.
    pub path: RelPathBuf,
    /// It.
    pub contents: Vec<u8>,
}

/// Returns the volume of a session's home.
pub(crate) fn volume(owner: &ResourceOwner) -> LastingVolume<'_> {
    LastingVolume {
        owner,
        name: owner.home_volume(),
        guard: owner.home_guard(),
        role: "home",
    }
}

/// Returns where a session keeps what is known of its home.
pub(crate) fn dir(dir: &SessionDir) -> PathBuf {
    dir.file(DIR)
}
