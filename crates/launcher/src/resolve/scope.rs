//! `WorkspaceScope`: what of a project goes in with a workspace, and by which rules.
//!
//! A workspace may be a folder of a project. `isolation = "project"` takes all of it in;
//! otherwise the folder goes in alone, or with the files that the user's profile or the
//! project's own `lazaret.toml` shares with it: those are read only, and around them nothing
//! can be made. What the workspace itself says widens nothing.

use std::path::Path;

use lazaret_transfer::{FileSelector, GitMode, Scope, SelectionSpec, WorkspaceDir};
use lazaret_tree::{EXTRA_DIR, RelPath, RelPathBuf};

use crate::environment::Environment;
use crate::failure::{Failure, FailureKind, OrFail as _};
use crate::profile::{GitChoice, Isolation, Profile, ProjectSettings, Tightened};
use crate::resolve::extra::{self, ExtraRule};
use crate::resolve::workspace;
use lazaret_session::store::record::{OutsideFolder, WriteScope};

/// What of a project goes in.
#[derive(Debug)]
pub struct WorkspaceScope {
    /// The directory from which everything is named.
    pub root: WorkspaceDir,
    /// How far the command reaches in it.
    pub bounds: WriteScope,
    /// The profile, as the `lazaret.toml` that count have tightened it.
    pub profile: Profile,
    /// What they have tightened.
    pub keys: Vec<&'static str>,
    /// What they ask for beyond the profile, which has no effect.
    pub looser: Vec<&'static str>,
    /// What goes in beside the folder; `None` where everything below the root does.
    pub shared: Option<Vec<String>>,
    /// Directories of the host that the command may read beside it.
    pub extra: Vec<ExtraRule>,
}

impl WorkspaceScope {
    /// Works it out for a workspace.
    ///
    /// # Errors
    /// When there is no project where one is needed, or a `lazaret.toml` is wrong.
    pub fn of(
        mut profile: Profile,
        mut workspace: WorkspaceDir,
        env: &Environment,
    ) -> Result<Self, Failure> {
        let project_root = profile.workspace.project.clone();
        if profile.workspace.isolation == Isolation::Project {
            let place = workspace.path().to_path_buf();
            let mut isolates = isolates(&place)?;
            if !isolates {
                let (root, folder) = workspace::project(workspace, project_root.as_deref(), env)?;
                isolates = self::isolates(root.path())?;
                if !isolates {
                    return Self::whole(profile, root, folder);
                }
                workspace = workspace::open(&place, env)?;
            }
            profile.workspace.isolation = Isolation::Workspace;
            let mut narrowed = Self::of(profile, workspace, env)?;
            narrowed.keys.push("workspace.isolation");
            return Ok(narrowed);
        }
        let Some((root, folder)) = workspace::enclosing(&workspace, project_root.as_deref(), env)?
        else {
            if !profile.workspace.share.is_empty() {
                let place = workspace.path().display();
                let text =
                    format!("`workspace.share` names files of a project, and {place} is in none");
                return Err(Failure::message(FailureKind::Workspace, text).hinted(
                    "Name the project's root in the profile, such as project = \"../..\".",
                ));
            }
            return Self::whole(profile, workspace, None);
        };
        let mut share = profile.workspace.share.clone();
        share.extend(Profile::shared_by(root.path())?);
        share.sort_unstable();
        share.dedup();
        match share.is_empty() {
            true => Self::whole(profile, workspace, None),
            false => Self::shared(profile, root, folder, &workspace, share),
        }
    }

    /// Returns the repository that the root is a folder of, if git is to work inside.
    pub fn repository_above(&self) -> Option<&Path> {
        let root = self.root.path();
        if self.profile.workspace.git == GitChoice::None || root.join(".git").exists() {
            return None;
        }
        let mut above = root.ancestors().skip(1);
        above.find(|directory| directory.join(".git").exists())
    }

