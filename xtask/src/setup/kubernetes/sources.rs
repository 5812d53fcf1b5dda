//! The machine's own package sources, with Debian's source packages added, for an apt that reads
//! and writes only in a directory of the cluster.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use xshell::Shell;

use super::cgroups::Cgroups;
use super::daemons::contained;

/// The release whose packages a cluster is made of.
const CODENAME: &str = "bookworm";
const SUITES: [&str; 3] = ["bookworm", "bookworm-updates", "bookworm-security"];

/// An apt with lists and caches of its own: nothing that it does is seen outside of its directory.
#[derive(Debug)]
pub(super) struct PrivateApt {
    options: Vec<String>,
}

impl PrivateApt {
    /// Sets it up in `dir`, and reads the lists of packages.
    pub(super) fn create(sh: &Shell, cgroups: &Cgroups, dir: &Path) -> Result<Self> {
        let parts = dir.join("sources");
        for folder in ["sources", "lists/partial", "cache/archives/partial"] {
            fs::create_dir_all(dir.join(folder))?;
        }
        let sources = read(Path::new("/etc/apt"))?;
        if sources.is_empty() {
            bail!(
                "apt has no source for Debian's {CODENAME}: add one to /etc/apt/sources.list.d, \
                 component main"
            );
        }
        for (number, source) in sources.iter().enumerate() {
            let name = format!("{number}.{}", source.format.ending());
            fs::write(parts.join(name), &source.text)?;
        }
        let (dir, parts) = (dir.display(), parts.display());
        let options = [
            "Dir::Etc::SourceList=/dev/null".to_owned(),
            format!("Dir::Etc::SourceParts={parts}"),
            format!("Dir::State::Lists={dir}/lists"),
            format!("Dir::Cache={dir}/cache"),
            "Acquire::Languages=none".to_owned(),
            // Its own user may not enter a private directory.
            "APT::Sandbox::User=root".to_owned(),
        ];
        let apt = Self {
            options: options.to_vec(),
        };
        apt.run(sh, cgroups, &["update"])?;
        Ok(apt)
    }

    /// Runs `apt-get` in the current directory of `sh`.
    pub(super) fn run(&self, sh: &Shell, cgroups: &Cgroups, arguments: &[&str]) -> Result<()> {
        let mut argv = vec!["apt-get", "-qq"];
        argv.extend(self.options.iter().flat_map(|option| ["-o", option]));
        argv.extend(arguments);
        contained(sh, cgroups, &argv)
            .quiet()
            .ignore_stdout()
            .run()
            .with_context(|| format!("apt-get {}", arguments.join(" ")))
    }
}

/// One source as apt takes it.
#[derive(Debug, PartialEq, Eq)]
struct Source {
    format: Format,
    text: String,
}

/// The two formats of sources.list(5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Line,
    Stanza,
}

impl Format {
    fn ending(self) -> &'static str {
        match self {
            Self::Line => "list",
            Self::Stanza => "sources",
        }
    }
}

fn read(etc: &Path) -> Result<Vec<Source>> {
    let mut files = vec![etc.join("sources.list")];
    let parts = fs::read_dir(etc.join("sources.list.d"))
        .into_iter()
        .flatten();
    files.extend(parts.flatten().map(|entry| entry.path()));
    files.sort();
    let mut sources = Vec::new();
    for file in files.iter().filter(|file| file.is_file()) {
        let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
        match file.extension().and_then(|ending| ending.to_str()) {
            Some("list") => sources.extend(text.lines().filter_map(line)),
            Some("sources") => sources.extend(stanzas(&text)),
            _ => {}
        }
    }
    Ok(sources)
}

/// `deb [options] URI SUITE COMPONENT…`
fn line(line: &str) -> Option<Source> {
    let rest = line.trim().strip_prefix("deb ")?.trim_start();
    let plain = match rest.strip_prefix('[') {
        Some(options) => options.split_once(']')?.1,
        None => rest,
    };
    let words: Vec<&str> = plain.split_whitespace().collect();
    let (suite, components) = (words.get(1)?, words.get(2..)?);
    let wanted = SUITES.contains(suite) && components.contains(&"main");
    wanted.then(|| Source {
        format: Format::Line,
        text: format!("deb {rest}\ndeb-src {rest}\n"),
    })
}

/// Stanzas of fields, with an empty line between two.
fn stanzas(text: &str) -> impl Iterator<Item = Source> {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let stanzas: Vec<Vec<&str>> = lines
        .split(|line| line.is_empty())
        .map(<[&str]>::to_vec)
        .collect();
    stanzas.into_iter().filter_map(|lines| stanza(&lines))
}

fn stanza(lines: &[&str]) -> Option<Source> {
    let field = |name: &str| {
        lines.iter().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name)
                .then(|| value.split_whitespace().collect::<Vec<_>>())
        })
    };
    let is_wanted = field("Types")?.contains(&"deb")
        && field("Suites")?.iter().all(|suite| SUITES.contains(suite))
        && field("Components")?.contains(&"main")
        && field("Enabled").is_none_or(|value| value != ["no"]);
    let is_types = |line: &&str| line.to_ascii_lowercase().starts_with("types:");
    let others = lines.iter().copied().filter(|line| !is_types(line));
    let text: Vec<&str> = std::iter::once("Types: deb deb-src")
        .chain(others)
        .collect();
    is_wanted.then(|| Source {
        format: Format::Stanza,
        text: format!("{}\n", text.join("\n")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_release_gets_its_source_packages() {
        let source = line("deb [signed-by=/k arch=amd64] http://mirror.test/d bookworm main");
        let text = source.expect("is wanted").text;
        assert_eq!(
            text,
            "deb [signed-by=/k arch=amd64] http://mirror.test/d bookworm main\n\
             deb-src [signed-by=/k arch=amd64] http://mirror.test/d bookworm main\n"
        );
        assert!(line("deb http://mirror.test/d bookworm-security main").is_some());
        for other in [
            "# deb http://mirror.test/d bookworm main",
            "deb http://mirror.test/d trixie main",
            "deb http://mirror.test/d bookworm contrib",
            "deb http://mirror.test/d tool-bookworm main",
            "deb http://mirror.test/d",
            "",
        ] {
            assert_eq!(line(other), None, "{other}");
        }
    }

    #[test]
    fn a_stanza_keeps_all_but_its_types() {
        let text = "Types: deb\nURIs: http://mirror.test/d\nSuites: bookworm bookworm-updates\n\
                    Components: main\nSigned-By:\n -----BEGIN\n .\n x\n\n\
                    Types: deb\nURIs: http://other.test/\nSuites: nodistro\nComponents: main\n\n\
                    Enabled: no\nTypes: deb\nURIs: http://mirror.test/d\nSuites: bookworm\n\
                    Components: main\n";
        let found: Vec<Source> = stanzas(text).collect();
        assert_eq!(found.len(), 1);
        assert_eq!(
            found[0].text,
            "Types: deb deb-src\nURIs: http://mirror.test/d\nSuites: bookworm bookworm-updates\n\
             Components: main\nSigned-By:\n -----BEGIN\n .\n x\n"
        );
    }
}
