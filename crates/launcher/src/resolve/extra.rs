//! Extra directories: those of the host that a group may read beside its project.
//!
//! `[extra]` of `config.toml`, which no workspace can hold, lists the directories that they may lie
//! in.

use std::path::PathBuf;
use std::sync::Arc;

use lazaret_session::volumes::extra::{ExtraDir, ExtraDirs};
use lazaret_session::volumes::{Volume, VolumeSource};
use lazaret_transfer::{GitMode, SelectionSpec, WorkspaceDir};
use lazaret_tree::{EXTRA_DIR, RelPathBuf};

use super::workspace;
use crate::config::Config;
use crate::environment::Environment;
use crate::failure::{Failure, FailureKind, OrFail as _};

/// An extra directory, as a group names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtraRule {
    /// Its name inside, one component.
    pub name: RelPathBuf,
    /// An absolute path of the host.
    pub path: PathBuf,
}

/// Checks that extra directories are allowed.
///
/// # Errors
/// One lies outside of those that are, or can't be read.
pub fn check(rules: &[ExtraRule], env: &Environment) -> Result<(), Failure> {
    open_all(rules, env).map(drop)
}

/// Reads extra directories, and returns their volume; `None` if there are none.
///
/// # Errors
/// As [`check`].
pub fn resolve(rules: &[ExtraRule], env: &Environment) -> Result<Option<Volume>, Failure> {
    if rules.is_empty() {
        return Ok(None);
    }
    let mut dirs = Vec::new();
    for (rule, dir) in rules.iter().zip(open_all(rules, env)?) {
        let selector = SelectionSpec {
            git: GitMode::None,
            exclude: Vec::new(),
        };
        dirs.push(ExtraDir {
            name: rule.name.clone(),
            dir,
            selector: selector.compile()?,
        });
    }
    Ok(Some(Volume {
        id: EXTRA_DIR
            .parse()
            .or_fail(FailureKind::Internal, "the volume's name")?,
        target: ExtraDirs::target(),
        source: VolumeSource::Extra(Arc::new(ExtraDirs::read(dirs)?)),
    }))
}

fn open_all(rules: &[ExtraRule], env: &Environment) -> Result<Vec<WorkspaceDir>, Failure> {
    if rules.is_empty() {
        return Ok(Vec::new());
    }
    let allowed = allowed(env)?;
    let mut opened = Vec::new();
    for ExtraRule { name, path } in rules {
        let dir = workspace::open(path, env)
            .map_err(|failure| failure.context(format!("the extra directory \"{name}\"")))?;
        if !allowed.iter().any(|root| dir.path().starts_with(root)) {
            let text = format!(
                "the extra directory {} is not allowed",
                dir.path().display()
            );
            let hint = format!(
                "Write into {}: [extra], below it roots = [{:?}].",
                Config::file(env)?.display(),
                dir.path().display().to_string(),
            );
            return Err(Failure::message(FailureKind::Refused, text).hinted(hint));
        }
        opened.push(dir);
    }
    Ok(opened)
}

/// Returns the directories that extra ones may lie in, links resolved. One that is not there allows
/// nothing.
fn allowed(env: &Environment) -> Result<Vec<PathBuf>, Failure> {
    let config = Config::load(env)?;
    let mut allowed = Vec::new();
    for root in config.extra.map(|extra| extra.roots).unwrap_or_default() {
        let path = env.expand(&root);
        if !path.is_absolute() {
            let file = Config::file(env)?;
            let text = format!(
                "`extra.roots` of {}: {} is relative",
                file.display(),
                root.display()
            );
            return Err(Failure::message(FailureKind::Profile, text)
                .hinted("Write an absolute path, or one that starts with ~/."));
        }
        allowed.extend(std::fs::canonicalize(path));
    }
    Ok(allowed)
}
