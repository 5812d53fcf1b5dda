//! `RawProfile` to `Profile`: defaults, names, combinations that can't be, and what
//! this version can't do.

use std::ops::Range;

use lazaret_egress::AllowEntry;
use lazaret_tree::{RelPath, RelPathBuf, is_git_name};

use super::ask::ask;
use super::files::files;
use super::gate::gate;
use super::home::home;
use super::limits::limits;
use super::network::{HasRoutes, network};
use super::notify::notify;
use super::raw::{RawGit, RawIsolation, RawProfile};
use super::secrets::secrets;
use super::services::services;
use super::session::{attach, session};
use super::setup::setup;
use super::source::{ProfileError, Source};
use super::values::{image_name, variables};
use super::volumes::volumes;
use super::{
    GateRules, GitChoice, Isolation, LimitRules, NetworkMode, Origin, PrRules, Profile,
    WorkspaceRules, pass,
};

/// Where the workspace is mounted; nothing else can be chosen yet.
pub(super) const TARGET: &str = "/workspace";

/// Parses the text of a profile.
pub(super) fn profile(
    name: &str,
    origin: Origin,
    source: &Source<'_>,
) -> Result<Profile, ProfileError> {
    let raw = source.parse()?;
    refuse_later_features(source, &raw)?;

    let image = raw.image.as_ref().ok_or_else(|| {
        source.error(
            &(0..0),
            "the key `image` is missing, expected such as image = \"base\"",
        )
    })?;
    let image = image_name(source, image)?;
    let command = raw.command.as_ref();
    if let Some(command) = command {
        if command.get_ref().first().is_none_or(String::is_empty) {
            return Err(source.error(
                &command.span(),
                "`command` names no program, expected such as [\"make\", \"check\"]; leave it out \
                 if the command is given to `lazaret run`",
            ));
        }
        if command.get_ref().iter().any(|word| word.contains('\0')) {
            return Err(source.error(&command.span(), "`command` holds a NUL character"));
        }
    }
    let secrets = secrets(source, &raw.secrets)?;
    let has_routes = match secrets.is_empty() {
        true => HasRoutes::No,
        false => HasRoutes::Yes,
    };
    let network = network(source, &raw.network, has_routes)?;
    if network.mode == NetworkMode::None
        && let Some(name) = raw.secrets.keys().next()
    {
        return Err(source.error(
            &name.span(),
            "`secrets` have no meaning without a network, expected `network.mode` = \"allowlist\"",
        ));
    }
    let files = files(source, &raw.files)?;
    let home = home(source, &raw.home, &files)?;
    let volumes = volumes(source, &raw.volumes, home.keep)?;
    let services = services(source, &raw.services)?;
    if network.mode == NetworkMode::None
        && let Some(name) = raw.files.keys().next()
    {
        return Err(source.error(
            &name.span(),
            "`files` have no meaning without a network, expected `network.mode` = \"allowlist\"",
        ));
    }
    Ok(Profile {
        name: name.to_owned(),
        origin,
        description: raw
            .description
            .map(toml::Spanned::into_inner)
            .unwrap_or_default(),
        image,
        command: command
            .map(|command| command.get_ref().clone())
            .unwrap_or_default(),
        env: variables(source, &raw.env)?,
        env_pass: pass::patterns(source, &raw.env_pass)?,
        prompt: prompt(source, raw.prompt.as_ref())?,
        terminal: raw
            .terminal
            .as_ref()
            .is_some_and(|terminal| *terminal.get_ref()),
        acp: acp(source, raw.acp.as_ref())?,
        workspace: WorkspaceRules {
            git: match raw.workspace.git.as_ref().map(toml::Spanned::get_ref) {
                Some(RawGit::None) => GitChoice::None,
                Some(RawGit::Shallow) => GitChoice::Shallow,
                _ => GitChoice::Full,
            },
            exclude: patterns(source, &raw.workspace.exclude)?,
            protect: match &raw.workspace.protect {
                Some(protect) => paths(source, "protect", protect)?,
                None => Vec::new(),
            },
            isolation: match raw.workspace.isolation.as_ref().map(toml::Spanned::get_ref) {
                Some(RawIsolation::Project) => Isolation::Project,
                Some(RawIsolation::Workspace) | None => Isolation::Workspace,
            },
            share: match &raw.workspace.share {
                Some(share) => paths(source, "share", share)?,
                None => Vec::new(),
            },
            project: project(source, raw.workspace.project.as_ref())?,
        },
        limits: limits(source, &raw.limits, &LimitRules::DEFAULT)?,
        session: session(&raw.session),
        attach: attach(source, &raw.attach)?,
        ask: ask(source, &raw.ask)?,
        notify: notify(source, raw.notify.as_ref())?,
        network,
        secrets,
        home,
        files,
        volumes,
        setup: setup(source, &raw.setup, &services)?,
        services,
        gate: gate(source, &raw.gate, &GateRules::DEFAULT)?,
        pr: PrRules {
            file: match &raw.pr.file {
                Some(file) => Some(request_file(source, file)?),
                None => None,
            },
        },
    })
}

impl Profile {
    /// Returns the profile with what the user's own command line allows.
    #[must_use]
    pub fn allowing(mut self, entries: &[AllowEntry]) -> Self {
        self.network.open(entries);
        self
    }

    /// Returns the profile on another image.
    ///
    /// # Errors
    /// When no image can have that name.
    pub fn on_image(self, image: &str) -> Result<Self, ProfileError> {
        let source = Source {
            file: "--image",
            text: image,
        };
        let name = toml::Spanned::new(0..image.len(), image.to_owned());
        Ok(Self {
            image: image_name(&source, &name)?,
            ..self
        })
    }
}

