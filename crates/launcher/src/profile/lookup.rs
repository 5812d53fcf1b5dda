//! Where profiles are: a path, the built-in ones, the user's own.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use super::source::Source;
use super::{Origin, Profile, extends, notify, resolve};
use crate::environment::Environment;
use crate::failure::{Failure, FailureKind};

/// The profiles that come with lazaret.
pub(super) const BUILT_IN: &[(&str, &str)] = lazaret_image_builder::PROFILES;

/// The most bytes of a profile. No profile needs more; a device or a log would never end.
const MOST_BYTES: u64 = 256 << 10;

/// A profile's name and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The name to give to `run`.
    pub name: String,
    /// Where it comes from.
    pub origin: Origin,
}

/// Finds and reads a profile: a path (with a `/`, or ending in `.toml`), a built-in name,
/// or a name in the user's own `profiles` directory.
///
/// # Errors
/// Says where it was looked for, or the line that is wrong.
pub fn load(name: &str, env: &Environment) -> Result<Profile, Failure> {
    if name.contains('/') || name.ends_with(".toml") {
        let path = env.cwd.join(name);
        let text = read(&path)?.ok_or_else(|| {
            Failure::message(FailureKind::Profile, format!("there is no profile {name}"))
        })?;
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let source = Source {
            file: name,
            text: &text,
        };
        if !is_own(&path, env) {
            notify::refuse(&source)?;
        }
        return resolved(&stem, Origin::File(path.clone()), &source, env);
    }
    if let Some((name, text)) = BUILT_IN.iter().find(|(known, _)| *known == name) {
        let file = format!("profiles/{name}.toml");
        let source = Source { file: &file, text };
        return resolved(name, Origin::BuiltIn, &source, env);
    }
    let mut looked_in = String::from("is not built in");
    if is_plain(name)
        && let Ok(config) = env.config_dir()
    {
        let path = config.join("profiles").join(format!("{name}.toml"));
        if let Some(text) = read(&path)? {
            let shown = path.display().to_string();
            let source = Source {
                file: &shown,
                text: &text,
            };
            return resolved(name, Origin::File(path.clone()), &source, env);
        }
        looked_in.push_str(&format!(", and {} does not exist", path.display()));
    }
    let known: Vec<_> = list(env)?.into_iter().map(|listed| listed.name).collect();
    Err(Failure::message(
        FailureKind::Profile,
        format!("there is no profile \"{name}\": it {looked_in}"),
    )
    .hinted(format!(
        "There are: {}. A path must hold a `/` or end in `.toml`.",
        known.join(", ")
    )))
}

/// Reads the text of a profile of the user's own that is no file yet.
///
/// # Errors
/// What is wrong in it.
pub(crate) fn checked(name: &str, text: &str, env: &Environment) -> Result<Profile, Failure> {
    let file = own_file(name, env)?;
    let shown = file.display().to_string();
    let source = Source { file: &shown, text };
    resolved(name, Origin::File(file.clone()), &source, env)
}

/// Returns where the user's own profile of a name is.
///
/// # Errors
/// There is no directory for it.
pub(crate) fn own_file(name: &str, env: &Environment) -> Result<PathBuf, Failure> {
    Ok(env
        .config_dir()?
        .join("profiles")
        .join(format!("{name}.toml")))
}

/// Reads a profile, joined with the one that it extends.
fn resolved(
    name: &str,
    origin: Origin,
    source: &Source<'_>,
    env: &Environment,
) -> Result<Profile, Failure> {
    let Some(extends) = source.parse()?.extends else {
        return Ok(resolve::profile(name, origin, source)?);
    };
    let Some((file, text)) = extended(extends.get_ref(), env)? else {
        let known: Vec<_> = list(env)?.into_iter().map(|listed| listed.name).collect();
        let message = format!(
            "`extends`: there is no profile \"{}\", built in or of your own",
            extends.get_ref().escape_debug()
        );
        return Err(Failure::from(source.error(&extends.span(), &message))
            .hinted(format!("There are: {}.", known.join(", "))));
    };
    let base = Source {
        file: &file,
        text: &text,
    };
    let text = extends::merged(source, &base)?;
    let both = format!("{} with {file}", source.file);
    let source = Source {
        file: &both,
        text: &text,
    };
    Ok(resolve::profile(name, origin, &source)?)
}