    /// Works it out for a member of a group: its folder of a project, and what is shared with it.
    /// What the project itself shares does not count.
    ///
    /// # Errors
    /// When the folder is none or leads through a link, or a `lazaret.toml` is wrong.
    pub fn of_member(
        profile: Profile,
        root: WorkspaceDir,
        folder: RelPathBuf,
        shared: Vec<String>,
        env: &Environment,
    ) -> Result<Self, Failure> {
        let workspace = folder_of(&root, &folder, env)?;
        Self::shared(profile, root, folder, &workspace, shared)
    }

    /// Works it out for one that has a whole project; its command starts in the folder.
    ///
    /// # Errors
    /// As [`WorkspaceScope::of_member`].
    pub fn of_project(
        mut profile: Profile,
        root: WorkspaceDir,
        folder: Option<RelPathBuf>,
        env: &Environment,
    ) -> Result<Self, Failure> {
        let Some(folder) = folder else {
            return Self::whole(profile, root, None);
        };
        let workspace = folder_of(&root, &folder, env)?;
        let steps = folder.components().count();
        profile.workspace.project = Some(vec![".."; steps].join("/"));
        profile.workspace.isolation = Isolation::Project;
        Self::of(profile, workspace, env)
    }

    /// Adds directories of the host that the command may read.
    ///
    /// # Errors
    /// One is not allowed or can't be read, or the copy has an entry where they go.
    pub fn with_extra(self, extra: Vec<ExtraRule>, env: &Environment) -> Result<Self, Failure> {
        extra::check(&extra, env)?;
        let is_taken = match &self.shared {
            None => self.root.path().join(EXTRA_DIR).symlink_metadata().is_ok(),
            Some(shared) => {
                let mut parts = shared.iter().chain(&self.bounds.folder);
                parts.any(|part| part.split('/').next() == Some(EXTRA_DIR))
            }
        };
        if extra.is_empty() || !is_taken {
            return Ok(Self { extra, ..self });
        }
        let root = self.root.path().display();
        let text = format!("{root} has an entry \"{EXTRA_DIR}\", where extra directories go");
        Err(Failure::message(FailureKind::Workspace, text)
            .hinted("Rename that entry, or give the group no extra directories."))
    }

    fn whole(
        profile: Profile,
        root: WorkspaceDir,
        folder: Option<RelPathBuf>,
    ) -> Result<Self, Failure> {
        let Tightened {
            mut profile,
            mut keys,
            mut looser,
        } = profile.tightened_by(root.path())?;
        if let Some(folder) = &folder {
            let own = profile.tightened_by(&root.path().join(folder.as_str()))?;
            profile = own.profile;
            extend(&mut keys, own.keys);
            extend(&mut looser, own.looser);
        }
        Ok(Self {
            bounds: WriteScope {
                protect: profile.workspace.protect.clone(),
                folder: folder.map(|folder| folder.as_str().to_owned()),
                ..WriteScope::default()
            },
            root,
            profile,
            keys,
            looser,
            shared: None,
            extra: Vec::new(),
        })
    }

    fn shared(
        profile: Profile,
        root: WorkspaceDir,
        folder: RelPathBuf,
        workspace: &WorkspaceDir,
        share: Vec<String>,
    ) -> Result<Self, Failure> {
        let own = profile.tightened_by(workspace.path())?;
        let above = below(own.profile, &folder)?.tightened_by(root.path())?;
        let (mut profile, mut keys, mut looser) = (above.profile, own.keys, own.looser);
        extend(&mut keys, above.keys);
        extend(&mut looser, above.looser);
        // A history would show the rest of the project.
        profile.workspace.git = GitChoice::None;
        // What the project protects and the command does not get is out of its reach.
        let goes_in = |path: &String| {
            let mut parts = share
                .iter()
                .map(Path::new)
                .chain([Path::new(folder.as_str())]);
            parts.any(|part| part.starts_with(path) || Path::new(path).starts_with(part))
        };
        let protected = profile.workspace.protect.iter();
        let mut protect: Vec<String> = protected.filter(|path| goes_in(path)).cloned().collect();
        protect.extend(share.iter().cloned());
        Ok(Self {
            bounds: WriteScope {
                protect,
                folder: Some(folder.as_str().to_owned()),
                outside: OutsideFolder::Closed,
            },
            root,
            profile,
            keys,
            looser,
            shared: Some(share),
            extra: Vec::new(),
        })
    }

