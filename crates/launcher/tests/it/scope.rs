//! What of a project goes in with a workspace.

use std::fs;

use lazaret_transfer::{Hashing, walk};
use lazaret_tree::Entry;

use lazaret_launcher::environment::{Environment, StreamKind, StreamKinds};
use lazaret_launcher::failure::{Failure, FailureKind};
use lazaret_launcher::profile::{self, GitChoice};
use lazaret_launcher::resolve::scope::WorkspaceScope;
use lazaret_launcher::resolve::workspace;
use lazaret_session::store::record::{OutsideFolder, WriteScope};

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

    fn scope(&self, keys: &str) -> Result<WorkspaceScope, Failure> {
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
        let profile = profile::load(file.to_str().unwrap(), &env)?;
        let workspace = workspace::open("p/groups/one".as_ref(), &env)?;
        WorkspaceScope::of(profile, workspace, &env)
    }

    /// What goes in, files alone.
    fn goes_in(&self, scope: &WorkspaceScope) -> String {
        let walked = walk(&scope.root, &scope.selector().unwrap(), Hashing::SizesOnly);
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
    let scope = world.scope("").unwrap();
    assert!(scope.root.path().ends_with("p/groups/one"));
    assert_eq!(scope.bounds, WriteScope::default());
    // What the folder's own file says widens nothing.
    world.says("groups/one", "[workspace]\nshare = [\"AGENTS.md\"]\n");
    let scope = world.scope("").unwrap();
    assert!(scope.root.path().ends_with("p/groups/one"));
}

#[test]
fn the_project_or_the_user_share_and_nothing_else_goes_in() {
    let world = World::new();
    world.says(
        "",
        "[workspace]\nshare = [\"docs/api/\", \".env\"]\nexclude = [\"*.tmp\"]\n",
    );
    let scope = world
        .scope("share = [\"AGENTS.md\"]\nprotect = [\"mine\"]\nexclude = [\"/build\"]")
        .unwrap();
    assert!(scope.root.path().ends_with("p"));
    // A secret stays out even if it is shared; the way in is taken though git ignores it.
    assert_eq!(
        world.goes_in(&scope),
        "AGENTS.md docs/api/x.md groups/one/deep/build/x groups/one/mine"
    );
    assert_eq!(
        scope.bounds.protect,
        ["groups/one/mine", ".env", "AGENTS.md", "docs/api"]
    );
    assert_eq!(scope.bounds.folder.as_deref(), Some("groups/one"));
    assert_eq!(scope.bounds.outside, OutsideFolder::Closed);
    assert_eq!(scope.profile.workspace.git, GitChoice::None);
}

#[test]
fn a_project_that_is_no_repository_is_named() {
    let world = World::new();
    fs::remove_dir_all(world.0.path().join("p/.git")).unwrap();
    let failure = world.scope("share = [\"AGENTS.md\"]").unwrap_err();
    assert!(failure.chain().join(" ").contains("is in none"));
    let keys = "share = [\"AGENTS.md\"]\nproject = \"../..\"";
    let scope = world.scope(keys).unwrap();
    assert_eq!(
        world.goes_in(&scope),
        "AGENTS.md groups/one/build/x groups/one/deep/build/x groups/one/mine"
    );
    // As far up as the file system goes, and not beyond what a workspace may be.
    let far = "../".repeat(64);
    let failure = world
        .scope(&format!("share = [\"a\"]\nproject = \"{far}\""))
        .unwrap_err();
    assert_eq!(failure.kind, FailureKind::Workspace);
    for wrong in ["/", ".", "../a", "a/..", "", "../.", "...", "..//.."] {
        let failure = world.scope(&format!("project = \"{wrong}\"")).unwrap_err();
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
        assert_eq!(world.scope(&keys).unwrap_err().kind, FailureKind::Profile);
        world.says("", &format!("[workspace]\nshare = [\"{wrong}\"]\n"));
        assert_eq!(world.scope("").unwrap_err().kind, FailureKind::Profile);
        world.says("", "");
    }
}
