//! `groups.toml`: what is written there, checked.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use lazaret_tree::RelPathBuf;
use serde::Deserialize;
use toml::Spanned;

use super::{Group, Level, check};
use crate::environment::Environment;
use crate::failure::{Failure, FailureKind};
use crate::profile::{GroupLimits, GroupNetwork, ProfileError, read_unlinked};
use crate::resolve::extra::ExtraRule;

/// The file in lazaret's configuration directory.
pub(super) const FILE: &str = "groups.toml";

/// The most extra directories of a group.
const MOST_EXTRA: usize = 16;

/// The most chats of a group, and paths that are shared with it.
const MOST: usize = 100;

/// The most bytes of a chat's name.
const MOST_CHAT: usize = 200;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFile {
    #[serde(default)]
    groups: BTreeMap<Spanned<String>, RawGroup>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawGroup {
    level: Level,
    profile: Spanned<String>,
    project: Spanned<PathBuf>,
    folder: Option<Spanned<String>>,
    #[serde(default)]
    shared: Vec<Spanned<String>>,
    #[serde(default)]
    extra: BTreeMap<Spanned<String>, Spanned<PathBuf>>,
    #[serde(default)]
    chats: Vec<Spanned<String>>,
    #[serde(default)]
    limits: GroupLimits,
    #[serde(default)]
    network: GroupNetwork,
}

/// All groups of the user.
#[derive(Debug)]
pub struct Groups {
    file: String,
    text: String,
    all: BTreeMap<String, Group>,
}

impl Groups {
    /// Reads the file; without one there are no groups.
    ///
    /// # Errors
    /// It can't be read, or something in it can't be.
    pub fn load(env: &Environment) -> Result<Self, Failure> {
        let Ok(config) = env.config_dir() else {
            return Self::parse(FILE, String::new(), env);
        };
        let path = config.join(FILE);
        Self::parse(&path.display().to_string(), read(&path)?, env)
    }

    /// Checks the text of a file.
    pub(super) fn parse(file: &str, text: String, env: &Environment) -> Result<Self, Failure> {
        let raw: RawFile =
            toml::from_str(&text).map_err(|error| ProfileError::of_toml(file, &text, &error))?;
        let reader = Reader {
            file,
            text: &text,
            env,
        };
        let mut all = BTreeMap::new();
        for (name, raw) in raw.groups {
            let group = reader.group(&name, raw)?;
            all.insert(group.name.clone(), group);
        }
        if let Err(clash) = check::apart(&all) {
            let text = format!("{file}: {clash}");
            return Err(Failure::message(FailureKind::Profile, text));
        }
        let file = file.to_owned();
        Ok(Self { file, text, all })
    }

    /// Returns where they are written.
    pub(super) fn file(&self) -> &str {
        &self.file
    }

    /// Returns what is written there.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Returns all of them, by name.
    pub fn all(&self) -> impl Iterator<Item = &Group> {
        self.all.values()
    }

    /// Returns a group.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn get(&self, name: &str) -> Result<&Group, Failure> {
        self.all.get(name).ok_or_else(|| {
            let text = format!("there is no group \"{}\"", name.escape_debug());
            Failure::message(FailureKind::Refused, text)
                .hinted("`lazaret group ls` lists the groups, `lazaret group add` makes one.")
        })
    }

    /// Takes a group out; `None` if there is none of this name.
    pub fn take(&mut self, name: &str) -> Option<Group> {
        self.all.remove(name)
    }

    /// Returns what is written of a group, as it is written.
    pub fn written(&self, name: &str) -> Option<toml::Value> {
        let table: toml::Table = toml::from_str(&self.text).ok()?;
        table.get("groups")?.get(name).cloned()
    }
}

/// Reads the file; one that is not there is empty.
pub(super) fn read(path: &Path) -> Result<String, Failure> {
    // Not through a link: it could lead into a workspace, whose agent could write there.
    match read_unlinked(path) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(Failure::new(FailureKind::Profile, error)
            .context(format!("{} can't be read", path.display()))),
    }
}

/// Whether a text can be the name of a group.
pub(super) fn is_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    // `lazaret mail ack` is something else.
    (1..=40).contains(&name.len()) && name.bytes().all(is_plain) && name != "ack"
}

/// Whether a text can be the name of an extra directory.
fn is_extra_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    (1..=64).contains(&name.len())
        && name.bytes().all(is_plain)
        && name.starts_with(|first: char| first.is_ascii_alphanumeric())
}

