//! `ProtectionPlan`: what a command may only read, as root's entries of its volume.

use std::collections::BTreeMap;

use lazaret_protocol::{ProtectedKind, Protection};
use lazaret_runtime::{EngineError, SessionId, Unenforceable};
use lazaret_tree::{Entry, LinkTarget, Mode, RelPath, RelPathBuf, RelPathError, Tree, escape};

use crate::cancel::Interrupted;
use crate::context::WORKSPACE;
use crate::event::{Event, EventSink};
use crate::porter::conversation::PorterError;
use crate::store::record::{OutsideFolder, Record, WriteScope};

/// Why something is not protected.
#[derive(Debug, thiserror::Error)]
pub enum ProtectError {
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The user wants an end.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// The engine can't enforce a control.
    #[error(transparent)]
    Unenforceable(#[from] Unenforceable),
    /// The porter failed.
    #[error(transparent)]
    Porter(#[from] PorterError),
    /// It is no path below the workspace.
    #[error("the protected path {path:?}")]
    BadPath {
        /// What was given.
        path: String,
        /// What is wrong with it.
        source: RelPathError,
    },
    /// It lies behind a link.
    #[error("{} can't be protected: {} is no directory", shown(.path), shown(.link))]
    BehindLink {
        /// The path.
        path: RelPathBuf,
        /// What is no directory.
        link: RelPathBuf,
    },
    /// A protected link leads to what is not: contents that are read through it could change.
    #[error("the protected link {} leads to {target}, which is not protected", shown(.link))]
    LeadsOut {
        /// The link.
        link: RelPathBuf,
        /// Where it leads, escaped.
        target: String,
    },
    /// An earlier command has changed it, when it was not protected yet.
    #[error("{} is protected, and session {id} has changed it before it was", shown(.path))]
    Changed {
        /// The path.
        path: RelPathBuf,
        /// The session.
        id: SessionId,
    },
    /// The folder that the command starts in does not go in.
    #[error("{} is left out of what goes in, and the command is to start there", escape(.folder.as_bytes()))]
    LeftOut {
        /// The folder.
        folder: String,
    },
    /// Tries from inside were not refused.
    #[error("what is to be protected can be changed from inside: {}", escape(.tries.join(", ").as_bytes()))]
    NotInForce {
        /// The first of them.
        tries: Vec<String>,
    },
    /// The report of the tries is not UTF-8.
    #[error("a report that is no text")]
    NoText,
}

/// What of a tree is to be root's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProtectionPlan {
    /// It.
    pub protection: Protection,
    /// Paths that are to be protected and that the tree does not have.
    pub absent: Vec<RelPathBuf>,
}

impl ProtectionPlan {
    /// Works out what is to be root's in a volume that holds `tree`; `None` where nothing is.
    ///
    /// # Errors
    /// Names a path that lies behind a link, or a protected link that leads to what is not
    /// protected: contents that are read through it could be changed.
    pub fn of(tree: &Tree, bounds: &WriteScope) -> Result<Option<Self>, ProtectError> {
        if !bounds.is_fenced() {
            return Ok(None);
        }
        let closed = bounds.outside == OutsideFolder::Closed;
        let folder = bounds.folder.as_deref().map(parse).transpose()?;
        // Where the command may make entries, and where it may not.
        let ground = |path: &RelPath| match &folder {
            Some(folder) if closed && !path.starts_with(folder) => ProtectedKind::Closed,
            _ => ProtectedKind::Shared,
        };
        let mut entries: BTreeMap<RelPathBuf, ProtectedKind> = BTreeMap::new();
        if closed {
            let dirs = tree.entries().filter(|(_, entry)| **entry == Entry::Dir);
            let outside = dirs.filter(|(path, _)| ground(path) == ProtectedKind::Closed);
            entries.extend(outside.map(|(path, _)| (path.clone(), ProtectedKind::Closed)));
        }
        let mut absent = Vec::new();
        for protected in bounds.paths()? {
            let behind = protected
                .ancestors()
                .find(|path| !matches!(tree.get(path), None | Some(Entry::Dir)));
            if let Some(link) = behind {
                return Err(ProtectError::BehindLink {
                    link: link.to_owned(),
                    path: protected,
                });
            }
            let Some(entry) = tree.get(&protected) else {
                absent.push(protected);
                continue;
            };
            for above in protected.ancestors() {
                let kind = ground(above);
                entries.entry(above.to_owned()).or_insert(kind);
            }
            entries.insert(protected.clone(), kind_of(entry));
            let below = tree.below(&protected);
            entries.extend(below.map(|(path, entry)| (path.to_owned(), kind_of(entry))));
        }
        let root = match closed {
            true => ProtectedKind::Closed,
            false => ProtectedKind::Shared,
        };
        let protection = Protection { root, entries };
        links_stay_inside(tree, &protection)?;
        Ok(Some(Self { protection, absent }))
    }

