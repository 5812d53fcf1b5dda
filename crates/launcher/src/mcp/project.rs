//! The tools about projects and their workspaces.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::path::Path;

use lazaret_mcp::{OneProject, ProjectCreate, WorkspaceCreate};
use lazaret_tree::RelPathBuf;
use rustix::fs::{
    AtFlags, Dir, Mode, OFlags, RenameFlags, mkdirat, openat, renameat_with, unlinkat,
};
use rustix::io::Errno;
use serde_json::{Value, json};

use super::Host;
use super::access::{Place, open_dir};
use super::copy::{Copied, Room, copy, remove};
use crate::failure::{Failure, FailureKind};
use crate::own_dirs;
use crate::profile::{Isolation, ProjectSettings, WORKSPACE_FILE};

/// The folder of a project in which its workspaces lie.
const WORKSPACES: &str = "workspaces";
/// The most bytes of a workspace's name.
const LONGEST_NAME: usize = 100;

impl Host {
    pub(super) fn project_create(&self, input: &ProjectCreate) -> Result<Value, Failure> {
        let settings = ProjectSettings {
            isolation: match input.workspace_isolation {
                true => Isolation::Workspace,
                false => Isolation::Project,
            },
            protect: input.protected_paths.clone(),
            share: input.share.clone(),
        };
        let text = settings.to_toml()?;
        let (parent, name) = self.access.open_parent(&input.path)?;
        check_name(&name)?;
        own_dirs::check_workspace(&parent.path.join(&name), &self.verbs.env)?;
        match mkdirat(&parent.dir, &name, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(failed("the project can't be made", error.into())),
        }
        let project = self.access.open(&input.path)?;
        write_new(&project.dir, &text)?;
        self.settings(&project, &settings)
    }

    pub(super) fn project_get(&self, input: &OneProject) -> Result<Value, Failure> {
        let project = self.access.open(&input.path)?;
        let settings = ProjectSettings::of(&project.path)?;
        self.settings(&project, &settings)
    }

    fn settings(&self, project: &Place, settings: &ProjectSettings) -> Result<Value, Failure> {
        let unreadable = |error| failed("the workspaces can't be listed", error);
        Ok(json!({
            "project": project.path,
            "file": project.path.join(WORKSPACE_FILE),
            "settings": {
                "workspace_isolation": settings.isolation == Isolation::Workspace,
                "protected_paths": settings.protect,
                "share": settings.share,
            },
            "workspaces": workspaces(&project.dir).map_err(unreadable)?,
        }))
    }

    pub(super) fn workspace_create(&self, input: &WorkspaceCreate) -> Result<Value, Failure> {
        check_name(&input.name)?;
        let project = self.access.open(&input.project)?;
        own_dirs::check_workspace(&project.path, &self.verbs.env)?;
        let settings = ProjectSettings::of(&project.path)?;
        let isolates = settings.isolation == Isolation::Workspace;
        let wanted = match (&input.copy, isolates) {
            (Some(paths), _) => paths.clone(),
            (None, true) => vec!["AGENTS.md".to_owned(), ".factory".to_owned()],
            (None, false) => vec![".factory".to_owned()],
        };
        let paths = wanted
            .iter()
            .map(|text| parse(text))
            .collect::<Result<Vec<_>, _>>()?;
        match mkdirat(&project.dir, WORKSPACES, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(failed("the workspaces have no directory", error.into())),
        }
        let all = open_dir(&project.dir, Path::new(WORKSPACES))
            .map_err(|error| failed("the directory of the workspaces can't be used", error))?;
        let made = NewWorkspace {
            project: &project,
            all: &all,
            paths: &paths,
            settings: &settings,
            if_missing: match input.copy {
                Some(_) => IfMissing::Refuse,
                None => IfMissing::Leave,
            },
        };
        let copied = made.make(&input.name)?;
        let path = project.path.join(WORKSPACES).join(&input.name);
        Ok(json!({ "path": path, "copied": copied }))
    }
}

/// What becomes of a path to copy that is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IfMissing {
    Refuse,
    Leave,
}

/// A workspace that is being made. It appears whole, under its name, or not at all.
struct NewWorkspace<'a> {
    project: &'a Place,
    /// The directory of the workspaces.
    all: &'a OwnedFd,
    paths: &'a [RelPathBuf],
    settings: &'a ProjectSettings,
    if_missing: IfMissing,
}