/// Finds the file and text of a profile by its name alone: no path, which would let a file
/// of a workspace in.
fn extended(name: &str, env: &Environment) -> Result<Option<(String, String)>, Failure> {
    if let Some((name, text)) = BUILT_IN.iter().find(|(known, _)| *known == name) {
        return Ok(Some((format!("profiles/{name}.toml"), (*text).to_owned())));
    }
    let (true, Ok(config)) = (is_plain(name), env.config_dir()) else {
        return Ok(None);
    };
    let path = config.join("profiles").join(format!("{name}.toml"));
    Ok(read(&path)?.map(|text| (path.display().to_string(), text)))
}

/// Whether a file lies in the user's own `profiles` directory.
fn is_own(path: &Path, env: &Environment) -> bool {
    let dir = path.parent().map(fs::canonicalize);
    let own = env.config_dir().map(|config| config.join("profiles"));
    match (dir, own.map(fs::canonicalize)) {
        (Some(Ok(dir)), Ok(Ok(own))) => dir == own,
        _ => false,
    }
}

/// Lists the built-in profiles and the user's own, those that are wrong too.
///
/// # Errors
/// When the user's directory can't be read.
pub fn list(env: &Environment) -> Result<Vec<Listed>, Failure> {
    let mut listed: Vec<_> = BUILT_IN
        .iter()
        .map(|(name, _)| Listed {
            name: (*name).to_owned(),
            origin: Origin::BuiltIn,
        })
        .collect();
    let Ok(config) = env.config_dir() else {
        return Ok(listed);
    };
    let dir = config.join("profiles");
    let unreadable =
        |error: io::Error| profile_file(error).context(format!("{} can't be read", dir.display()));
    let entries = match fs::read_dir(&dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(listed),
        Err(error) => return Err(unreadable(error)),
    };
    let mut own = Vec::new();
    for entry in entries {
        let path = entry.map_err(unreadable)?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        let Some(name) = name.and_then(|name| name.strip_suffix(".toml")) else {
            continue;
        };
        // A built-in name is found first: this file could be used by its path only.
        if is_plain(name) && listed.iter().all(|built_in| built_in.name != name) {
            own.push(Listed {
                name: name.to_owned(),
                origin: Origin::File(path.clone()),
            });
        }
    }
    own.sort_by(|a, b| a.name.cmp(&b.name));
    listed.extend(own);
    Ok(listed)
}

/// Whether a name can be that of a file in the user's directory.
pub(crate) fn is_plain(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with('.')
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

fn profile_file(error: io::Error) -> Failure {
    Failure::new(FailureKind::Profile, error)
}

/// Reads a file of the user's; `None` when it is not there.
pub(crate) fn read(path: &Path) -> Result<Option<String>, Failure> {
    match open(path, OFlags::empty()) {
        Ok(file) => read_limited(file).map(Some),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
    .map_err(|error| profile_file(error).context(format!("{} can't be read", path.display())))
}

/// Reads a file of lazaret's that no link leads to: UTF-8 text of at most 256 KiB.
///
/// # Errors
/// The disk's, or what it is instead.
pub fn read_unlinked(path: &Path) -> io::Result<String> {
    open(path, OFlags::NOFOLLOW).and_then(read_limited)
}

/// Opens a file without waiting for the other end of a FIFO.
fn open(path: &Path, flags: OFlags) -> io::Result<fs::File> {
    let flags = flags | OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    Ok(rustix::fs::open(path, flags, Mode::empty())?.into())
}

/// Reads UTF-8 text up to the limit.
fn read_limited(file: fs::File) -> io::Result<String> {
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(io::Error::other(format!(
            "it has more than {} KiB",
            MOST_BYTES >> 10
        )));
    }
    String::from_utf8(bytes).map_err(|_| io::Error::other("it is not UTF-8 text"))
}
