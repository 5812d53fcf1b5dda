//! What git inside is told, by its environment alone: who commits, and that nothing runs by
//! itself or asks for a password.
//!
//! The copy's configuration is the agent's to write. These variables come after every file
//! (git-config(1), `GIT_CONFIG_COUNT`), so they hold until a command sets them otherwise:
//! that keeps tools from going astray, and is no control. What comes out is judged by the
//! gate, whatever git inside was told.

use std::collections::BTreeMap;

use lazaret_gate::git_config::{Identity, identity};
use lazaret_runtime::{EngineInfo, EnvName};
use lazaret_transfer::{FileSelector, GitMode, WorkspaceDir};

use crate::environment::Environment;
use lazaret_session::store::record::WriteScope;

/// Who commits where the user has not said who it is, or no repository goes in.
const AGENT: (&str, &str) = ("lazaret agent", "agent@lazaret.invalid");

/// What is configured in every repository inside.
const CONFIGURED: &[(&str, &str)] = &[
    // An empty value takes back every helper that was named before.
    ("credential.helper", ""),
    ("core.hooksPath", "/dev/null"),
];

/// Returns the variables that the command gets for git.
pub fn variables(
    env: &Environment,
    workspace: &WorkspaceDir,
    selector: &FileSelector,
    bounds: &WriteScope,
    engine: &EngineInfo,
) -> BTreeMap<EnvName, String> {
    // An agent that has no commit of the user's need not know who that is.
    let goes_in = selector.git() != GitMode::None && workspace.path().join(".git").exists();
    let user = if goes_in {
        identity(env.for_git())
    } else {
        None
    };
    let Identity { name, email } = user.unwrap_or_else(|| Identity {
        name: AGENT.0.to_owned(),
        email: AGENT.1.to_owned(),
    });
    let mut configured = CONFIGURED.to_vec();
    if bounds.is_fenced() || !engine.capabilities.has_root {
        // The agent does not own the root of the copy then. Without this, git refuses it as
        // another user's repository (CVE-2022-24765).
        configured.push(("safe.directory", "*"));
    }
    let mut pairs = vec![
        ("GIT_AUTHOR_NAME".to_owned(), name.clone()),
        ("GIT_AUTHOR_EMAIL".to_owned(), email.clone()),
        ("GIT_COMMITTER_NAME".to_owned(), name),
        ("GIT_COMMITTER_EMAIL".to_owned(), email),
        ("GIT_TERMINAL_PROMPT".to_owned(), "0".to_owned()),
        ("GIT_CONFIG_COUNT".to_owned(), configured.len().to_string()),
    ];
    for (index, (key, value)) in configured.into_iter().enumerate() {
        pairs.push((format!("GIT_CONFIG_KEY_{index}"), key.to_owned()));
        pairs.push((format!("GIT_CONFIG_VALUE_{index}"), value.to_owned()));
    }
    let named = pairs
        .into_iter()
        .filter_map(|(name, value)| Some((name.parse().ok()?, value)));
    named.collect()
}
