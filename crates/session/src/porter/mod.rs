//! Talks to the porter: `porter VERB` in a container of a session.

pub mod compressed;
pub mod conversation;
pub mod credentials;
pub mod export;
pub mod freeze;
pub mod ready;

use std::collections::BTreeMap;

use lazaret_runtime::{ExecSpec, Starter, Stdin, Terminal};

/// Makes an exec of a verb of the porter.
pub fn porter(argv: &[&str], stdin: Stdin) -> ExecSpec {
    let program = std::iter::once(lazaret_protocol::PORTER_PATH);
    ExecSpec {
        argv: program
            .chain(argv.iter().copied())
            .map(str::to_owned)
            .collect(),
        env: BTreeMap::new(),
        workdir: None,
        stdin,
        terminal: Terminal::None,
        starter: Starter::Engine,
    }
}