struct Reader<'a> {
    file: &'a str,
    text: &'a str,
    env: &'a Environment,
}

impl Reader<'_> {
    fn error(&self, span: &Range<usize>, message: &str) -> ProfileError {
        ProfileError::at(self.file, self.text, span, message)
    }

    fn group(&self, name: &Spanned<String>, raw: RawGroup) -> Result<Group, ProfileError> {
        if !is_name(name.get_ref()) {
            let message = "a group's name: expected 1 to 40 of a-z, 0-9 and `-`, and not \"ack\"";
            return Err(self.error(&name.span(), message));
        }
        let folder = match &raw.folder {
            Some(folder) => Some(self.path("folder", folder)?),
            None => None,
        };
        if raw.level == Level::Member && folder.is_none() {
            let message = "a member has a `folder` of its project, such as \"groups/family\"";
            return Err(self.error(&name.span(), message));
        }
        if let (Level::Main, Some(shared)) = (raw.level, raw.shared.first()) {
            let message = "`shared` has no meaning for main, which has the whole project";
            return Err(self.error(&shared.span(), message));
        }
        for list in [&raw.shared, &raw.chats] {
            if let Some(one) = list.get(MOST) {
                let message = format!("found more than {MOST}");
                return Err(self.error(&one.span(), &message));
            }
        }
        let shared = raw.shared.iter().map(|path| self.path("shared", path));
        let chat = |chat: &Spanned<String>| {
            let text = chat.get_ref();
            match (1..=MOST_CHAT).contains(&text.len()) && !text.chars().any(char::is_control) {
                true => Ok(text.clone()),
                false => {
                    let message = format!(
                        "`chats`: expected 1 to {MOST_CHAT} bytes without control characters"
                    );
                    Err(self.error(&chat.span(), &message))
                }
            }
        };
        Ok(Group {
            name: name.get_ref().clone(),
            level: raw.level,
            profile: raw.profile.into_inner(),
            project: self.project(&raw.project)?,
            folder,
            shared: shared.collect::<Result<_, _>>()?,
            extra: self.extra(&raw.extra)?,
            chats: raw.chats.iter().map(chat).collect::<Result<_, _>>()?,
            limits: raw.limits,
            network: raw.network,
        })
    }

    fn path(&self, key: &str, raw: &Spanned<String>) -> Result<RelPathBuf, ProfileError> {
        let text = raw.get_ref();
        text.strip_suffix('/')
            .unwrap_or(text)
            .parse()
            .map_err(|error| {
                self.error(
                    &raw.span(),
                    &format!("`{key}`: {text:?} is no path in the project: {error}"),
                )
            })
    }

    fn extra(
        &self,
        raw: &BTreeMap<Spanned<String>, Spanned<PathBuf>>,
    ) -> Result<Vec<ExtraRule>, ProfileError> {
        if let Some((name, _)) = raw.iter().nth(MOST_EXTRA) {
            let message = format!("`extra`: found more than {MOST_EXTRA}");
            return Err(self.error(&name.span(), &message));
        }
        let rule = |(name, path): (&Spanned<String>, &Spanned<PathBuf>)| {
            let is_name = is_extra_name(name.get_ref());
            match name.get_ref().parse::<RelPathBuf>() {
                Ok(parsed) if is_name => Ok(ExtraRule {
                    name: parsed,
                    path: self.directory("extra", path)?,
                }),
                _ => {
                    let message = "`extra`: a name has 1 to 64 of A-Z, a-z, 0-9, `.`, `_` and \
                                   `-`, and begins with a letter or a digit";
                    Err(self.error(&name.span(), message))
                }
            }
        };
        raw.iter().map(rule).collect()
    }

    fn project(&self, raw: &Spanned<PathBuf>) -> Result<PathBuf, ProfileError> {
        self.directory("project", raw)
    }

    /// Reads a directory of the host.
    fn directory(&self, key: &str, raw: &Spanned<PathBuf>) -> Result<PathBuf, ProfileError> {
        let path = self.env.expand(raw.get_ref());
        if !path.is_absolute() {
            let message = format!("`{key}`: expected an absolute path, or one that starts with ~/");
            return Err(self.error(&raw.span(), &message));
        }
        Ok(fs::canonicalize(&path).unwrap_or(path))
    }
}
