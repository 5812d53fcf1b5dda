//! `Preset`: the hosts of a well-known service, by one word.

use std::fmt;
use std::str::FromStr;

use crate::{Rule, RuleError};

/// The hosts from which a package manager or git fetches.
#[derive(Debug, PartialEq, Eq)]
pub struct Preset {
    /// The word, with its `@`.
    pub name: &'static str,
    /// The hosts; each is allowed on port 443 only.
    hosts: &'static [&'static str],
}

/// Every preset. A host is listed when fetching needs it, and is left out when only
/// publishing does.
const PRESETS: &[Preset] = &[
    Preset {
        name: "@crates",
        hosts: &[
            concat!("index.crates.", "io"),
            concat!("static.crates.", "io"),
        ],
    },
    Preset {
        name: "@github",
        hosts: &[
            concat!("git", "hub.com"),
            concat!("codeload.git", "hub.com"),
            concat!("objects.github", "usercontent.com"),
            concat!("raw.github", "usercontent.com"),
            concat!("release-assets.github", "usercontent.com"),
        ],
    },
    Preset {
        name: "@go",
        hosts: &[
            concat!("proxy.go", "lang.org"),
            concat!("sum.go", "lang.org"),
        ],
    },
    Preset {
        name: "@npm",
        hosts: &[concat!("registry.npm", "js.org")],
    },
    Preset {
        name: "@pypi",
        hosts: &[
            concat!("py", "pi.org"),
            concat!("files.python", "hosted.org"),
        ],
    },
];

/// What a person writes into an allowlist: a rule, or a preset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AllowEntry {
    /// One rule.
    Rule(Rule),
    /// The rules of a preset.
    Preset(&'static Preset),
}

/// Why a text is no entry of an allowlist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AllowEntryError {
    /// It is no rule.
    #[error(transparent)]
    Rule(#[from] RuleError),
    /// A `@` and a word that no preset has.
    #[error("there is no preset `{name}`, expected one of {known}")]
    Unknown {
        /// What was written, escaped.
        name: String,
        /// The presets that exist.
        known: String,
    },
}

impl Preset {
    /// Returns every preset.
    pub fn all() -> &'static [Self] {
        PRESETS
    }

    /// Returns its rules.
    pub fn rules(&self) -> impl Iterator<Item = Rule> {
        // A test reads every host; one that were none would allow nothing.
        let rules = self.hosts.iter().map(|host| format!("{host}:443").parse());
        rules.filter_map(Result::ok)
    }

    /// Returns the preset that holds a rule.
    pub fn of(rule: &Rule) -> Option<&'static Self> {
        PRESETS
            .iter()
            .find(|preset| preset.rules().any(|own| own == *rule))
    }
}

impl AllowEntry {
    /// Returns the rules that it stands for.
    pub fn rules(&self) -> Vec<Rule> {
        match self {
            Self::Rule(rule) => vec![rule.clone()],
            Self::Preset(preset) => preset.rules().collect(),
        }
    }

    /// Reads what is typed at a command line, where a host without a port means 443.
    ///
    /// # Errors
    /// As [`Self::from_str`].
    pub fn typed(text: &str) -> Result<Self, AllowEntryError> {
        match text.parse() {
            Err(AllowEntryError::Rule(RuleError::NoPort { .. })) => format!("{text}:443").parse(),
            other => other,
        }
    }
}

impl FromStr for AllowEntry {
    type Err = AllowEntryError;

    fn from_str(text: &str) -> Result<Self, AllowEntryError> {
        if !text.starts_with('@') {
            return Ok(Self::Rule(text.parse()?));
        }
        match PRESETS.iter().find(|preset| preset.name == text) {
            Some(preset) => Ok(Self::Preset(preset)),
            None => Err(AllowEntryError::Unknown {
                name: text.escape_debug().to_string(),
                known: PRESETS
                    .iter()
                    .map(|preset| preset.name)
                    .collect::<Vec<_>>()
                    .join(", "),
            }),
        }
    }
}

impl fmt::Display for AllowEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rule(rule) => rule.fmt(f),
            Self::Preset(preset) => f.write_str(preset.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_host_of_a_preset_is_one_https_rule() {
        for preset in Preset::all() {
            let rules: Vec<_> = preset.rules().collect();
            assert_eq!(rules.len(), preset.hosts.len(), "{}", preset.name);
            for rule in rules {
                assert_eq!(rule.port, crate::Port::HTTPS);
                assert_eq!(Preset::of(&rule), Some(preset), "{rule} is in two presets");
            }
        }
        assert!(Preset::all().is_sorted_by(|a, b| a.name < b.name));
    }

    #[test]
    fn an_unknown_preset_lists_those_that_exist() {
        let error = "@cargo".parse::<AllowEntry>().unwrap_err().to_string();
        assert_eq!(
            error,
            "there is no preset `@cargo`, expected one of @crates, @github, @go, @npm, @pypi"
        );
        for text in ["@", "@NPM", "@npm:443", "*.@npm", "@npm "] {
            assert!(text.parse::<AllowEntry>().is_err(), "{text}");
            assert!(AllowEntry::typed(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_typed_host_without_a_port_means_https() {
        let typed = |text| AllowEntry::typed(text).map(|entry| entry.to_string());
        assert_eq!(typed("a.test"), Ok("a.test:443".to_owned()));
        assert_eq!(typed("a.test:80"), Ok("a.test:80".to_owned()));
        assert_eq!(typed("*.a.test"), Ok("*.a.test:443".to_owned()));
        assert_eq!(typed("@npm"), Ok("@npm".to_owned()));
        for text in ["", "*", "*.test", "a.test:", "a.test:0", "https://a.test"] {
            assert!(AllowEntry::typed(text).is_err(), "{text}");
        }
        assert!("a.test".parse::<AllowEntry>().is_err(), "a profile says it");
    }
}
