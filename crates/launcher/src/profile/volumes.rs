//! `[[volumes]]`: directories of the command that outlive it and never come to the gate.

use std::collections::BTreeMap;
use std::path::Path;

use lazaret_image_builder::DataPath;
use lazaret_runtime::{AGENT_HOME, EnvName, VolumeId};

use super::HomeKeep;
use super::cache::Cache;
use super::raw::{RawAccess, RawScope, RawVolume};
use super::source::{ProfileError, Source};

/// The most volumes of a session.
const MOST: usize = 8;

/// A volume of the command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VolumeRule {
    /// Its name.
    pub id: VolumeId,
    /// The program whose cache it is.
    pub cache: Option<Cache>,
    /// Where it is mounted.
    pub target: String,
    /// Whose it is.
    pub scope: VolumeScope,
}

/// Whose a volume is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VolumeScope {
    /// The session's: written by its commands alone.
    Session,
    /// The user's: written by `volume fill` alone.
    Shared(SharedAccess),
}

/// What a session has of a shared volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SharedAccess {
    /// A copy of its own.
    Copy,
    /// The volume, read-only.
    ReadOnly,
}

impl VolumeRule {
    /// Returns the shared volume of a known cache, for a profile that names none.
    pub fn of_cache(cache: Cache) -> Option<Self> {
        Some(Self {
            id: cache.as_str().parse().ok()?,
            cache: Some(cache),
            target: cache.target(),
            scope: VolumeScope::Shared(SharedAccess::Copy),
        })
    }

    /// Returns the variables of the command by which its program finds it.
    pub fn variables(&self) -> BTreeMap<EnvName, String> {
        let variables = self.cache.map(Cache::variables).unwrap_or_default();
        let parsed = variables.iter().filter_map(|(name, value)| {
            let name = name.parse().ok()?;
            Some((name, (*value).to_owned()))
        });
        parsed.collect()
    }
}

impl VolumeScope {
    /// Returns the words of profiles: the scope, and the access of a shared one.
    pub(super) fn words(self) -> (&'static str, Option<&'static str>) {
        match self {
            Self::Session => ("session", None),
            Self::Shared(SharedAccess::Copy) => ("shared", Some("copy")),
            Self::Shared(SharedAccess::ReadOnly) => ("shared", Some("read-only")),
        }
    }
}

/// Reads `[[volumes]]`, beside a home that is kept or not.
pub(super) fn volumes(
    source: &Source<'_>,
    raw: &[toml::Spanned<RawVolume>],
    home: HomeKeep,
) -> Result<Vec<VolumeRule>, ProfileError> {
    if let Some(volume) = raw.get(MOST) {
        let message = format!("`volumes`: found {}, expected at most {MOST}", raw.len());
        return Err(source.error(&volume.span(), &message));
    }
    let mut rules: Vec<VolumeRule> = Vec::new();
    for volume in raw {
        let wrong = |what: &str| source.error(&volume.span(), &format!("`volumes`: {what}"));
        let rule = rule(volume.get_ref()).map_err(|what| wrong(&what))?;
        if home == HomeKeep::Session && Path::new(&rule.target).starts_with(AGENT_HOME) {
            let target = &rule.target;
            return Err(wrong(&format!(
                "{target} is in the home, which is kept already"
            )));
        }
        if rules.iter().any(|other| other.id == rule.id) {
            return Err(wrong(&format!("two volumes have the name {}", rule.id)));
        }
        let overlaps = |other: &&VolumeRule| {
            let (one, other) = (Path::new(&rule.target), Path::new(&other.target));
            one.starts_with(other) || other.starts_with(one)
        };
        if let Some(other) = rules.iter().find(overlaps) {
            let (one, other) = (&rule.target, &other.target);
            return Err(wrong(&format!("{one} and {other} lie in one another")));
        }
        rules.push(rule);
    }
    Ok(rules)
}