    /// Compiles what goes in, out of these rules and the project's own ignore files.
    ///
    /// # Errors
    /// A pattern that is none.
    pub fn selector(&self) -> Result<FileSelector, Failure> {
        of_profile(&self.profile, self.shared.as_deref(), &self.bounds)
    }
}

/// Adds the keys that are not there yet.
fn extend(keys: &mut Vec<&'static str>, more: Vec<&'static str>) {
    for key in more {
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
}

/// Opens a folder of a project, which is where its path says.
fn folder_of(
    root: &WorkspaceDir,
    folder: &RelPath,
    env: &Environment,
) -> Result<WorkspaceDir, Failure> {
    let place = root.path().join(folder.as_str());
    let workspace = workspace::open(&place, env)?;
    match workspace.path() == place {
        true => Ok(workspace),
        false => {
            let text = format!("the folder {} leads through a link", place.display());
            Err(Failure::message(FailureKind::Workspace, text))
        }
    }
}

/// Whether the `lazaret.toml` of a project, or of a workspace, wants the workspace to go in alone.
fn isolates(dir: &Path) -> Result<bool, Failure> {
    Ok(ProjectSettings::of(dir)?.isolation == Isolation::Workspace)
}

/// Compiles what goes in, out of what a profile says.
///
/// # Errors
/// A pattern or a path that is none.
pub fn of_profile(
    profile: &Profile,
    shared: Option<&[String]>,
    bounds: &WriteScope,
) -> Result<FileSelector, Failure> {
    let rules = &profile.workspace;
    let git = match rules.git {
        GitChoice::None => GitMode::None,
        GitChoice::Shallow => GitMode::Shallow,
        GitChoice::Full => GitMode::Full,
    };
    selector(git, rules.exclude.clone(), shared, bounds)
}

/// Compiles what goes in, out of what a record says.
///
/// # Errors
/// A pattern or a path that is none.
pub fn selector(
    git: GitMode,
    exclude: Vec<String>,
    shared: Option<&[String]>,
    bounds: &WriteScope,
) -> Result<FileSelector, Failure> {
    let selector = SelectionSpec { git, exclude }.compile()?;
    let (Some(shared), Some(folder)) = (shared, &bounds.folder) else {
        return Ok(selector);
    };
    let path = |text: &String| {
        let parsed: Result<RelPathBuf, _> = text.parse();
        parsed.map_err(|error| {
            Failure::new(FailureKind::Profile, error).context(format!("the shared path {text:?}"))
        })
    };
    Ok(selector.with_scope(Scope {
        folder: path(folder)?,
        shared: shared.iter().map(path).collect::<Result<_, _>>()?,
    }))
}

/// Names from the project's root what a workspace's rules name from its own.
fn below(mut profile: Profile, folder: &RelPath) -> Result<Profile, Failure> {
    if let Some(file) = &mut profile.pr.file {
        *file = folder
            .join(file.as_str())
            .or_fail(FailureKind::Profile, "`pr.file` in its project")?;
    }
    let rules = &mut profile.workspace;
    for path in &mut rules.protect {
        *path = format!("{folder}/{path}");
    }
    let place: String = folder
        .as_str()
        .chars()
        .flat_map(|c| [r"\*?[".contains(c).then_some('\\'), Some(c)])
        .flatten()
        .collect();
    for pattern in &mut rules.exclude {
        // As git takes it: a slash within, or at the start, ties a pattern to its place.
        if pattern.trim_end_matches('/').contains('/') {
            *pattern = format!("/{place}/{}", pattern.trim_start_matches('/'));
        }
    }
    Ok(profile)
}
