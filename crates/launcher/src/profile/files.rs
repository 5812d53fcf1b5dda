//! `[files.NAME]`: a login of the user's that no broker can serve, lent to the session.

use std::path::PathBuf;

use lazaret_protocol::{CredentialMode, MAX_CREDENTIALS};
use lazaret_tree::{RelPath, RelPathBuf};

use super::raw::{RawFile, RawFileMode};
use super::source::{ProfileError, Source};

/// `[files.NAME]`: which file is lent, and where it lies inside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRule {
    /// Its name, for messages.
    pub name: String,
    /// The user's own; `~/` is the home directory.
    pub from: PathBuf,
    /// Where it lies inside, below the agent's home.
    pub to: RelPathBuf,
    /// How it may be used there.
    pub mode: CredentialMode,
}

/// Reads `[files]`.
pub(super) fn files<'a>(
    source: &Source<'_>,
    raw: impl IntoIterator<Item = (&'a toml::Spanned<String>, &'a RawFile)>,
) -> Result<Vec<FileRule>, ProfileError> {
    let mut rules: Vec<FileRule> = Vec::new();
    for (name, raw) in raw {
        let key = name.get_ref();
        let wrong = |span: std::ops::Range<usize>, what: &str| {
            source.error(&span, &format!("`files.{key}`: {what}"))
        };
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
        if key.is_empty() || key.len() > 64 || !key.chars().all(plain) {
            let what = "expected a name of letters, digits, `-` and `_`, 64 at most";
            return Err(wrong(name.span(), what));
        }
        if rules.len() == MAX_CREDENTIALS {
            let what = format!("more than {MAX_CREDENTIALS} files can't be lent");
            return Err(wrong(name.span(), &what));
        }
        let from = raw.from.get_ref();
        if !from.starts_with('/') && !from.starts_with("~/") {
            let what = "`from`: expected a file of yours, such as \"~/.tool/login.json\"";
            return Err(wrong(raw.from.span(), what));
        }
        let inside = raw.to.get_ref().strip_prefix("~/");
        let Some(Ok(to)) = inside.map(RelPath::new) else {
            let what = "`to`: expected a file in the agent's home, such as \"~/.tool/login.json\"";
            return Err(wrong(raw.to.span(), what));
        };
        let taken = |rule: &FileRule| to.starts_with(&rule.to) || rule.to.starts_with(to);
        if let Some(other) = rules.iter().find(|rule| taken(rule)) {
            let what = format!("`to`: `files.{}` lies there already", other.name);
            return Err(wrong(raw.to.span(), &what));
        }
        rules.push(FileRule {
            name: key.clone(),
            from: from.into(),
            to: to.to_owned(),
            mode: match raw.mode {
                Some(RawFileMode::Writable) => CredentialMode::Writable,
                Some(RawFileMode::ReadOnly) | None => CredentialMode::ReadOnly,
            },
        });
    }
    Ok(rules)
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::super::tests::{error, parse};

    const NETWORK: &str =
        "image = \"base\"\n[network]\nmode = \"allowlist\"\nallow = [\"a.org:443\"]\n";

    #[test]
    fn a_login_is_read() {
        let profile = parse(&format!(
            "{NETWORK}[files.login]\nfrom = \"~/.a/b.json\"\nto = \"~/.a/c.json\"\n\
             [files.other]\nfrom = \"/srv/x\"\nto = \"~/x\"\nmode = \"0600\"\n"
        ))
        .unwrap();
        let text = profile.to_toml();
        let files = &text[text.find("[files").unwrap()..text.find("[gate]").unwrap()];
        assert_snapshot!(files, @r#"
        [files.login]
        from = "~/.a/b.json"
        to = "~/.a/c.json"
        mode = "0400"

        [files.other]
        from = "/srv/x"
        to = "~/x"
        mode = "0600"
        "#);
    }

    #[test]
    fn a_login_that_can_not_be_lent_is_refused() {
        let files = |body: &str| error(&format!("{NETWORK}{body}"));
        let said: String = [
            "[files.a]\nfrom = \"login\"\nto = \"~/a\"",
            "[files.a]\nfrom = \"~/a\"\nto = \"/etc/passwd\"",
            "[files.a]\nfrom = \"~/a\"\nto = \"~/../x\"",
            "[files.a]\nfrom = \"~/a\"\nto = \"~/\"",
            "[files.\"a b\"]\nfrom = \"~/a\"\nto = \"~/a\"",
            "[files.a]\nfrom = \"~/a\"\nto = \"~/a\"\nmode = \"0644\"",
            "[files.a]\nfrom = \"~/a\"\nto = \"~/d\"\n[files.b]\nfrom = \"~/b\"\nto = \"~/d/e\"",
        ]
        .map(|body| files(body).lines().next().unwrap_or_default().to_owned() + "\n")
        .concat();
        assert_snapshot!(said, @r#"
        p.toml:6:8: `files.a`: `from`: expected a file of yours, such as "~/.tool/login.json"
        p.toml:7:6: `files.a`: `to`: expected a file in the agent's home, such as "~/.tool/login.json"
        p.toml:7:6: `files.a`: `to`: expected a file in the agent's home, such as "~/.tool/login.json"
        p.toml:7:6: `files.a`: `to`: expected a file in the agent's home, such as "~/.tool/login.json"
        p.toml:5:8: `files.a b`: expected a name of letters, digits, `-` and `_`, 64 at most
        p.toml:8:8: found `0644`, expected `0400` or `0600`
        p.toml:10:6: `files.b`: `to`: `files.a` lies there already
        "#);
        let alone = error("image = \"base\"\n[files.a]\nfrom = \"~/a\"\nto = \"~/a\"");
        assert!(alone.contains("no meaning without a network"), "{alone}");
    }
}
