//! The safety check of the workspace: what lazaret refuses to work in.

use std::io;
use std::path::Path;

use lazaret_transfer::WorkspaceDir;
use lazaret_tree::{RelPath, RelPathBuf};

use crate::environment::Environment;
use crate::failure::{Failure, FailureKind};
use crate::own_dirs;

/// Opens the workspace at `path`, relative to the current directory. This is the one
/// place of the launcher where a host path becomes a capability.
///
/// # Errors
/// Names what is wrong: missing, not a directory, unreadable, `/`, the home directory or
/// a directory that contains it, one of the system such as `/etc`, or one around or in a directory of lazaret's own.
pub fn open(path: &Path, env: &Environment) -> Result<WorkspaceDir, Failure> {
    let shown = path.display().to_string();
    let refuse = |reason: &str| {
        Failure::message(
            FailureKind::Workspace,
            format!("the workspace {shown} {reason}"),
        )
    };
    let unreadable = |error: io::Error| {
        Failure::new(FailureKind::Workspace, error)
            .context(format!("the workspace {shown} can't be read"))
    };
    let workspace = WorkspaceDir::open_ambient(&env.cwd.join(path)).map_err(|error| match error
        .source
        .kind()
    {
        io::ErrorKind::NotFound => refuse("does not exist")
            .hinted("Name the directory that you work in with --workspace DIR."),
        io::ErrorKind::NotADirectory => refuse("is not a directory"),
        _ => unreadable(error.source),
    })?;
    let real = workspace.path();
    let hint = "Choose the directory of one project: everything below the workspace is copied in.";
    if real.parent().is_none() {
        return Err(refuse("is the root directory").hinted(hint));
    }
    let home = env
        .home()
        .ok()
        .and_then(|home| std::fs::canonicalize(home).ok());
    if let Some(home) = home {
        if real == home {
            return Err(refuse("is your home directory").hinted(hint));
        }
        if home.starts_with(real) {
            return Err(refuse("contains your home directory").hinted(hint));
        }
    }
    if is_of_the_system(real) {
        return Err(refuse("is a directory of the system").hinted(hint));
    }
    own_dirs::check_workspace(real, env)?;
    // A directory that may be entered but not listed opens, and then reads as an error.
    drop(std::fs::read_dir(real).map_err(unreadable)?);
    Ok(workspace)
}

/// Whether a directory belongs to the system as a whole (hier(7)): no project lies there, and
/// keys and passwords do.
fn is_of_the_system(real: &Path) -> bool {
    const WITH_ALL_BELOW: [&str; 5] = ["/boot", "/etc", "/private/etc", "/proc", "/sys"];
    const THEMSELVES: [&str; 13] = [
        "/bin",
        "/dev",
        "/home",
        "/lib",
        "/lib64",
        "/opt",
        "/run",
        "/sbin",
        "/srv",
        "/usr",
        "/usr/local",
        "/var",
        "/var/lib",
    ];
    WITH_ALL_BELOW.iter().any(|dir| real.starts_with(dir))
        || THEMSELVES.iter().any(|dir| real == Path::new(dir))
}

/// Opens the project that a workspace lies in: the directory that `way` leads up to, else the
/// nearest one, itself or above it, that has a `.git`, as git finds it. Returns it with the
/// workspace's place in it; `None` where they are the same.
///
/// # Errors
/// When there is none, it is one that no workspace may be (see [`open`]), or the place is no
/// path that is carried.
pub fn project(
    workspace: WorkspaceDir,
    project_root: Option<&str>,
    env: &Environment,
) -> Result<(WorkspaceDir, Option<RelPathBuf>), Failure> {
    let place = workspace.path().to_path_buf();
    let root = match project_root {
        Some(project_root) => Some(above(&place, project_root)),
        None => repository(&place),
    };
    let Some(root) = root else {
        let text = format!("{} is in no project", place.display());
        return Err(Failure::message(FailureKind::Workspace, text).hinted(
            "With `workspace.isolation` = \"project\" all of the repository goes in that the \
             workspace lies in: make one with `git init`, name the root in the profile (project = \
             \"../..\"), or set it to \"workspace\".",
        ));
    };
    if root == place {
        return Ok((workspace, None));
    }
    let folder = folder_in(root, &place)?;
    Ok((open(root, env)?, Some(folder)))
}

/// Opens the project above a workspace, as [`project`] finds it; `None` where the workspace is
/// in none, or is one itself. A repository that no workspace may be, such as a home, is none.
///
/// # Errors
/// When `way` leads to one that no workspace may be.
pub fn enclosing(
    workspace: &WorkspaceDir,
    project_root: Option<&str>,
    env: &Environment,
) -> Result<Option<(WorkspaceDir, RelPathBuf)>, Failure> {
    let place = workspace.path();
    let root = match project_root {
        Some(project_root) => Some(above(place, project_root)),
        None => repository(place),
    };
    let Some(root) = root.filter(|root| *root != place) else {
        return Ok(None);
    };
    let opened = match (open(root, env), project_root) {
        (Err(_), None) => return Ok(None),
        (opened, _) => opened?,
    };
    Ok(Some((opened, folder_in(root, place)?)))
}

/// Goes up by as many names as a way has. The place is a real path: no link is passed.
fn above<'a>(place: &'a Path, project_root: &str) -> &'a Path {
    let steps = project_root.split('/').count();
    place.ancestors().nth(steps).unwrap_or(Path::new("/"))
}

fn repository(place: &Path) -> Option<&Path> {
    place.ancestors().find(|dir| dir.join(".git").exists())
}

fn folder_in(root: &Path, place: &Path) -> Result<RelPathBuf, Failure> {
    let below = place.strip_prefix(root).unwrap_or(Path::new(""));
    let folder = RelPath::from_bytes(below.as_os_str().as_encoded_bytes());
    let folder = folder.map_err(|error| {
        Failure::new(FailureKind::Workspace, error)
            .context(format!("the place of {} in its project", place.display()))
    })?;
    Ok(folder.to_owned())
}
