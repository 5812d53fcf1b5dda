//! A workspace's own `lazaret.toml`: it may make a profile stricter, never looser.
//!
//! The file is as untrusted as the rest of the workspace: an agent whose change was
//! applied once may have written it. So it is read like hostile input, and every value
//! is joined with the profile's by taking the stricter one; there is no way to write a
//! value that loosens. Keys for which "stricter" has no meaning are refused by name.

use std::io;
use std::path::Path;
use std::time::Duration;

use lazaret_egress::{Pattern, Rule};
use lazaret_gate::ignored::IgnoredFiles;

use super::gate::gate;
use super::limits::limits;
use super::lookup::read_unlinked;
use super::raw::{RawGit, RawIsolation, RawNetwork, RawProfile};
use super::source::{ProfileError, Source};
use super::{GateRules, GitChoice, Isolation, LimitRules, NetworkMode, Profile, network, resolve};
use crate::failure::{Failure, FailureKind};

/// The name of the file in the workspace's top directory.
pub const WORKSPACE_FILE: &str = "lazaret.toml";

/// A profile after the workspace's file had its say.
#[derive(Debug, Clone, PartialEq)]
pub struct Tightened {
    /// The profile, at most as loose as before.
    pub profile: Profile,
    /// The keys that made something stricter, such as `limits.memory`. To be shown.
    pub keys: Vec<&'static str>,
    /// The keys that ask for more than the profile gives, which has no effect. To be shown.
    pub looser: Vec<&'static str>,
}

impl Profile {
    /// Returns what a project's own `lazaret.toml` shares with the workspaces in it. That of a
    /// workspace itself shares nothing: its agent could have written it.
    ///
    /// # Errors
    /// When the file can't be read, or is none.
    pub fn shared_by(project: &Path) -> Result<Vec<String>, Failure> {
        let Some(text) = text(project)? else {
            return Ok(Vec::new());
        };
        let source = Source {
            file: WORKSPACE_FILE,
            text: &text,
        };
        let raw = source.parse()?;
        match &raw.workspace.share {
            Some(share) => Ok(resolve::paths(&source, "share", share)?),
            None => Ok(Vec::new()),
        }
    }

    /// Makes the profile stricter as the workspace's `lazaret.toml` says, if there is one.
    ///
    /// # Errors
    /// When the file can't be read, or holds a key that can't only tighten.
    pub fn tightened_by(self, workspace: &Path) -> Result<Tightened, Failure> {
        let Some(text) = text(workspace)? else {
            return Ok(Tightened {
                profile: self,
                keys: Vec::new(),
                looser: Vec::new(),
            });
        };
        let source = Source {
            file: WORKSPACE_FILE,
            text: &text,
        };
        tighten(self, &source).map_err(|error| {
            Failure::from(error).hinted(format!(
                "A workspace's {WORKSPACE_FILE} can only tighten: `limits`, `gate`, \
                 `network`, `workspace.exclude`, `workspace.git`, `workspace.isolation` and \
                 `workspace.protect`."
            ))
        })
    }
}

/// Reads the file of a directory; `None` where there is none.
pub(super) fn text(dir: &Path) -> Result<Option<String>, Failure> {
    // Not through a link: it could lead to any file of the user's, whose lines an error
    // message would show.
    match read_unlinked(&dir.join(WORKSPACE_FILE)) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Failure::new(FailureKind::Profile, error)
            .context(format!("the workspace's {WORKSPACE_FILE} can't be read"))),
    }
}

