//! `Component`: what a file in `images/components/` declares, a toolchain or a program
//! and the ways to come by it.

use serde::Deserialize;

use crate::spec::diagnostics::refusal;
use crate::{ComponentName, PackageName, SpecError, Version};

/// A toolchain or a program, and the ways to come by it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Component {
    /// Its name: that of its file.
    pub name: ComponentName,
    /// One line for lists.
    pub description: String,
    /// The version that is installed where an image names none; any, if `None`.
    pub version: Option<Version>,
    /// Debian packages that it consists of, where it does.
    pub packages: Vec<PackageName>,
    /// Whether an image may name packages of its own.
    pub takes_packages: TakesPackages,
    /// What of an install step's work is kept, relative to `/`; everything, if empty.
    ///
    /// A component that names its paths is installed on the base alone, so that it gives
    /// the same layer in every image on that base, whatever stands before it.
    pub paths: Vec<String>,
    /// A script that ends every source's install step, for what is the same after all of them.
    pub finish: Option<String>,
    /// Where it comes from, in the order in which that is tried.
    pub sources: Vec<Source>,
    /// Commands for `sh` that must succeed inside; the first prints the version.
    pub verify: Vec<String>,
    /// Where the declaration is, for messages.
    pub file: String,
    /// The declaration as written: part of a layer's key.
    pub text: String,
}

/// Whether an image may name packages for a component.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TakesPackages {
    /// No.
    No,
    /// Yes, at least one.
    Yes,
}

/// One way to come by a component.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Its name, for the lock and for messages.
    pub name: ComponentName,
    /// Components that must be there for the install step, and are not part of the image.
    pub tools: Vec<ComponentName>,
    /// The only version that it has, where it has but one: another is not asked of it.
    pub only_version: Option<Version>,
    /// How.
    pub kind: SourceKind,
}

/// How a source gives a component.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceKind {
    /// A script for `sh`, run in a container as root.
    Script {
        /// `host:port` that must answer before it is tried: a vendor's site.
        reach: Option<String>,
        /// The script.
        install: String,
    },
    /// The host's own Rust toolchain of that name, copied in.
    HostRust {
        /// `stable`, `nightly`.
        toolchain: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawComponent {
    description: String,
    version: Option<Version>,
    #[serde(default)]
    packages: Vec<PackageName>,
    #[serde(default)]
    takes_packages: bool,
    #[serde(default)]
    paths: Vec<String>,
    finish: Option<String>,
    source: Vec<toml::Spanned<RawSource>>,
    verify: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawSource {
    name: ComponentName,
    #[serde(default)]
    tools: Vec<ComponentName>,
    gives: Option<Version>,
    reach: Option<String>,
    install: Option<String>,
    host_rust: Option<ComponentName>,
}

impl Component {
    /// Parses the declaration `text` of the component `name`, which lies at `file`.
    ///
    /// # Errors
    /// Shows the line and what is expected there.
    pub fn parse(name: &ComponentName, file: &str, text: &str) -> Result<Self, SpecError> {
        let raw: RawComponent = toml::from_str(text).map_err(|error| {
            refusal(
                file,
                text,
                error.span().unwrap_or_default(),
                error.message(),
            )
        })?;
        let mut sources = Vec::new();
        for source in raw.source {
            let span = source.span();
            let source = source.into_inner();
            let kind = match source {
                RawSource {
                    install: Some(install),
                    host_rust: None,
                    reach,
                    ..
                } => SourceKind::Script { reach, install },
                RawSource {
                    install: None,
                    host_rust: Some(toolchain),
                    reach: None,
                    ..
                } => SourceKind::HostRust {
                    toolchain: toolchain.to_string(),
                },
                _ => {
                    let expected = "expected `install`, with or without `reach`, or `host_rust`";
                    return Err(refusal(file, text, span, expected));
                }
            };
            sources.push(Source {
                name: source.name,
                tools: source.tools,
                only_version: source.gives,
                kind,
            });
        }
        if sources.is_empty() || raw.verify.is_empty() {
            let expected = "expected at least one `[[source]]` and one command in `verify`";
            return Err(refusal(file, text, 0..0, expected));
        }
        Ok(Self {
            name: name.clone(),
            description: raw.description,
            version: raw.version,
            packages: raw.packages,
            takes_packages: match raw.takes_packages {
                true => TakesPackages::Yes,
                false => TakesPackages::No,
            },
            paths: raw.paths,
            finish: raw.finish,
            sources,
            verify: raw.verify,
            file: file.to_owned(),
            text: text.to_owned(),
        })
    }
}
