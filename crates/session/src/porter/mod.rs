//! Talks to the porter: `porter VERB` in a container of a session.

pub mod compressed;
pub mod conversation;
pub mod credentials;
pub mod export;
pub mod freeze;
pub mod ready;
pub(crate) mod usage;

use lazaret_protocol::Verb;
use lazaret_runtime::{ExecSpec, Stdin};

/// Makes an exec of a verb of the porter.
pub fn porter(verb: &Verb, stdin: Stdin) -> ExecSpec {
    ExecSpec::new(verb.to_command(), stdin)
}
