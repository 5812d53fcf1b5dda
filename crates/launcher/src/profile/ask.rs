//! `[ask]`: how a profile's command is asked, and where its answer is found.

use std::time::Duration;

use super::raw::{RawAsk, RawAskMode};
use super::source::{ProfileError, Source};
use lazaret_session::ask::answer::Sentinels;
use toml::Spanned;

/// The most bytes of a sentinel.
const MAX_SENTINEL: usize = 200;

/// The most bytes of a stream that reach a caller.
const MAX_OUTPUT: u64 = 64 << 20;

/// `[ask]`: how a command is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskRules {
    /// Which process gets a request.
    pub mode: AskMode,
    /// The lines around an answer; `None` for lazaret's own.
    pub sentinels: Option<Sentinels>,
    /// Bytes of each stream that reach the caller.
    pub output: u64,
    /// Where the rest goes, inside.
    pub spill: String,
    /// How long a session stays without a request.
    pub idle: Duration,
}

/// Which process gets a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AskMode {
    /// A new one, whose stdin ends after the request.
    Turn,
    /// One for many requests, each of them a line.
    Live,
}

impl AskMode {
    /// Returns the word of profiles.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Turn => "turn",
            Self::Live => "live",
        }
    }
}

impl From<RawAskMode> for AskMode {
    fn from(raw: RawAskMode) -> Self {
        match raw {
            RawAskMode::Turn => Self::Turn,
            RawAskMode::Live => Self::Live,
        }
    }
}

impl Default for AskRules {
    fn default() -> Self {
        Self {
            mode: AskMode::Turn,
            sentinels: None,
            output: 5 << 20,
            spill: "/tmp/lazaret".to_owned(),
            idle: Duration::from_secs(600),
        }
    }
}

/// Reads `[ask]`.
pub(super) fn ask(source: &Source<'_>, raw: &RawAsk) -> Result<AskRules, ProfileError> {
    let default = AskRules::default();
    let sentinels = match (&raw.start, &raw.end) {
        (None, None) => None,
        (Some(start), Some(end)) => {
            for (key, line) in [("start", start), ("end", end)] {
                check_sentinel(source, key, line)?;
            }
            if start.get_ref() == end.get_ref() {
                let text = "`ask.end`: expected another line than `ask.start`";
                return Err(source.error(&end.span(), text));
            }
            Some(Sentinels {
                start: start.get_ref().clone(),
                end: end.get_ref().clone(),
            })
        }
        (Some(only), None) | (None, Some(only)) => {
            let text = "`ask.start` and `ask.end` come together";
            return Err(source.error(&only.span(), text));
        }
    };
    let output = match &raw.output {
        Some(size) if (1..=MAX_OUTPUT).contains(&size.get_ref().0) => size.get_ref().0,
        Some(size) => {
            let text = "`ask.output`: expected a size up to \"64m\"";
            return Err(source.error(&size.span(), text));
        }
        None => default.output,
    };
    let spill = match &raw.spill {
        Some(path) => {
            let text = path.get_ref();
            let is_plain = (text.split('/').skip(1)).all(|part| !matches!(part, "" | "." | ".."));
            if !text.starts_with('/') || !is_plain || text.contains(char::is_control) {
                let text = "`ask.spill`: expected an absolute path such as \"/tmp/lazaret\"";
                return Err(source.error(&path.span(), text));
            }
            text.clone()
        }
        None => default.spill,
    };
    Ok(AskRules {
        mode: (raw.mode.as_ref()).map_or(default.mode, |mode| (*mode.get_ref()).into()),
        sentinels,
        output,
        spill,
        idle: raw
            .idle
            .as_ref()
            .map_or(default.idle, |idle| idle.get_ref().0),
    })
}

fn check_sentinel(
    source: &Source<'_>,
    key: &str,
    line: &Spanned<String>,
) -> Result<(), ProfileError> {
    let text = line.get_ref();
    let is_line = (1..=MAX_SENTINEL).contains(&text.len()) && !text.contains(char::is_control);
    match is_line {
        true => Ok(()),
        false => {
            let text = format!("`ask.{key}`: expected one line of 1 to {MAX_SENTINEL} bytes");
            Err(source.error(&line.span(), &text))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{error, parse};
    use super::*;

    #[test]
    fn what_is_not_said_has_a_default() {
        let rules = |body: &str| {
            let text = format!("image = \"base\"\n[ask]\n{body}");
            parse(&text).unwrap().ask
        };
        assert_eq!(rules(""), AskRules::default());
        let own = rules(
            "mode = \"live\"\nstart = \"---A---\"\nend = \"---B---\"\noutput = \"64k\"\nspill = \"/tmp/x\"\n\
             idle = \"1h\"",
        );
        let expected = AskRules {
            mode: AskMode::Live,
            sentinels: Some(Sentinels {
                start: "---A---".to_owned(),
                end: "---B---".to_owned(),
            }),
            output: 64 << 10,
            spill: "/tmp/x".to_owned(),
            idle: Duration::from_secs(3600),
        };
        assert_eq!(own, expected);
    }

    #[test]
    fn what_can_not_be_meant_is_refused() {
        for (body, said) in [
            (
                "mode = \"both\"",
                "3:8: found `both`, expected `turn` or `live`",
            ),
            (
                "start = \"a\"",
                "3:9: `ask.start` and `ask.end` come together",
            ),
            (
                "start = \"a\"\nend = \"a\"",
                "4:7: `ask.end`: expected another line",
            ),
            (
                "start = \"a\\nb\"\nend = \"c\"",
                "3:9: `ask.start`: expected one line",
            ),
            (
                "start = \"a\"\nend = \"\"",
                "4:7: `ask.end`: expected one line",
            ),
            (
                "output = \"65m\"",
                "3:10: `ask.output`: expected a size up to",
            ),
            (
                "output = \"0\"",
                "3:10: `ask.output`: expected a size up to",
            ),
            (
                "spill = \"tmp\"",
                "3:9: `ask.spill`: expected an absolute path",
            ),
            (
                "spill = \"/tmp/../etc\"",
                "3:9: `ask.spill`: expected an absolute path",
            ),
            (
                "spill = \"/\"",
                "3:9: `ask.spill`: expected an absolute path",
            ),
        ] {
            let found = error(&format!("image = \"base\"\n[ask]\n{body}"));
            assert!(found.starts_with(&format!("p.toml:{said}")), "{found}");
        }
    }
}
