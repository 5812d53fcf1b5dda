//! Submodules into the copy, and the configuration that ties them to their directories.

use lazaret_tree::RelPath;

use super::state::Walk;
use super::traverse::rel;
use super::visitor::Visitor;
use crate::GitMode;
use crate::repository::{ConfigSource, Module, RefStorage, Repository, synthetic_config};
use crate::select::{IgnoreMatch, Kind};

impl<'a, S: Visitor> Walk<'a, S> {
    /// Sends the configuration that is made for the copy.
    pub(super) fn config(
        &mut self,
        repository: &Repository,
        module: Option<&Module>,
    ) -> Result<(), S::Error> {
        let [shared, own] = repository.configs();
        let here = String::from_utf8_lossy(&self.path).into_owned();
        let worktree = module.map(|module| up_and(&here, module.path.as_str()));
        let modules = repository.modules().iter();
        let submodules: Vec<&str> = modules.map(|module| module.name.as_str()).collect();
        let made = synthetic_config(ConfigSource {
            originals: [&shared, &own],
            worktree: worktree.as_deref(),
            submodules: &submodules,
        });
        self.below(b"config", |walk| walk.visitor.made(rel(&walk.path)?, &made))
    }

    /// Sends the submodules of a repository, and notes what their `.git` files say inside.
    pub(super) fn modules(&mut self, repository: &'a Repository) -> Result<(), S::Error> {
        let modules: Vec<&Module> = repository
            .modules()
            .iter()
            .filter(|module| self.is_sent(module))
            .collect();
        if modules.is_empty() {
            return Ok(());
        }
        self.below(b"modules", |walk| {
            walk.visitor.dir(rel(&walk.path)?)?;
            let mut open: Vec<&RelPath> = Vec::new();
            for module in modules {
                // The directories that a name with slashes lies in.
                let above: Vec<&RelPath> = module.name.ancestors().collect();
                let mut above: Vec<&RelPath> = above
                    .into_iter()
                    .filter(|above| **above != *module.name)
                    .collect();
                above.sort();
                for dir in above {
                    if !open.contains(&dir) {
                        open.push(dir);
                        walk.below(dir.as_str().as_bytes(), |walk| {
                            walk.visitor.dir(rel(&walk.path)?)
                        })?;
                    }
                }
                walk.below(module.name.as_str().as_bytes(), |walk| {
                    let here = String::from_utf8_lossy(&walk.path).into_owned();
                    let pointer = format!("gitdir: {}\n", up_and(module.path.as_str(), &here));
                    walk.pointers.insert(module.path.to_owned(), pointer);
                    walk.repository(&module.repository, Some(module))
                })?;
            }
            Ok(())
        })
    }

    /// Whether a submodule goes in: the profile may leave its files out.
    fn is_sent(&self, module: &Module) -> bool {
        let is_out = |path: &RelPath| {
            let ignore_match = self.selector.profile(path.as_str().as_bytes(), Kind::Dir);
            ignore_match == Some(IgnoreMatch::Exclude)
        };
        !module.path.ancestors().any(is_out) && self.selector.git() != GitMode::None && {
            let mut at = self.path.clone();
            at.extend_from_slice(b"/modules/");
            at.extend_from_slice(module.name.as_str().as_bytes());
            let made = self.selector.made(&at).is_some();
            made || (self.selector.git() == GitMode::Full
                && module.repository.refs() == RefStorage::Files)
        }
    }
}

/// The way from one directory of the workspace to another.
fn up_and(from: &str, to: &str) -> String {
    "../".repeat(from.split('/').count()) + to
}
