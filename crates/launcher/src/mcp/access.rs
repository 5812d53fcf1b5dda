//! `Access`: which workspaces and profiles an outer agent may use.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use lazaret_session::store::record::Record;
use rustix::fs::{Mode, OFlags, openat};

use crate::config::{Config, McpConfig};
use crate::environment::Environment;
use crate::failure::{Failure, FailureKind};
use crate::profile;
use crate::resolve::workspace;

/// Which workspaces and profiles an outer agent may use.
#[derive(Debug)]
pub(super) struct Access {
    /// Real paths of directories.
    roots: Vec<PathBuf>,
    /// Names of profiles.
    profiles: Vec<String>,
    /// Where they are written.
    file: PathBuf,
}

impl Access {
    /// Reads `[mcp]`.
    ///
    /// # Errors
    /// It is not there, or names something that no agent may have.
    pub(super) fn load(env: &Environment) -> Result<Self, Failure> {
        let file = Config::file(env)?;
        let shown = file.display().to_string();
        let config = Config::load(env)?;
        let McpConfig { roots, profiles } = config.mcp.ok_or_else(|| unset(&file))?;
        if roots.is_empty() || profiles.is_empty() {
            return Err(unset(&file));
        }
        let root = |path: &PathBuf| {
            let path = env.expand(path);
            if !path.is_absolute() {
                let text = format!("`mcp.roots` of {shown}: {} is relative", path.display());
                return Err(Failure::message(FailureKind::Profile, text)
                    .hinted("Write an absolute path, or one that starts with ~/."));
            }
            if !path.exists() {
                let text = format!("`mcp.roots` of {shown}: {} does not exist", path.display());
                return Err(Failure::message(FailureKind::Profile, text)
                    .hinted("Make the directory, or name another one there."));
            }
            let opened = workspace::open(&path, env)
                .map_err(|failure| failure.context(format!("`mcp.roots` of {shown}")))?;
            Ok(opened.path().to_path_buf())
        };
        let roots = roots.iter().map(root).collect::<Result<_, _>>()?;
        // A path could lead to a file that the outer agent can write.
        if let Some(path) = profiles
            .iter()
            .find(|name| name.contains('/') || name.ends_with(".toml"))
        {
            let text = format!("`mcp.profiles` of {shown}: {path} is a path");
            return Err(Failure::message(FailureKind::Profile, text).hinted(
                "Write the name of a built-in profile, or of one in your `profiles` directory.",
            ));
        }
        for name in &profiles {
            profile::load(name, env)
                .map_err(|failure| failure.context(format!("`mcp.profiles` of {shown}")))?;
        }
        Ok(Self {
            roots,
            profiles,
            file,
        })
    }

    /// Opens the directory of a path that a client named; no link is followed below the root.
    ///
    /// # Errors
    /// It lies outside of the roots, is not there, or leads through a link.
    pub(super) fn open(&self, text: &str) -> Result<Place, Failure> {
        let (root, rest) = self.split(text)?;
        let mut dir = open_dir(rustix::fs::CWD, root).map_err(|error| unusable(text, error))?;
        for name in rest.components() {
            dir = open_dir(&dir, Path::new(name.as_os_str()))
                .map_err(|error| unusable(text, error))?;
        }
        Ok(Place {
            path: root.join(rest),
            dir,
        })
    }

    /// Opens the directory around a path, and returns the path's last name.
    ///
    /// # Errors
    /// As [`Access::open`]; a root itself has no name.
    pub(super) fn open_parent(&self, text: &str) -> Result<(Place, String), Failure> {
        let (root, rest) = self.split(text)?;
        let name = rest.file_name().and_then(|name| name.to_str());
        let name = name.ok_or_else(|| {
            let text = format!("{text} is a root of the configuration, not a project in it");
            Failure::message(FailureKind::Refused, text)
        })?;
        let parent = root.join(rest.parent().unwrap_or(Path::new("")));
        Ok((self.open(&parent.to_string_lossy())?, name.to_owned()))
    }

