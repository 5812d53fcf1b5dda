//! `Extent`: what of a project goes in with a workspace, and by which rules.
//!
//! A workspace may be a folder of a project. `isolation = "project"` takes all of it in;
//! otherwise the folder goes in alone, or with the files that the user's profile or the
//! project's own `lazaret.toml` shares with it: those are read only, and around them nothing
//! can be made. What the workspace itself says widens nothing.

use lazaret_transfer::{FileSelector, GitMode, Scope, SelectionSpec, WorkspaceDir};
use lazaret_tree::{RelPath, RelPathBuf};

use crate::environment::Environment;
use crate::failure::{Failure, FailureKind};
use crate::profile::{GitChoice, Isolation, Profile, Tightened};
use crate::resolve::workspace;
use lazaret_session::store::record::{OutsideFolder, WriteScope};

/// What of a project goes in.
#[derive(Debug)]
pub struct Extent {
    /// The directory from which everything is named.
    pub root: WorkspaceDir,
    /// How far the command reaches in it.
    pub bounds: WriteScope,
    /// The profile, as the `lazaret.toml` that count have tightened it.
    pub profile: Profile,
    /// What they have tightened.
    pub keys: Vec<&'static str>,
    /// What goes in beside the folder; `None` where everything below the root does.
    pub shared: Option<Vec<String>>,
}