fn tighten(mut profile: Profile, source: &Source<'_>) -> Result<Tightened, ProfileError> {
    let raw = source.parse()?;
    refuse_others(source, &raw)?;
    let looser = looser(&profile, &raw);
    let mut keys = Vec::new();

    let wanted = limits(source, &raw.limits, &LimitRules::LOOSEST)?;
    let limits = &mut profile.limits;
    lower(
        "limits.memory",
        &mut limits.memory,
        wanted.memory,
        &mut keys,
    );
    lower("limits.cpus", &mut limits.cpus, wanted.cpus, &mut keys);
    lower("limits.pids", &mut limits.pids, wanted.pids, &mut keys);
    if raw.limits.tmp.is_some() {
        lower("limits.tmp", &mut limits.tmp, wanted.tmp, &mut keys);
    }
    lower(
        "limits.timeout",
        &mut limits.timeout,
        wanted.timeout,
        &mut keys,
    );
    lower("limits.idle", &mut limits.idle, wanted.idle, &mut keys);
    lower("limits.life", &mut limits.life, wanted.life, &mut keys);
    lower("limits.disk", &mut limits.disk, wanted.disk, &mut keys);
    lower(
        "limits.inodes",
        &mut limits.inodes,
        wanted.inodes,
        &mut keys,
    );
    // A tmpfs is a part of the memory, which may have become less than the profile's.
    limits.tmp = limits.tmp.min(limits.memory);

    if let Some(stay) = &raw.session.stay {
        let wanted = *stay.get_ref();
        lower("session.stay", &mut profile.session.stay, wanted, &mut keys);
    }

    let wanted = gate(source, &raw.gate, &GateRules::LOOSEST)?;
    let gate = &mut profile.gate;
    lower("gate.apply", &mut gate.apply, wanted.apply, &mut keys);
    lower("gate.ignored", &mut gate.ignored, wanted.ignored, &mut keys);
    lower(
        "gate.max_entries",
        &mut gate.max_entries,
        wanted.max_entries,
        &mut keys,
    );
    lower(
        "gate.max_bytes",
        &mut gate.max_bytes,
        wanted.max_bytes,
        &mut keys,
    );
    lower(
        "gate.max_file_bytes",
        &mut gate.max_file_bytes,
        wanted.max_file_bytes,
        &mut keys,
    );
    gate.max_file_bytes = gate.max_file_bytes.min(gate.max_bytes);

    let git = match raw.workspace.git.as_ref().map(toml::Spanned::get_ref) {
        Some(RawGit::None) => GitChoice::None,
        Some(RawGit::Shallow) => GitChoice::Shallow,
        _ => GitChoice::Full,
    };
    lower("workspace.git", &mut profile.workspace.git, git, &mut keys);
    let isolation = match raw.workspace.isolation.as_ref().map(toml::Spanned::get_ref) {
        Some(RawIsolation::Workspace) => Isolation::Workspace,
        Some(RawIsolation::Project) | None => Isolation::Project,
    };
    let own = &mut profile.workspace.isolation;
    lower("workspace.isolation", own, isolation, &mut keys);
    for pattern in resolve::patterns(source, &raw.workspace.exclude)? {
        if !profile.workspace.exclude.contains(&pattern) {
            profile.workspace.exclude.push(pattern);
            keys.push("workspace.exclude");
        }
    }
    if let Some(protect) = &raw.workspace.protect {
        for path in resolve::paths(source, "protect", protect)? {
            if !profile.workspace.protect.contains(&path) {
                profile.workspace.protect.push(path);
                keys.push("workspace.protect");
            }
        }
    }
    network(&mut profile, source, &raw.network, &mut keys)?;
    keys.dedup();
    Ok(Tightened {
        profile,
        keys,
        looser,
    })
}

/// Finds the modes that ask for more than a profile gives.
fn looser(profile: &Profile, raw: &RawProfile) -> Vec<&'static str> {
    let apply = raw
        .gate
        .apply
        .as_ref()
        .map(|apply| (*apply.get_ref()).into());
    let ignored = raw.gate.ignored.as_ref().map(|ignored| *ignored.get_ref());
    let mode = raw
        .network
        .mode
        .as_ref()
        .map(|mode| (*mode.get_ref()).into());
    let keys = [
        ("gate.apply", apply > Some(profile.gate.apply)),
        ("gate.ignored", ignored > Some(profile.gate.ignored)),
        ("network.mode", mode > Some(profile.network.mode)),
    ];
    let keys = keys.into_iter().filter(|(_, is_looser)| *is_looser);
    keys.map(|(key, _)| key).collect()
}

