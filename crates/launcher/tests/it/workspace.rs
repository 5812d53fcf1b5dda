//! Which directories can be a workspace, and which project they lie in.

use std::path::{Path, PathBuf};

use insta::assert_snapshot;

use lazaret_launcher::environment::{Environment, StreamKind, StreamKinds};
use lazaret_launcher::failure::FailureKind;
use lazaret_launcher::resolve::workspace::{open, project};

/// A home in a temporary directory, with a project and a file in it.
struct World {
    root: tempfile::TempDir,
    env: Environment,
}

fn world() -> World {
    let root = tempfile::tempdir().unwrap();
    let home = root.path().join("home");
    std::fs::create_dir_all(home.join("project")).unwrap();
    std::fs::write(home.join("file"), "").unwrap();
    std::os::unix::fs::symlink(&home, root.path().join("alias")).unwrap();
    let streams = StreamKinds {
        stdin: StreamKind::Other,
        stdout: StreamKind::Other,
        stderr: StreamKind::Other,
    };
    let variables = [("HOME".into(), home.clone().into_os_string())];
    let env = Environment::new(variables, streams, None, 0, home);
    World { root, env }
}

impl World {
    fn refusal(&self, path: impl Into<PathBuf>) -> String {
        let failure = open(&path.into(), &self.env).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Workspace);
        let root = self.root.path().display().to_string();
        failure.chain().join(": ").replace(&root, "$ROOT") + "\n"
    }
}

#[test]
fn a_project_is_opened_relative_to_the_current_directory() {
    let world = world();
    let workspace = open(Path::new("project"), &world.env).unwrap();
    assert!(workspace.path().ends_with("home/project"));
}

#[test]
fn directories_of_the_system_are_refused() {
    let world = world();
    for dir in ["/etc", "/etc/ssl", "/usr", "/var", "/proc/self/fd"] {
        if Path::new(dir).is_dir() {
            let refusal = world.refusal(dir);
            assert!(
                refusal.ends_with("is a directory of the system\n"),
                "{refusal}"
            );
        }
    }
}

#[test]
fn unfit_workspaces_are_refused_by_name() {
    let world = world();
    let root = world.root.path();
    let refusals: String = [
        PathBuf::from("/"),
        PathBuf::from("."),
        root.join("home"),
        // The same directory by another name.
        root.join("alias"),
        root.join("home/project/.."),
        root.to_path_buf(),
        PathBuf::from("missing"),
        PathBuf::from("file"),
        PathBuf::from("file/below"),
        PathBuf::from(""),
    ]
    .map(|path| world.refusal(path))
    .concat();
    assert_snapshot!(refusals, @"
    the workspace / is the root directory
    the workspace . is your home directory
    the workspace $ROOT/home is your home directory
    the workspace $ROOT/alias is your home directory
    the workspace $ROOT/home/project/.. is your home directory
    the workspace $ROOT contains your home directory
    the workspace missing does not exist
    the workspace file is not a directory
    the workspace file/below is not a directory
    the workspace  is your home directory
    ");
}

#[test]
fn a_project_is_the_nearest_repository_above() {
    let world = world();
    let deep = world.root.path().join("home/project/groups/one");
    std::fs::create_dir_all(&deep).unwrap();
    let found = || {
        let workspace = open(&deep, &world.env).unwrap();
        project(workspace, None, &world.env).map(|(root, folder)| {
            let folder = folder.map(|folder| folder.to_string());
            (root.path().to_path_buf(), folder)
        })
    };
    assert_eq!(found().unwrap_err().kind, FailureKind::Workspace);
    let real = std::fs::canonicalize(world.root.path()).unwrap();
    // A home that is a repository is no project that goes in.
    std::fs::create_dir(world.root.path().join("home/.git")).unwrap();
    assert!(
        found()
            .unwrap_err()
            .chain()
            .join(" ")
            .contains("home directory")
    );
    std::fs::create_dir(world.root.path().join("home/project/.git")).unwrap();
    let folder = Some("groups/one".to_owned());
    assert_eq!(found().unwrap(), (real.join("home/project"), folder));
    std::fs::write(deep.join(".git"), "gitdir: x").unwrap();
    assert_eq!(
        found().unwrap(),
        (real.join("home/project/groups/one"), None)
    );
}
