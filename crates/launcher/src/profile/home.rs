//! `[home]`: whether the home of the command is kept, and what of it.

use lazaret_tree::{RelPath, RelPathBuf};

use super::files::FileRule;
use super::raw::{RawHome, RawHomeKeep};
use super::source::{ProfileError, Source};

/// The most files that a profile names in one list.
const MOST: usize = 64;

/// `[home]`: the home of the command. Paths are those below it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HomeRules {
    /// How long it is kept.
    pub keep: HomeKeep,
    /// Bytes of a home that is not kept; `None` for as many as `limits.tmp`.
    pub size: Option<u64>,
    /// Files of the user's that are copied into it.
    pub seed: Vec<RelPathBuf>,
    /// Files that the command may change for good.
    pub memory: Vec<RelPathBuf>,
}

/// How long a home is kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum HomeKeep {
    /// It is in memory, and goes with the container.
    #[default]
    None,
    /// As long as the session.
    Session,
}

impl HomeKeep {
    /// Returns the word of profiles.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Session => "session",
        }
    }
}

/// Reads `[home]`, in which `files` are lent.
pub(super) fn home(
    source: &Source<'_>,
    raw: &RawHome,
    files: &[FileRule],
) -> Result<HomeRules, ProfileError> {
    let keep = match raw.keep.as_ref().map(toml::Spanned::get_ref) {
        Some(RawHomeKeep::Session) => HomeKeep::Session,
        Some(RawHomeKeep::None) | None => HomeKeep::None,
    };
    let wrong = |span: std::ops::Range<usize>, what: &str| {
        Err(source.error(&span, &format!("`home.{what}")))
    };
    for (key, list) in [("seed", &raw.seed), ("memory", &raw.memory)] {
        if let (HomeKeep::None, Some(list)) = (keep, list) {
            let what = format!("{key}` has no meaning unless `home.keep` is \"session\"");
            return wrong(list.span(), &what);
        }
    }
    if let Some(size) = &raw.size {
        if keep == HomeKeep::Session {
            let what =
                "size` has no meaning if `home.keep` is \"session\": `limits.disk` counts it";
            return wrong(size.span(), what);
        }
        if size.get_ref().0 == 0 {
            return wrong(size.span(), "size`: found 0, expected at least 1");
        }
    }
    let rules = HomeRules {
        keep,
        size: raw.size.as_ref().map(|size| size.get_ref().0),
        seed: paths(source, "seed", raw.seed.as_ref())?,
        memory: paths(source, "memory", raw.memory.as_ref())?,
    };
    for (key, paths, list) in [
        ("seed", &rules.seed, &raw.seed),
        ("memory", &rules.memory, &raw.memory),
    ] {
        let lent = files.iter().find(|file| paths.contains(&file.to));
        if let (Some(lent), Some(list)) = (lent, list) {
            let what = format!("{key}`: `files.{}` lies there already", lent.name);
            return wrong(list.span(), &what);
        }
    }
    Ok(rules)
}

/// Reads a list of files in the home.
fn paths(
    source: &Source<'_>,
    key: &str,
    raw: Option<&toml::Spanned<Vec<String>>>,
) -> Result<Vec<RelPathBuf>, ProfileError> {
    let Some(raw) = raw else {
        return Ok(Vec::new());
    };
    let wrong = |what: &str| {
        let message = format!(
            "`home.{key}`: {what}, expected files in the home such as \"~/.claude/settings.json\""
        );
        source.error(&raw.span(), &message)
    };
    if raw.get_ref().len() > MOST {
        return Err(wrong(&format!("found more than {MOST}")));
    }
    let read = |text: &String| match text.strip_prefix("~/").map(RelPath::new) {
        Some(Ok(path)) if !text.contains(['*', '?', '[']) => Ok(path.to_owned()),
        _ => Err(wrong(&format!("found {text:?}"))),
    };
    let mut paths: Vec<RelPathBuf> = raw.get_ref().iter().map(read).collect::<Result<_, _>>()?;
    paths.sort_unstable();
    paths.dedup();
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{error, parse};
    use super::*;

    #[test]
    fn a_home_is_in_memory_unless_it_is_kept() {
        let parsed = |text: &str| parse(&format!("image = \"base\"\n{text}")).unwrap();
        assert_eq!(parsed("").home, HomeRules::default());
        assert_eq!(parsed("home.size = \"1g\"").home.size, Some(1 << 30));
        let kept = parsed(
            "[home]\nkeep = \"session\"\nseed = [\"~/.claude/settings.json\"]\n\
             memory = [\"~/.claude/CLAUDE.md\"]",
        );
        assert_eq!(kept.home.keep, HomeKeep::Session);
        assert_eq!(kept.home.seed[0].as_str(), ".claude/settings.json");
        assert_eq!(kept.home.memory[0].as_str(), ".claude/CLAUDE.md");
    }

    #[test]
    fn a_home_that_can_not_be_is_refused_where_it_is_written() {
        let said: Vec<String> = [
            "home.keep = \"group\"",
            "home.seed = [\"~/a\"]",
            "home = { keep = \"session\", seed = [\"a\"] }",
            "home = { keep = \"session\", seed = [\"~/../a\"] }",
            "home = { keep = \"session\", memory = [\"~/*\"] }",
            "home = { keep = \"session\", size = \"1g\" }",
            "home.size = \"0\"",
            "home.mode = 7",
            "network.mode = \"open\"\nfiles.a = { from = \"/a\", to = \"~/a\" }\n\
             home = { keep = \"session\", seed = [\"~/a\"] }",
        ]
        .iter()
        .map(|text| error(&format!("image = \"base\"\n{text}")))
        .map(|said| said.lines().next().unwrap_or_default().to_owned())
        .collect();
        insta::assert_snapshot!(said.join("\n"), @r#"
        p.toml:2:13: found `group`, expected `none` or `session`
        p.toml:2:13: `home.seed` has no meaning unless `home.keep` is "session"
        p.toml:2:35: `home.seed`: found "a", expected files in the home such as "~/.claude/settings.json"
        p.toml:2:35: `home.seed`: found "~/../a", expected files in the home such as "~/.claude/settings.json"
        p.toml:2:37: `home.memory`: found "~/*", expected files in the home such as "~/.claude/settings.json"
        p.toml:2:35: `home.size` has no meaning if `home.keep` is "session": `limits.disk` counts it
        p.toml:2:13: `home.size`: found 0, expected at least 1
        p.toml:2:6: unknown key `mode`, expected one of `keep`, `size`, `seed`, `memory`
        p.toml:4:35: `home.seed`: `files.a` lies there already
        "#);
    }
}