    /// Says which paths there is nothing to protect at.
    pub fn report(&self, events: &dyn EventSink) {
        for path in &self.absent {
            events.event(Event::NothingToProtect(path));
        }
    }

    /// Checks that what is about to be protected is what the workspace has: a command before
    /// may have changed it, when it was not protected yet.
    ///
    /// # Errors
    /// Names the first path that is not.
    pub fn holds(
        &self,
        baseline: &Tree,
        volume: &Tree,
        record: &Record,
    ) -> Result<(), ProtectError> {
        let is_way = |protected| matches!(protected, ProtectedKind::Shared | ProtectedKind::Closed);
        for (path, protected) in &self.protection.entries {
            let (wanted, held) = (baseline.get(path), volume.get(path));
            let extra = match protected {
                ProtectedKind::Dir => volume
                    .below(path)
                    .find(|(path, _)| baseline.get(path).is_none()),
                _ => None,
            };
            let odd = match extra {
                Some((path, _)) => Some(path),
                None if is_way(*protected) && held == Some(&Entry::Dir) => None,
                None => (wanted != held).then_some(&**path),
            };
            if let Some(path) = odd {
                return Err(ProtectError::Changed {
                    path: path.to_owned(),
                    id: record.id.clone(),
                });
            }
        }
        Ok(())
    }
}

impl WriteScope {
    /// Parses the protected paths.
    ///
    /// # Errors
    /// When one is none.
    pub fn paths(&self) -> Result<Vec<RelPathBuf>, ProtectError> {
        self.protect.iter().map(|path| parse(path)).collect()
    }

    /// Returns where the command starts, inside.
    pub fn workdir(&self) -> String {
        match &self.folder {
            None => WORKSPACE.to_owned(),
            Some(folder) => format!("{WORKSPACE}/{folder}"),
        }
    }

    /// Checks that the folder that the command starts in goes in.
    ///
    /// # Errors
    /// When a rule of the workspace leaves it out.
    pub fn starts_in(&self, tree: &Tree) -> Result<(), ProtectError> {
        let Some(folder) = &self.folder else {
            return Ok(());
        };
        if tree.get(&parse(folder)?) == Some(&Entry::Dir) {
            return Ok(());
        }
        Err(ProtectError::LeftOut {
            folder: folder.clone(),
        })
    }

    /// Whether `path` is protected, lies below what is, or is on the way to it.
    pub fn touches(&self, path: &RelPath) -> Result<bool, ProtectError> {
        let protected = self.paths()?;
        let mut either = protected.iter();
        Ok(either.any(|other| path.starts_with(other) || other.starts_with(path)))
    }
}

fn parse(path: &str) -> Result<RelPathBuf, ProtectError> {
    path.parse().map_err(|source| ProtectError::BadPath {
        path: path.to_owned(),
        source,
    })
}

fn shown(path: &RelPath) -> String {
    escape(path.as_str().as_bytes())
}

fn kind_of(entry: &Entry) -> ProtectedKind {
    match entry {
        Entry::Dir => ProtectedKind::Dir,
        Entry::File {
            mode: Mode::Executable,
            ..
        } => ProtectedKind::Program,
        Entry::File { .. } => ProtectedKind::File,
        Entry::Symlink { .. } => ProtectedKind::Link,
    }
}

fn links_stay_inside(tree: &Tree, protection: &Protection) -> Result<(), ProtectError> {
    let links = protection.entries.iter();
    for (path, _) in links.filter(|(_, protected)| **protected == ProtectedKind::Link) {
        let Some(Entry::Symlink { target }) = tree.get(path) else {
            continue;
        };
        let inside = leads_to(path, target).and_then(|path| protection.entries.get(&path).copied());
        if !matches!(
            inside,
            Some(
                ProtectedKind::Dir
                    | ProtectedKind::File
                    | ProtectedKind::Program
                    | ProtectedKind::Link
            )
        ) {
            return Err(ProtectError::LeadsOut {
                link: path.clone(),
                target: escape(target.as_str().as_bytes()),
            });
        }
    }
    Ok(())
}

/// Resolves a target by its names alone; `None` where it leads outside.
fn leads_to(link: &RelPath, target: &LinkTarget) -> Option<RelPathBuf> {
    let target = target.as_str();
    if target.starts_with('/') {
        return None;
    }
    let mut names: Vec<&str> = link
        .parent()
        .into_iter()
        .flat_map(RelPath::components)
        .collect();
    for name in target.split('/') {
        match name {
            "" | "." => {}
            ".." => drop(names.pop()?),
            name => names.push(name),
        }
    }
    names.join("/").parse().ok()
}

#[cfg(test)]
mod tests {
    use lazaret_tree::Digest;