    /// Splits a path into a root and what follows it.
    fn split<'a>(&'a self, text: &'a str) -> Result<(&'a Path, &'a Path), Failure> {
        let path = Path::new(text);
        let is_plain = path.is_absolute()
            && !text.contains('\0')
            && path
                .components()
                .all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
        if !is_plain {
            let text = format!("{text:?} is no absolute path without `..`");
            return Err(Failure::message(FailureKind::Usage, text));
        }
        let of = |root: &'a PathBuf| Some((root.as_path(), path.strip_prefix(root).ok()?));
        self.roots.iter().find_map(of).ok_or_else(|| {
            let text = format!("{text} lies outside of the roots that you may use");
            Failure::message(FailureKind::Refused, text).hinted(self.hint("roots"))
        })
    }

    /// Checks a profile.
    ///
    /// # Errors
    /// It is not listed.
    pub(super) fn check_profile(&self, name: &str) -> Result<(), Failure> {
        match self.profiles.iter().any(|listed| listed == name) {
            true => Ok(()),
            false => {
                let text = format!("the profile {name} is none that you may use");
                let listed = self.profiles.join(", ");
                Err(Failure::message(FailureKind::Refused, text)
                    .hinted(format!("There are: {listed}."))
                    .hinted(self.hint("profiles")))
            }
        }
    }

    /// Whether a real path lies inside a root.
    pub(super) fn holds(&self, path: &Path) -> bool {
        self.roots.iter().any(|root| path.starts_with(root))
    }

    /// Whether a session is one that the client may use.
    pub(super) fn allows(&self, record: &Record) -> bool {
        self.holds(&record.workspace) && self.profiles.contains(&record.profile)
    }

    fn hint(&self, key: &str) -> String {
        format!(
            "A person adds more to `{key}` below [mcp] in {}.",
            self.file.display()
        )
    }
}

/// A directory inside the roots.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) path: PathBuf,
    pub(super) dir: OwnedFd,
}

/// Opens a directory; not through a link.
pub(super) fn open_dir(at: impl std::os::fd::AsFd, name: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(at, name, flags, Mode::empty())?)
}

fn unusable(text: &str, error: io::Error) -> Failure {
    // ELOOP or ENOTDIR for a link (`man 2 open`, O_NOFOLLOW with O_DIRECTORY).
    let failure = Failure::new(FailureKind::Workspace, error);
    let failure = failure.context(format!("the directory {text} can't be used"));
    failure.hinted("Name a directory that is there. Links below the roots are not followed.")
}

fn unset(file: &Path) -> Failure {
    let text = "nothing says which workspaces and profiles a client of `lazaret mcp` may use";
    Failure::message(FailureKind::Profile, text).hinted(format!(
        "Write into {}: [mcp], below it roots = [\"~/agents\"] and profiles = [\"claude\"].",
        file.display()
    ))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn access(root: &Path) -> Access {
        Access {
            roots: vec![root.to_path_buf()],
            profiles: vec!["base".to_owned()],
            file: PathBuf::from("/c/config.toml"),
        }
    }

    #[test]
    fn mcp_01_no_path_and_no_link_leads_out_of_the_roots() {
        let scratch = tempfile::tempdir().unwrap();
        let real = fs::canonicalize(scratch.path()).unwrap();
        let (root, outside) = (real.join("root"), real.join("outside"));
        fs::create_dir_all(root.join("in/deep")).unwrap();
        fs::create_dir_all(outside.join("deep")).unwrap();
        std::os::unix::fs::symlink(&outside, root.join("link")).unwrap();
        fs::write(root.join("file"), "").unwrap();
        let access = access(&root);
        let opens = |text: String| access.open(&text).is_ok();
        let root = root.display();
        assert!(opens(format!("{root}")));
        assert!(opens(format!("{root}/in/deep")));
        for bad in [
            format!("{root}/link"),
            format!("{root}/link/deep"),
            format!("{root}/in/../../outside"),
            format!("{root}/file"),
            format!("{root}/missing"),
            format!("{root}side"),
            format!("{}", outside.display()),
            "in".to_owned(),
            "/".to_owned(),
            String::new(),
            format!("{root}/in\0"),
        ] {
            assert!(!opens(bad.clone()), "{bad}");
        }
        assert!(access.check_profile("base").is_ok());
        assert!(access.check_profile("other").is_err());
        assert!(access.check_profile("").is_err());
    }
}