/// What the whole schema allows and this version can't do yet.
fn refuse_later_features(source: &Source<'_>, raw: &RawProfile) -> Result<(), ProfileError> {
    let later = |span: &Range<usize>, what: &str| {
        Err(source.error(
            span,
            &format!("{what} is not available yet in this version"),
        ))
    };
    let workspace = &raw.workspace;
    if let Some(target) = workspace
        .target
        .as_ref()
        .filter(|target| target.get_ref() != TARGET)
    {
        return later(
            &target.span(),
            "`workspace.target` other than \"/workspace\"",
        );
    }
    Ok(())
}

/// Reads `acp`: a program and its arguments.
fn acp(
    source: &Source<'_>,
    raw: Option<&toml::Spanned<Vec<String>>>,
) -> Result<Vec<String>, ProfileError> {
    let Some(raw) = raw else {
        return Ok(Vec::new());
    };
    let words = raw.get_ref();
    let is_named = words.first().is_some_and(|word| !word.is_empty());
    match is_named && !words.iter().any(|word| word.contains('\0')) {
        true => Ok(words.clone()),
        false => Err(source.error(
            &raw.span(),
            "`acp`: expected a program and its arguments, such as [\"claude-agent-acp\"]",
        )),
    }
}

/// Reads `prompt`: words behind the command, one of which holds the task.
fn prompt(
    source: &Source<'_>,
    raw: Option<&toml::Spanned<Vec<String>>>,
) -> Result<Vec<String>, ProfileError> {
    let Some(raw) = raw else {
        return Ok(Vec::new());
    };
    let words = raw.get_ref();
    let places = words.iter().filter(|word| word.contains("{}")).count();
    if places != 1 || words.iter().any(|word| word.contains('\0')) {
        return Err(source.error(
            &raw.span(),
            "`prompt`: expected words of which one holds `{}`, the place of the task, such as \
             [\"-p\", \"{}\"]",
        ));
    }
    Ok(words.clone())
}

pub(super) fn patterns(
    source: &Source<'_>,
    raw: &[toml::Spanned<String>],
) -> Result<Vec<String>, ProfileError> {
    raw.iter()
        .map(|pattern| {
            let text = pattern.get_ref();
            let wrong = |what: &str| {
                let message =
                    format!("`workspace.exclude`: {what}, expected a pattern such as \"*.log\"");
                source.error(&pattern.span(), &message)
            };
            if text.trim().is_empty() {
                Err(wrong("found an empty pattern"))
            } else if text.starts_with('!') {
                Err(wrong("a pattern here can only keep files out"))
            } else if text.starts_with('#') {
                Err(wrong("found a comment"))
            } else if text.contains(['\n', '\0']) {
                Err(wrong("found a line break or a NUL character"))
            } else {
                Ok(text.clone())
            }
        })
        .collect()
}

/// Reads `workspace.project`: the way up, and nothing else.
fn project(
    source: &Source<'_>,
    raw: Option<&toml::Spanned<String>>,
) -> Result<Option<String>, ProfileError> {
    let Some(raw) = raw else {
        return Ok(None);
    };
    let text = raw.get_ref();
    let way = text.strip_suffix('/').unwrap_or(text);
    if way.split('/').any(|name| name != "..") {
        let message = format!(
            "`workspace.project`: found {text:?}, expected the way up to the project's root such \
             as \"..\" or \"../..\""
        );
        return Err(source.error(&raw.span(), &message));
    }
    Ok(Some(way.to_owned()))
}

/// Reads `workspace.protect` or `share`.
pub(super) fn paths(
    source: &Source<'_>,
    key: &str,
    raw: &toml::Spanned<Vec<String>>,
) -> Result<Vec<String>, ProfileError> {
    let root = match key {
        "share" => "project",
        _ => "workspace",
    };
    let mut paths: Vec<String> = Vec::new();
    for text in raw.get_ref() {
        let path = path(text.strip_suffix('/').unwrap_or(text)).map_err(|what| {
            let message = format!(
                "`workspace.{key}`: {what}, expected a path from the {root}'s root such as \
                 \"AGENTS.md\" or \".factory/\""
            );
            source.error(&raw.span(), &message)
        })?;
        if !paths.iter().any(|known| known == path.as_str()) {
            paths.push(path.as_str().to_owned());
        }
    }
    Ok(paths)
}

/// Reads `pr.file`.
fn request_file(
    source: &Source<'_>,
    raw: &toml::Spanned<String>,
) -> Result<RelPathBuf, ProfileError> {
    path(raw.get_ref()).map_err(|what| {
        let message = format!(
            "`pr.file`: {what}, expected a path from the workspace's root such as \
             \".pull-request.json\""
        );
        source.error(&raw.span(), &message)
    })
}

/// Reads a path, not a pattern, so that nothing is missed by a slip of the pen; or says what is
/// wrong with it.
fn path(text: &str) -> Result<RelPathBuf, String> {
    if text.contains(['*', '?', '[']) || text.starts_with('!') {
        return Err(format!("found the pattern {text:?}"));
    }
    let path = RelPath::new(text).map_err(|error| format!("{text:?}: {error}"))?;
    match path.components().any(is_git_name) {
        true => Err(format!(
            "{text:?} lies in a repository, which never comes back and which git inside has to \
             write to"
        )),
        false => Ok(path.to_owned()),
    }
}
