//! `env_pass`: variables of the user's that the command sees, by name or pattern.

use std::collections::BTreeMap;
use std::ffi::OsString;

use lazaret_runtime::EnvName;

use super::source::{ProfileError, Source};

/// Names of which nothing is ever passed, whatever a pattern says: keys, ways to the user's
/// agents, and what makes a program load or run something else (`ld.so(8)`, `git(1)`).
const NEVER: &[&str] = &[
    "*_TOKEN",
    "*_KEY",
    "*_PAT",
    "*SECRET*",
    "*PASSWORD*",
    "*PASSWD*",
    "*PASSPHRASE*",
    "*CREDENTIAL*",
    "AWS_*",
    "AZURE_*",
    "GCP_*",
    "GOOGLE_*",
    "SSH_*",
    "GPG_*",
    "DBUS_*",
    "DOCKER_*",
    "CONTAINER_*",
    "LD_*",
    "DYLD_*",
    "GCONV_PATH",
    "BASH_ENV",
    "ENV",
    "PATH",
    "HOME",
    "GIT_*",
    "LAZARET*",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "FTP_PROXY",
    "*_PRELOAD",
    "NODE_OPTIONS",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "PERL5OPT",
    "RUBYOPT",
    "XAUTHORITY",
    "KUBECONFIG",
    "TOKEN",
    "API_KEY",
    "APIKEY",
];

/// Whether a variable may be passed on by a pattern.
pub(crate) fn may_pass(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    !NEVER.iter().any(|pattern| matches(pattern, &name))
}

/// Reads `env_pass`.
pub(super) fn patterns(
    source: &Source<'_>,
    raw: &[toml::Spanned<String>],
) -> Result<Vec<String>, ProfileError> {
    let mut patterns = Vec::new();
    for pattern in raw {
        let text = pattern.get_ref();
        let stem = text.strip_suffix('*').unwrap_or(text);
        if stem.parse::<EnvName>().is_err() {
            return Err(source.error(
                &pattern.span(),
                &format!(
                    "`env_pass`: found \"{text}\", expected a name such as \"LANG\", or the \
                    beginning of names such as \"LC_*\""
                ),
            ));
        }
        if !may_pass(stem) || !may_pass(text) {
            return Err(source.error(
                &pattern.span(),
                &format!(
                    "`env_pass`: \"{text}\" is never passed: it may be a key, or make programs \
                    run something else; `-e {text}` passes it for one run"
                ),
            ));
        }
        patterns.push(text.clone());
    }
    Ok(patterns)
}

/// Returns the user's variables that the patterns name. One that is not UTF-8 is left out.
pub(crate) fn passed(
    patterns: &[String],
    variables: &BTreeMap<String, OsString>,
) -> BTreeMap<EnvName, String> {
    let named = |name: &str| patterns.iter().any(|pattern| matches(pattern, name));
    variables
        .iter()
        .filter(|(name, _)| named(name) && may_pass(name))
        .filter_map(|(name, value)| Some((name.parse().ok()?, value.to_str()?.to_owned())))
        .collect()
}

/// Whether a name fits a pattern, in which `*` may stand first, last or both.
fn matches(pattern: &str, name: &str) -> bool {
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(rest), Some(_)) => name.contains(rest.trim_end_matches('*')),
        (Some(end), None) => name.ends_with(end),
        (None, Some(start)) => name.starts_with(start),
        (None, None) => name == pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn con_23_what_may_be_a_key_never_passes() {
        for name in [
            "GITHUB_TOKEN",
            "ANTHROPIC_API_KEY",
            "MY_SECRET_THING",
            "AWS_PROFILE",
            "SSH_AUTH_SOCK",
            "LD_PRELOAD",
            "https_proxy",
            "DB_PASSWORD",
            "PATH",
            "LAZARET_SESSION",
            "DOCKER_HOST",
        ] {
            assert!(!may_pass(name), "{name}");
        }
        for name in ["LANG", "LC_ALL", "TERM", "TZ", "EDITOR", "RUST_LOG", "CI"] {
            assert!(may_pass(name), "{name}");
        }
    }

    #[test]
    fn patterns_name_variables() {
        let variables = ["LANG", "LC_ALL", "LC_TOKEN", "TERM", "HOME"]
            .map(|name| (name.to_owned(), OsString::from("x")));
        let patterns = ["LANG".to_owned(), "LC_*".to_owned()];
        let names: Vec<_> = passed(&patterns, &variables.into())
            .into_keys()
            .map(|name| name.to_string())
            .collect();
        assert_eq!(names, ["LANG", "LC_ALL"]);
    }
}
