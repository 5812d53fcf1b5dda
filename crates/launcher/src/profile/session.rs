//! `[session]` and `[attach]`: how a session goes on by itself, and how a terminal leaves it.

use super::raw::{RawAttach, RawSession};
use super::source::{ProfileError, Source};
use crate::attach::keys::PrefixKey;

/// `[session]`: how a session goes on by itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SessionRules {
    /// Whether the container of `start` stays when its command has ended.
    pub stay: bool,
}

/// `[attach]`: how a terminal that is attached speaks to lazaret.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AttachRules {
    /// The key before each command to lazaret.
    pub prefix: PrefixKey,
}

/// Reads `[session]`.
pub(super) fn session(raw: &RawSession) -> SessionRules {
    SessionRules {
        stay: raw.stay.as_ref().is_some_and(|stay| *stay.get_ref()),
    }
}

/// Reads `[attach]`.
pub(super) fn attach(source: &Source<'_>, raw: &RawAttach) -> Result<AttachRules, ProfileError> {
    let Some(prefix) = &raw.prefix else {
        return Ok(AttachRules::default());
    };
    let parsed = prefix.get_ref().parse();
    let prefix = parsed
        .map_err(|error| source.error(&prefix.span(), &format!("`attach.prefix`: {error}")))?;
    Ok(AttachRules { prefix })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{error, parse};

    #[test]
    fn the_prefix_is_ctrl_with_a_key() {
        for (text, shown) in [
            ("ctrl-]", "ctrl-]"),
            ("ctrl-b", "ctrl-b"),
            ("Ctrl-B", "ctrl-b"),
            ("ctrl-\\\\", "ctrl-\\"),
            ("ctrl-@", "ctrl-@"),
        ] {
            let text = format!("image = \"base\"\n[attach]\nprefix = \"{text}\"");
            assert_eq!(parse(&text).unwrap().attach.prefix.to_string(), shown);
        }
        for text in [
            "", "]", "ctrl-", "ctrl-1", "ctrl-ab", "ctrl-é", "ctrl-[", "ctrl-i",
        ] {
            let said = error(&format!("image = \"base\"\n[attach]\nprefix = \"{text}\""));
            let start = "p.toml:3:10: `attach.prefix`: expected `ctrl-` and a letter";
            assert!(said.starts_with(start), "{said}");
        }
    }

    #[test]
    fn a_session_stays_only_if_it_says_so() {
        let stay = |text: &str| {
            parse(&format!("image = \"base\"\n{text}"))
                .unwrap()
                .session
                .stay
        };
        assert!(!stay(""));
        assert!(!stay("[session]\nstay = false"));
        assert!(stay("[session]\nstay = true"));
    }
}