fn rule(raw: &RawVolume) -> Result<VolumeRule, String> {
    let name = match (&raw.name, raw.cache) {
        (Some(name), _) => name.clone(),
        (None, Some(cache)) => cache.as_str().to_owned(),
        (None, None) => return Err("`name` is missing, or `cache` such as \"cargo\"".to_owned()),
    };
    let target = match (&raw.target, raw.cache) {
        (Some(path), None) => target(path)?,
        (None, Some(cache)) => cache.target(),
        (Some(_), Some(_)) => return Err("`cache` sets `target`: leave that out".to_owned()),
        (None, None) => {
            return Err("`target` is missing, expected such as \"/models\"".to_owned());
        }
    };
    Ok(VolumeRule {
        id: name.parse().map_err(|error| format!("{error}"))?,
        cache: raw.cache,
        target,
        scope: scope(raw)?,
    })
}

fn scope(raw: &RawVolume) -> Result<VolumeScope, String> {
    match (raw.scope.unwrap_or(RawScope::Session), raw.access) {
        (RawScope::Session, None) => Ok(VolumeScope::Session),
        (RawScope::Session, Some(_)) => {
            Err("`access` is for scope = \"shared\": a session writes to its own volume".to_owned())
        }
        (RawScope::Shared, None | Some(RawAccess::Copy)) => {
            Ok(VolumeScope::Shared(SharedAccess::Copy))
        }
        (RawScope::Shared, Some(RawAccess::ReadOnly)) => {
            Ok(VolumeScope::Shared(SharedAccess::ReadOnly))
        }
        (RawScope::Shared, Some(RawAccess::ReadWrite)) => Err(
            "no session may write to a shared volume, since an agent could plant programs there \
             that other sessions run; expected access = \"copy\" or \"read-only\", and \
             `lazaret volume fill` to write to it"
                .to_owned(),
        ),
    }
}