impl NewWorkspace<'_> {
    fn make(&self, name: &str) -> Result<Vec<String>, Failure> {
        let new = fresh(self.all).map_err(|error| failed("the workspace can't be made", error))?;
        let put = self.fill(&new).and_then(|copied| {
            match renameat_with(self.all, &new, self.all, name, RenameFlags::NOREPLACE) {
                Ok(()) => Ok(copied),
                Err(Errno::EXIST) => {
                    let text = format!("there is a workspace {name} already");
                    Err(Failure::message(FailureKind::Refused, text)
                        .hinted("Take another name: project_get lists them."))
                }
                Err(error) => Err(failed(
                    "the workspace can't be put in its place",
                    error.into(),
                )),
            }
        });
        if put.is_err() {
            drop(remove(self.all, &new));
        }
        put
    }

    /// Returns what was copied.
    fn fill(&self, new: &str) -> Result<Vec<String>, Failure> {
        let unusable = |error| failed("the new workspace can't be used", error);
        let dir = open_dir(self.all, Path::new(new)).map_err(unusable)?;
        let (mut room, mut copied) = (Room::default(), Vec::new());
        for path in self.paths {
            let shown = path.as_str();
            match copy(&self.project.dir, &dir, path, &mut room) {
                Ok(Copied::Yes) => copied.push(shown.to_owned()),
                Ok(Copied::Missing) if self.if_missing == IfMissing::Leave => {}
                Ok(Copied::Missing) => {
                    let text = format!("the project has no {shown} to copy");
                    return Err(Failure::message(FailureKind::Refused, text));
                }
                Err(error) => return Err(failed(&format!("{shown} can't be copied"), error)),
            }
        }
        if self.settings.isolation == Isolation::Workspace {
            // Its agent must not take its own bounds away.
            let mut own = self.settings.clone();
            own.share.clear();
            if !own.protect.iter().any(|path| path == WORKSPACE_FILE) {
                own.protect.push(WORKSPACE_FILE.to_owned());
            }
            write_new(&dir, &own.to_toml()?)?;
        }
        Ok(copied)
    }
}

fn failed(what: &str, error: io::Error) -> Failure {
    Failure::new(FailureKind::Workspace, error).context(what)
}

/// Reads a path of a project that is to be copied.
fn parse(text: &str) -> Result<RelPathBuf, Failure> {
    let usage = |text: String| Failure::message(FailureKind::Usage, text);
    let path: RelPathBuf = text
        .trim_end_matches('/')
        .parse()
        .map_err(|error| usage(format!("{text:?} is no path of a project: {error}")))?;
    let first = path.as_str().split('/').next().unwrap_or_default();
    match [WORKSPACES, WORKSPACE_FILE, ".git"].contains(&first) {
        true => Err(usage(format!("{text:?} is not copied into a workspace"))),
        false => Ok(path),
    }
}

/// Checks the name of a project or a workspace.
fn check_name(name: &str) -> Result<(), Failure> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let is_good = name
        .bytes()
        .next()
        .is_some_and(|byte| byte.is_ascii_alphanumeric())
        && name.len() <= LONGEST_NAME
        && name.bytes().all(is_plain);
    match is_good {
        true => Ok(()),
        false => {
            let text = format!("{name:?} can't be the name of a project or a workspace");
            Err(Failure::message(FailureKind::Usage, text).hinted(format!(
                "Start with a letter or a digit; then `-`, `_` and `.` may follow, up to \
                 {LONGEST_NAME} bytes."
            )))
        }
    }
}

/// Makes an empty directory under a name that is free.
fn fresh(all: &OwnedFd) -> io::Result<String> {
    for number in 0..1_000 {
        let name = format!(".new-{}-{number}", std::process::id());
        match mkdirat(all, &name, Mode::from_raw_mode(0o777)) {
            Err(Errno::EXIST) => {}
            made => return Ok(made.map(|()| name)?),
        }
    }
    Err(io::Error::other("too many are being made"))
}

/// Lists the workspaces of a project.
fn workspaces(project: &OwnedFd) -> io::Result<Vec<String>> {
    let dir = match open_dir(project, Path::new(WORKSPACES)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        opened => opened?,
    };
    let mut names = Vec::new();
    for entry in Dir::read_from(&dir)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if check_name(&name).is_ok() && open_dir(&dir, Path::new(&name)).is_ok() {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

/// Writes `lazaret.toml` into a directory that has none. It is there whole, or not at all.
fn write_new(dir: &OwnedFd, text: &str) -> Result<(), Failure> {
    let unwritten = |error: io::Error| failed(&format!("{WORKSPACE_FILE} can't be written"), error);
    let new = format!(".{WORKSPACE_FILE}.new-{}", std::process::id());
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let mode = Mode::from_raw_mode(0o666);
    let file = openat(dir, &new, flags, mode).map_err(|error| unwritten(error.into()))?;
    let mut file = File::from(file);
    let put = (file
        .write_all(text.as_bytes())
        .and_then(|()| file.sync_all()))
    .and_then(|()| {
        Ok(renameat_with(
            dir,
            &new,
            dir,
            WORKSPACE_FILE,
            RenameFlags::NOREPLACE,
        )?)
    });
    let Err(error) = put else {
        return Ok(());
    };
    let _gone = unlinkat(dir, &new, AtFlags::empty());
    Err(match error.kind() {
        io::ErrorKind::AlreadyExists => {
            let text = format!("the project has a {WORKSPACE_FILE} already");
            Failure::message(FailureKind::Refused, text)
                .hinted("A person changes its settings by editing that file.")
        }
        _ => unwritten(error),
    })
}