impl Extent {
    /// Works it out for a workspace.
    ///
    /// # Errors
    /// When there is no project where one is needed, or a `lazaret.toml` is wrong.
    pub fn of(
        profile: Profile,
        workspace: WorkspaceDir,
        env: &Environment,
    ) -> Result<Self, Failure> {
        let way = profile.workspace.project.clone();
        if profile.workspace.isolation == Isolation::Project {
            let (root, folder) = workspace::project(workspace, way.as_deref(), env)?;
            return Self::whole(profile, root, folder);
        }
        let Some((root, folder)) = workspace::enclosing(&workspace, way.as_deref(), env)? else {
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

    fn whole(
        profile: Profile,
        root: WorkspaceDir,
        folder: Option<RelPathBuf>,
    ) -> Result<Self, Failure> {
        let Tightened {
            mut profile,
            mut keys,
        } = profile.tightened_by(root.path())?;
        if let Some(folder) = &folder {
            let own = profile.tightened_by(&root.path().join(folder.as_str()))?;
            profile = own.profile;
            keys.extend(own.keys);
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
            shared: None,
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
        let above = below(own.profile, &folder).tightened_by(root.path())?;
        let (mut profile, mut keys) = (above.profile, own.keys);
        keys.extend(above.keys);
        // A history would show the rest of the project.
        profile.workspace.git = GitChoice::None;
        let mut protect = profile.workspace.protect.clone();
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
            shared: Some(share),
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
fn below(mut profile: Profile, folder: &RelPath) -> Profile {
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
    profile
}

#[cfg(test)]
mod tests {
    use std::fs;

    use lazaret_transfer::{Hashing, walk};
    use lazaret_tree::Entry;

    use super::*;
    use crate::environment::{StreamKind, StreamKinds};

    struct World(tempfile::TempDir);

    impl World {
        fn new() -> Self {
            let world = Self(tempfile::tempdir().unwrap());
            for (path, text) in [
                ("AGENTS.md", "be kind"),
                (".env", "KEY=canary"),
                (".gitignore", "*.log\ngroups/\n"),
                ("docs/api/x.md", "x"),
                ("docs/else", "e"),
                ("groups/one/mine", "m"),
                ("groups/one/out.log", "l"),
                ("groups/one/build/x", "b"),
                ("groups/one/deep/build/x", "b"),
                ("groups/two/secret", "canary"),
                (".git/HEAD", "ref: refs/heads/main\n"),
            ] {
                let path = world.0.path().join("p").join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            world
        }

        fn says(&self, place: &str, text: &str) -> &Self {
            fs::write(
                self.0.path().join("p").join(place).join("lazaret.toml"),
                text,
            )
            .unwrap();
            self
        }

        fn extent(&self, keys: &str) -> Result<Extent, Failure> {
            let kind = StreamKind::Other;
            let streams = StreamKinds {
                stdin: kind,
                stdout: kind,
                stderr: kind,
            };
            let home = self.0.path().join("home");
            let variables = [("HOME".into(), home.into_os_string())];
            let env = Environment::new(variables, streams, None, 0, self.0.path().into());
            let file = self.0.path().join("one.toml");
            fs::write(&file, format!("image = \"base\"\n[workspace]\n{keys}\n")).unwrap();
            let profile = crate::profile::load(file.to_str().unwrap(), &env)?;
            let workspace = workspace::open("p/groups/one".as_ref(), &env)?;
            Extent::of(profile, workspace, &env)
        }

        /// What goes in, files alone.
        fn goes_in(&self, extent: &Extent) -> String {
            let walked = walk(
                &extent.root,
                &extent.selector().unwrap(),
                Hashing::SizesOnly,
            );
            let tree = walked.unwrap().tree;
            let files = tree
                .iter()
                .filter(|(_, entry)| matches!(entry, Entry::File { .. }));
            let names: Vec<String> = files.map(|(path, _)| path.to_string()).collect();
            names.join(" ")
        }
    }

    #[test]
    fn alone_unless_something_is_shared() {
        let world = World::new();
        let extent = world.extent("").unwrap();
        assert!(extent.root.path().ends_with("p/groups/one"));
        assert_eq!(extent.bounds, WriteScope::default());
        // What the folder's own file says widens nothing.
        world.says("groups/one", "[workspace]\nshare = [\"AGENTS.md\"]\n");
        let extent = world.extent("").unwrap();
        assert!(extent.root.path().ends_with("p/groups/one"));
    }

    #[test]
    fn the_project_or_the_user_share_and_nothing_else_goes_in() {
        let world = World::new();
        world.says(
            "",
            "[workspace]\nshare = [\"docs/api/\", \".env\"]\nexclude = [\"*.tmp\"]\n",
        );
        let extent = world
            .extent("share = [\"AGENTS.md\"]\nprotect = [\"mine\"]\nexclude = [\"/build\"]")
            .unwrap();
        assert!(extent.root.path().ends_with("p"));
        // A secret stays out even if it is shared; the way in is taken though git ignores it.
        assert_eq!(
            world.goes_in(&extent),
            "AGENTS.md docs/api/x.md groups/one/deep/build/x groups/one/mine"
        );
        assert_eq!(
            extent.bounds.protect,
            ["groups/one/mine", ".env", "AGENTS.md", "docs/api"]
        );
        assert_eq!(extent.bounds.folder.as_deref(), Some("groups/one"));
        assert_eq!(extent.bounds.outside, OutsideFolder::Closed);
        assert_eq!(extent.profile.workspace.git, GitChoice::None);
    }

    #[test]
    fn a_project_that_is_no_repository_is_named() {
        let world = World::new();
        fs::remove_dir_all(world.0.path().join("p/.git")).unwrap();
        let failure = world.extent("share = [\"AGENTS.md\"]").unwrap_err();
        assert!(failure.chain().join(" ").contains("is in none"));
        let keys = "share = [\"AGENTS.md\"]\nproject = \"../..\"";
        let extent = world.extent(keys).unwrap();
        assert_eq!(
            world.goes_in(&extent),
            "AGENTS.md groups/one/build/x groups/one/deep/build/x groups/one/mine"
        );
        // As far up as the file system goes, and not beyond what a workspace may be.
        let far = "../".repeat(64);
        let failure = world
            .extent(&format!("share = [\"a\"]\nproject = \"{far}\""))
            .unwrap_err();
        assert_eq!(failure.kind, FailureKind::Workspace);
        for wrong in ["/", ".", "../a", "a/..", "", "../.", "...", "..//.."] {
            let failure = world.extent(&format!("project = \"{wrong}\"")).unwrap_err();
            assert_eq!(failure.kind, FailureKind::Profile, "{wrong}");
        }
    }

    #[test]
    fn nothing_above_the_project_can_be_shared() {
        let world = World::new();
        for wrong in [
            "../x",
            "/etc/passwd",
            "a/../../x",
            "*.md",
            ".git/config",
            "",
        ] {
            let keys = format!("share = [\"{wrong}\"]");
            assert_eq!(world.extent(&keys).unwrap_err().kind, FailureKind::Profile);
            world.says("", &format!("[workspace]\nshare = [\"{wrong}\"]\n"));
            assert_eq!(world.extent("").unwrap_err().kind, FailureKind::Profile);
            world.says("", "");
        }
    }
}