/// Reads a target: where nothing else is mounted, or below the home.
fn target(text: &str) -> Result<String, String> {
    let below_home = text.strip_prefix(AGENT_HOME);
    let below_home = below_home.and_then(|rest| rest.strip_prefix('/'));
    let path = match below_home {
        // By the same rules for names.
        Some(rest) => format!("/volume/{rest}"),
        None => text.to_owned(),
    };
    match DataPath::try_from(path) {
        Ok(_) => Ok(text.to_owned()),
        Err(_) if below_home.is_some() => Err(format!(
            "found {text:?}, expected a path below {AGENT_HOME} of letters, digits, `.`, `_` and \
             `-`"
        )),
        Err(what) => Err(format!("`target`: {what}")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{error, parse};
    use super::*;

    fn rules(list: &str) -> Vec<VolumeRule> {
        let profile = parse(&format!("image = \"base\"\nvolumes = [{list}]")).unwrap();
        profile.volumes
    }

    #[test]
    fn a_volume_is_the_sessions_unless_it_is_shared() {
        let rules = rules(
            "{ name = \"state\", target = \"/home/agent/.tool/state\" }, \
             { name = \"models\", target = \"/models\", scope = \"shared\", access = \"read-only\" }, \
             { cache = \"cargo\", scope = \"shared\" }, { cache = \"npm\", name = \"npm2\" }",
        );
        let shown: Vec<_> = rules
            .iter()
            .map(|rule| (rule.id.as_str(), &*rule.target, rule.scope.words()))
            .collect();
        let expected = [
            ("state", "/home/agent/.tool/state", ("session", None)),
            ("models", "/models", ("shared", Some("read-only"))),
            ("cargo", "/caches/cargo", ("shared", Some("copy"))),
            ("npm2", "/caches/npm", ("session", None)),
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_cache_is_found_by_its_variables() {
        let variables = |list: &str| -> Vec<String> {
            let rules = rules(list);
            let variables = rules.iter().flat_map(VolumeRule::variables);
            variables
                .map(|(name, value)| format!("{name}={value}"))
                .collect()
        };
        assert_eq!(
            variables("{ cache = \"cargo\" }"),
            ["CARGO_HOME=/caches/cargo"]
        );
        assert_eq!(
            variables("{ cache = \"npm\" }"),
            ["npm_config_cache=/caches/npm"]
        );
        assert_eq!(
            variables("{ cache = \"uv\" }"),
            ["UV_CACHE_DIR=/caches/uv", "UV_LINK_MODE=copy"]
        );
        assert!(variables("{ name = \"a\", target = \"/a\" }").is_empty());
    }

    #[test]
    fn a_volume_lies_where_nothing_else_is() {
        for target in [
            "/workspace",
            "/workspace/target",
            "/proc/x",
            "/sys",
            "/dev/shm",
            "/run/x",
            "/tmp/x",
            "/var/tmp",
            "/lazaret/x",
            "/egress",
            "/etc/x",
            "/usr/local/bin",
            "/bin",
            "/home",
            "/home/agent",
            "/home/agent/",
            "/home/agent/../x",
            "/home/other/x",
            "relative",
            "/",
            "/a/../workspace",
            "/a//b",
            "/a b",
            "/a:ro",
        ] {
            let list =
                format!("image = \"base\"\nvolumes = [{{ name = \"a\", target = {target:?} }}]");
            let said = error(&list);
            assert!(
                said.starts_with("p.toml:2:12: `volumes`: "),
                "{target}: {said}"
            );
        }
    }

    #[test]
    fn a_kept_home_has_no_volume_in_it() {
        let text = |target: &str| {
            format!(
                "image = \"base\"\nhome.keep = \"session\"\n\
                 volumes = [{{ name = \"a\", target = \"{target}\" }}]"
            )
        };
        let said = error(&text("/home/agent/.tool"));
        let line = said.lines().next().unwrap();
        let expected =
            "p.toml:3:12: `volumes`: /home/agent/.tool is in the home, which is kept already";
        assert_eq!(line, expected);
        parse(&text("/tool")).unwrap();
    }

    #[test]
    fn a_volume_that_can_not_be_is_refused_where_it_is_written() {
        let said: Vec<String> = [
            "{ name = \"A\", target = \"/a\" }",
            "{ name = \"volumes123\", target = \"/a\" }",
            "{ target = \"/a\" }",
            "{ name = \"a\" }",
            "{ cache = \"cargo\", target = \"/a\" }",
            "{ cache = \"maven\" }",
            "{ name = \"a\", target = \"/a\", scope = \"group\" }",
            "{ name = \"a\", target = \"/a\", access = \"copy\" }",
            "{ name = \"a\", target = \"/a\", scope = \"shared\", access = \"read-write\" }",
            "{ name = \"a\", target = \"/a\" }, { name = \"a\", target = \"/b\" }",
            "{ name = \"a\", target = \"/a\" }, { name = \"b\", target = \"/a/b\" }",
            "{ name = \"a\", target = \"/workspace/a\" }",
        ]
        .iter()
        .map(|list| {
            let text = error(&format!("image = \"base\"\nvolumes = [{list}]"));
            text.lines().next().unwrap_or_default().to_owned()
        })
        .collect();
        insta::assert_snapshot!(said.join("\n"), @r#"
        p.toml:2:12: `volumes`: "A" is not a valid name of a profile's volume: expected a lower-case letter, then those and digits, at most 9 in all
        p.toml:2:12: `volumes`: "volumes123" is not a valid name of a profile's volume: expected a lower-case letter, then those and digits, at most 9 in all
        p.toml:2:12: `volumes`: `name` is missing, or `cache` such as "cargo"
        p.toml:2:12: `volumes`: `target` is missing, expected such as "/models"
        p.toml:2:12: `volumes`: `cache` sets `target`: leave that out
        p.toml:2:22: found `maven`, expected one of `cargo`, `go`, `npm`, `uv`
        p.toml:2:49: found `group`, expected `session` or `shared`
        p.toml:2:12: `volumes`: `access` is for scope = "shared": a session writes to its own volume
        p.toml:2:12: `volumes`: no session may write to a shared volume, since an agent could plant programs there that other sessions run; expected access = "copy" or "read-only", and `lazaret volume fill` to write to it
        p.toml:2:43: `volumes`: two volumes have the name a
        p.toml:2:43: `volumes`: /a/b and /a lie in one another
        p.toml:2:12: `volumes`: `target`: found "/workspace/a", where something else is mounted or lies; expected an absolute path such as "/data"
        "#);
    }
}