    use super::*;

    fn tree(entries: &[(&str, &str)]) -> Tree {
        let digest = Digest::of(b"");
        let entry = |kind: &str| match kind {
            "d" => Entry::Dir,
            "f" => Entry::File {
                mode: Mode::Plain,
                size: 0,
                digest,
            },
            "x" => Entry::File {
                mode: Mode::Executable,
                size: 0,
                digest,
            },
            target => Entry::Symlink {
                target: target.parse().expect("a target"),
            },
        };
        entries
            .iter()
            .map(|(path, kind)| (path.parse().expect("a path"), entry(kind)))
            .collect()
    }

    fn bounds(protect: &[&str]) -> WriteScope {
        WriteScope {
            protect: protect.iter().map(|&path| path.to_owned()).collect(),
            ..WriteScope::default()
        }
    }

    fn fenced(entries: &[(&str, &str)], bounds: &WriteScope) -> String {
        match ProtectionPlan::of(&tree(entries), bounds) {
            Err(error) => error.to_string(),
            Ok(None) => "nothing".to_owned(),
            Ok(Some(ProtectionPlan { protection, absent })) => {
                let mut text = format!("{:?}", protection.root);
                for (path, protected) in &protection.entries {
                    text.push_str(&format!(" {path}={protected:?}"));
                }
                for path in absent {
                    text.push_str(&format!(" !{path}"));
                }
                text
            }
        }
    }

    const PROJECT: &[(&str, &str)] = &[
        (".factory", "d"),
        (".factory/mcp.json", "f"),
        (".factory/run", "x"),
        ("AGENTS.md", "f"),
        ("a", "d"),
        ("a/b", "d"),
        ("a/b/rules", "f"),
        ("a/free", "f"),
        ("link", "a"),
    ];

    #[test]
    fn the_way_to_what_is_protected_is_roots_as_well() {
        assert_eq!(fenced(PROJECT, &bounds(&[])), "nothing");
        assert_eq!(
            fenced(PROJECT, &bounds(&["AGENTS.md"])),
            "Shared AGENTS.md=File"
        );
        assert_eq!(
            fenced(PROJECT, &bounds(&[".factory", "a/b/rules", "gone/x"])),
            "Shared .factory=Dir .factory/mcp.json=File .factory/run=Program a=Shared \
             a/b=Shared a/b/rules=File !gone/x"
        );
        // Whichever comes first, what is protected stays that.
        for order in [["a/b", "a/b/rules"], ["a/b/rules", "a/b"]] {
            assert_eq!(
                fenced(PROJECT, &bounds(&order)),
                "Shared a=Shared a/b=Dir a/b/rules=File"
            );
        }
    }

    #[test]
    fn what_is_read_through_a_link_has_to_be_protected_too() {
        assert_eq!(
            fenced(PROJECT, &bounds(&["link/b/rules"])),
            "link/b/rules can't be protected: link is no directory"
        );
        assert_eq!(
            fenced(PROJECT, &bounds(&["link"])),
            "the protected link link leads to a, which is not protected"
        );
        assert_eq!(
            fenced(PROJECT, &bounds(&["link", "a"])),
            "Shared a=Dir a/b=Dir a/b/rules=File a/free=File link=Link"
        );
        for target in ["/etc/passwd", "../../x", "gone"] {
            let text = fenced(&[("l", target)], &bounds(&["l"]));
            assert!(text.contains("which is not protected"), "{text}");
        }
    }

    #[test]
    fn outside_of_the_folder_nothing_can_be_made() {
        let entries = [
            ("AGENTS.md", "f"),
            ("groups", "d"),
            ("groups/one", "d"),
            ("groups/one/rules", "f"),
            ("groups/one/src", "d"),
        ];
        let bounds = WriteScope {
            folder: Some("groups/one".to_owned()),
            outside: OutsideFolder::Closed,
            ..bounds(&["AGENTS.md", "groups/one/rules"])
        };
        assert_eq!(
            fenced(&entries, &bounds),
            "Closed AGENTS.md=File groups=Closed groups/one=Shared groups/one/rules=File"
        );
    }
}
