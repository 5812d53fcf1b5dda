//! Which of the machine's own package sources carry a Debian release.
//!
//! No mirror is named in lazaret: what the machine trusts for itself is good for
//! its images too. Sources of third parties are left out.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;

/// One source, for one release or several of its pockets.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Source {
    uris: String,
    suites: Vec<String>,
    components: Vec<String>,
    /// Verbatim; may be a whole key of several lines.
    signed_by: Option<String>,
    enabled: bool,
    binary: bool,
}

/// Reads `/etc/apt` (given as `apt`) and returns the sources of `suite` in deb822
/// form, or `None` when there is none: mmdebstrap then takes its own default.
///
/// # Errors
/// When a file is there but can't be read.
pub(crate) fn read(apt: &Path, suite: &str) -> io::Result<Option<String>> {
    let mut sources = Vec::new();
    let mut files = vec![apt.join("sources.list")];
    match fs::read_dir(apt.join("sources.list.d")) {
        Ok(entries) => {
            for entry in entries {
                files.push(entry?.path());
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    files.sort();
    for file in files {
        let parse: fn(&str) -> Vec<Source> = match file.extension().and_then(|name| name.to_str()) {
            Some("list") => parse_one_line,
            Some("sources") => parse_deb822,
            _ => continue,
        };
        match fs::read_to_string(&file) {
            Ok(text) => sources.extend(parse(&text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(select(sources, suite))
}

/// Keeps what carries `suite` and belongs to the distribution itself.
fn select(sources: Vec<Source>, suite: &str) -> Option<String> {
    let pockets = [
        suite.to_owned(),
        format!("{suite}-updates"),
        format!("{suite}-security"),
    ];
    let mut text = String::new();
    let mut has_release = false;
    for mut source in sources {
        source.suites.retain(|name| pockets.contains(name));
        let carries_main = source.components.iter().any(|name| name == "main");
        if !source.enabled || !source.binary || source.suites.is_empty() || !carries_main {
            continue;
        }
        if source
            .signed_by
            .as_deref()
            .is_some_and(|key| !is_archive_key(key))
        {
            continue;
        }
        has_release |= source.suites.iter().any(|name| name == suite);
        // Writing into a string can't fail.
        let _written = write!(
            text,
            "Types: deb\nURIs: {}\nSuites: {}\nComponents: main\n",
            source.uris,
            source.suites.join(" ")
        );
        if let Some(key) = source.signed_by {
            let _written = writeln!(text, "Signed-By: {key}");
        }
        text.push('\n');
    }
    has_release.then_some(text)
}

/// Whether a `Signed-By` names the distribution's own keyring. Third parties that
/// name their suites like Debian's are told apart by this.
fn is_archive_key(signed_by: &str) -> bool {
    Path::new(signed_by.trim())
        .file_name()
        .and_then(|name| name.to_str())
        .is_some_and(|name| {
            name.starts_with("debian-archive") || name.starts_with("ubuntu-archive")
        })
}

/// Parses the one-line style of sources.list(5): `deb [option=value …] uri suite component…`.
fn parse_one_line(text: &str) -> Vec<Source> {
    let mut sources = Vec::new();
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or_default().trim();
        let Some(mut rest) = line.strip_prefix("deb ").map(str::trim_start) else {
            continue;
        };
        let mut signed_by = None;
        if let Some(after) = rest.strip_prefix('[') {
            let Some((options, after)) = after.split_once(']') else {
                continue;
            };
            signed_by = options
                .split_whitespace()
                .find_map(|option| option.strip_prefix("signed-by="))
                .map(str::to_owned);
            rest = after;
        }
        let mut words = rest.split_whitespace().map(str::to_owned);
        let (Some(uris), Some(suite)) = (words.next(), words.next()) else {
            continue;
        };
        sources.push(Source {
            uris,
            suites: vec![suite],
            components: words.collect(),
            signed_by,
            enabled: true,
            binary: true,
        });
    }
    sources
}

/// Parses the deb822 style of sources.list(5).
fn parse_deb822(text: &str) -> Vec<Source> {
    let words = |value: &str| {
        value
            .split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let mut sources = Vec::new();
    for stanza in text.split("\n\n") {
        let mut fields: Vec<(String, String)> = Vec::new();
        for line in stanza.lines().filter(|line| !line.starts_with('#')) {
            if line.starts_with([' ', '\t']) {
                if let Some((_, value)) = fields.last_mut() {
                    value.push('\n');
                    value.push_str(line);
                }
            } else if let Some((name, value)) = line.split_once(':') {
                fields.push((name.trim().to_ascii_lowercase(), value.trim().to_owned()));
            }
        }
        let mut source = Source {
            enabled: true,
            ..Source::default()
        };
        for (name, value) in fields {
            match name.as_str() {
                "uris" => source.uris = words(&value).join(" "),
                "suites" => source.suites = words(&value),
                "components" => source.components = words(&value),
                "types" => source.binary = words(&value).iter().any(|kind| kind == "deb"),
                "enabled" => source.enabled = !matches!(value.as_str(), "no" | "false" | "0"),
                "signed-by" => source.signed_by = Some(value),
                _ => {}
            }
        }
        if !source.uris.is_empty() {
            sources.push(source);
        }
    }
    sources
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_distribution_and_drops_third_parties() {
        let text = "\
Types: deb deb-src
URIs: http://mirror.test/debian
# a comment
Suites: bookworm bookworm-updates bookworm-backports
Components: main contrib
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: https://third.test/apt
Suites: bookworm
Components: main
Signed-By: /usr/share/keyrings/third.gpg

Types: deb
URIs: http://off.test/debian
Suites: bookworm
Components: main
Enabled: no
";
        insta::assert_snapshot!(select(parse_deb822(text), "bookworm").unwrap(), @"
        Types: deb
        URIs: http://mirror.test/debian
        Suites: bookworm bookworm-updates
        Components: main
        Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
        ");
    }

    #[test]
    fn reads_the_one_line_style() {
        let text = "\
deb-src http://mirror.test/debian bookworm main
deb [arch=amd64 signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://mirror.test/debian bookworm main non-free # x
deb http://mirror.test/security bookworm-security main
deb http://docker.test/debian bookworm stable
";
        insta::assert_snapshot!(select(parse_one_line(text), "bookworm").unwrap(), @"
        Types: deb
        URIs: http://mirror.test/debian
        Suites: bookworm
        Components: main
        Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

        Types: deb
        URIs: http://mirror.test/security
        Suites: bookworm-security
        Components: main
        ");
    }

    #[test]
    fn a_machine_with_another_release_has_no_source() {
        assert_eq!(
            select(
                parse_one_line("deb http://mirror.test/debian trixie main\n"),
                "bookworm"
            ),
            None
        );
        // Updates without the release itself can't be bootstrapped from.
        assert_eq!(
            select(
                parse_one_line("deb http://m.test bookworm-updates main\n"),
                "bookworm"
            ),
            None
        );
    }
}