/// Takes the stricter mode, of the rules that allow those that both have, and of those that
/// deny all. A rule of one side that is narrower than one of the other stays.
pub(super) fn network(
    profile: &mut Profile,
    source: &Source<'_>,
    raw: &RawNetwork,
    keys: &mut Vec<&'static str>,
) -> Result<(), ProfileError> {
    let rules = &mut profile.network;
    let wanted = raw
        .mode
        .as_ref()
        .map(|mode| NetworkMode::from(*mode.get_ref()));
    let allow = network::allow_rules(source, raw.allow.as_ref())?;
    for rule in network::rules(source, "network.deny", raw.deny.as_ref())? {
        if !rules.deny.contains(&rule) {
            rules.deny.push(rule);
            keys.push("network.deny");
        }
    }
    let was_open = rules.mode == NetworkMode::Open;
    let named = match wanted {
        None if raw.allow.is_some() => Some(NetworkMode::Allowlist),
        other => other,
    };
    if let Some(wanted) = named {
        lower("network.mode", &mut rules.mode, wanted, keys);
    }
    match (rules.mode, raw.allow.is_some()) {
        (NetworkMode::None, _) => {
            rules.allow.clear();
            rules.deny.clear();
            // Nothing leads out: a key would have nowhere to go.
            profile.secrets.clear();
            profile.files.clear();
        }
        (NetworkMode::Allowlist, _) if was_open => rules.allow = allow,
        (NetworkMode::Allowlist, true) => {
            let covers = |wide: &Rule, narrow: &Rule| {
                wide.port == narrow.port
                    && match (&wide.pattern, &narrow.pattern) {
                        (_, Pattern::Exact(name)) => wide.names(name),
                        (Pattern::Below(wide), Pattern::Below(narrow)) => {
                            wide == narrow || narrow.is_below(wide)
                        }
                        (Pattern::Exact(_), Pattern::Below(_)) => false,
                    }
            };
            let before = rules.allow.clone();
            let kept = before
                .iter()
                .filter(|rule| allow.iter().any(|wide| covers(wide, rule)));
            let narrowed = allow
                .iter()
                .filter(|rule| before.iter().any(|wide| covers(wide, rule)));
            let mut joined: Vec<Rule> = Vec::new();
            for rule in kept.chain(narrowed) {
                if !joined.contains(rule) {
                    joined.push(rule.clone());
                }
            }
            if joined != before {
                rules.allow = joined;
                keys.push("network.allow");
            }
        }
        _ => {}
    }
    Ok(())
}

/// Takes the lower of two values, and notes the key when it is the workspace's.
fn lower<T: PartialOrd>(key: &'static str, value: &mut T, wanted: T, keys: &mut Vec<&'static str>) {
    if wanted < *value {
        *value = wanted;
        keys.push(key);
    }
}

fn refuse_others(source: &Source<'_>, raw: &RawProfile) -> Result<(), ProfileError> {
    let workspace = &raw.workspace;
    let others = [
        ("extends", raw.extends.as_ref().map(toml::Spanned::span)),
        ("projects", raw.projects.first().map(toml::Spanned::span)),
        (
            "description",
            raw.description.as_ref().map(toml::Spanned::span),
        ),
        ("image", raw.image.as_ref().map(toml::Spanned::span)),
        ("command", raw.command.as_ref().map(toml::Spanned::span)),
        ("env", raw.env.keys().next().map(toml::Spanned::span)),
        (
            "workspace.target",
            workspace.target.as_ref().map(toml::Spanned::span),
        ),
        (
            "workspace.project",
            workspace.project.as_ref().map(toml::Spanned::span),
        ),
        (
            "network.ports",
            raw.network.ports.first().map(toml::Spanned::span),
        ),
        ("env_pass", raw.env_pass.first().map(toml::Spanned::span)),
        ("terminal", raw.terminal.as_ref().map(toml::Spanned::span)),
        ("prompt", raw.prompt.as_ref().map(toml::Spanned::span)),
        (
            "secrets",
            raw.secrets.keys().next().map(toml::Spanned::span),
        ),
        ("files", raw.files.keys().next().map(toml::Spanned::span)),
        ("home", raw.home.span()),
        ("volumes", raw.volumes.first().map(toml::Spanned::span)),
        (
            "services",
            raw.services.keys().next().map(toml::Spanned::span),
        ),
        ("setup", raw.setup.first().map(toml::Spanned::span)),
        (
            "attach",
            raw.attach.prefix.as_ref().map(toml::Spanned::span),
        ),
        ("acp", raw.acp.as_ref().map(toml::Spanned::span)),
        ("ask", raw.ask.span()),
        (
            "notify",
            raw.notify.as_ref().map(|notify| notify.command.span()),
        ),
        ("pr", raw.pr.file.as_ref().map(toml::Spanned::span)),
    ];
    match others
        .into_iter()
        .find_map(|(key, span)| Some((key, span?)))
    {
        None => Ok(()),
        Some((key, span)) => Err(source.error(
            &span,
            &format!(
                "`{key}` can't be set by a workspace without your trust, and trust is not \
                 available yet in this version"
            ),
        )),
    }
}

impl LimitRules {
    /// What a workspace's file starts from: no opinion.
    const LOOSEST: Self = Self {
        memory: u64::MAX,
        cpus: f64::INFINITY,
        pids: u32::MAX,
        tmp: u64::MAX,
        timeout: Duration::MAX,
        idle: Duration::MAX,
        life: Duration::MAX,
        disk: u64::MAX,
        inodes: u32::MAX,
    };
}

impl GateRules {
    /// What a workspace's file starts from: no opinion.
    const LOOSEST: Self = Self {
        apply: super::ApplyMode::Auto,
        ignored: IgnoredFiles::Offered,
        max_entries: u32::MAX,
        max_bytes: u64::MAX,
        max_file_bytes: u64::MAX,
    };
}
