//! `ImageSpec`: what an `image.toml` declares.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde::Deserialize;
use serde::de::{Error as _, MapAccess, Visitor};
use toml::Spanned;

use crate::spec::diagnostics::refusal;
use crate::spec::service::ServiceSpec;
use crate::{
    ComponentName, ImageName, MaxAge, PackageName, PinnedReference, ShellPath, SpecError, Suite,
    UserName, Version,
};

/// What an `image.toml` declares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageSpec {
    /// The image's name: that of its directory.
    pub name: ImageName,
    /// One line for lists.
    pub description: String,
    /// What it starts from.
    pub base: Base,
    /// The line that says so.
    pub base_line: usize,
    /// What is added to it, in this order.
    pub components: Vec<ComponentRequest>,
    /// Whose certificates install steps trust.
    pub trust: Trust,
    /// Commands that must succeed inside before the image is used, for `sh`.
    pub verify: Vec<String>,
    /// Whose the session is, inside.
    pub user: User,
    /// How it runs as a server beside a command; `None` if it says nothing of that.
    pub service: Option<ServiceSpec>,
    /// After which age a build is repeated, so that security updates arrive.
    pub max_age: Option<MaxAge>,
    /// Where the declaration is, for messages.
    pub file: String,
    /// The declaration as written: part of the inputs' hash.
    pub source: String,
}

/// What an image starts from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Base {
    /// Nothing: the image holds the porter alone and runs as uid 0 with no
    /// capability but the one that hardening grants.
    Scratch,
    /// Debian packages, installed by `mmdebstrap` from the machine's own sources.
    Debootstrap {
        /// The release.
        suite: Suite,
        /// Packages beyond the minimal system, sorted and without repetition.
        include: Vec<PackageName>,
    },
    /// An image that the engine has or can fetch, pinned by digest.
    Registry(PinnedReference),
    /// Another declared image, with all its components.
    Image(ImageName),
    /// The image that a `devcontainer.json` names, by the file's path beside the
    /// declaration. Reading the catalogue makes [`Base::Registry`] of it.
    Devcontainer(PathBuf),
}

/// A component as an image wants it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComponentRequest {
    /// Which one.
    pub component: ComponentName,
    /// The image whose declaration wants it: of a combined image, one of its parts.
    pub image: ImageName,
    /// The line of that declaration.
    pub line: usize,
    /// The version, where not the component's own choice.
    pub version: Option<Version>,
    /// The only source to use, where not all of them in order.
    pub source: Option<ComponentName>,
    /// Packages, for a component that takes some; sorted and without repetition.
    pub packages: Vec<PackageName>,
}

/// Whose certificates install steps trust.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Trust {
    /// Those in the image itself.
    Image,
    /// Those that the host trusts, for the build only: a proxy that looks into TLS has
    /// a certificate that no image holds.
    Host,
}

/// Whose the session is inside. The ids are always 1000: hardening and transfer rely on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// The login name.
    pub name: UserName,
    /// The login shell, an absolute path.
    pub shell: ShellPath,
}

impl Default for User {
    fn default() -> Self {
        Self {
            name: UserName::agent(),
            shell: ShellPath::sh(),
        }
    }
}

/// What may stand as `base`.
const BASES: &str = "the name of an image, or exactly one of `scratch`, `debootstrap`, `registry` and `devcontainer`";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawImageSpec {
    description: String,
    base: Spanned<Base>,
    #[serde(default)]
    components: BTreeMap<Spanned<ComponentName>, RawComponentRequest>,
    build: Option<RawBuild>,
    #[serde(default)]
    verify: Vec<String>,
    user: Option<Spanned<RawUser>>,
    service: Option<ServiceSpec>,
    max_age: Option<MaxAge>,
}

/// The kinds of base that are written as a table of one key.
#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "lowercase")]
enum BaseKind {
    Scratch,
    Debootstrap,
    Registry,
    Devcontainer,
}

impl<'de> Deserialize<'de> for Base {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NameOrKind;
        impl<'de> Visitor<'de> for NameOrKind {
            type Value = Base;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(BASES)
            }

            fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<Base, E> {
                name.parse().map(Base::Image).map_err(E::custom)
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Base, A::Error> {
                let not_one = || A::Error::custom(format_args!("expected {BASES}"));
                let base = match map.next_key()?.ok_or_else(not_one)? {
                    BaseKind::Scratch => {
                        let Nothing {} = map.next_value()?;
                        Base::Scratch
                    }
                    BaseKind::Debootstrap => {
                        let RawDebootstrap { suite, mut include } = map.next_value()?;
                        include.sort();
                        include.dedup();
                        Base::Debootstrap { suite, include }
                    }
                    BaseKind::Registry => Base::Registry(map.next_value()?),
                    BaseKind::Devcontainer => Base::Devcontainer(map.next_value()?),
                };
                match map.next_key::<BaseKind>()? {
                    None => Ok(base),
                    Some(_second) => Err(not_one()),
                }
            }
        }
        deserializer.deserialize_any(NameOrKind)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawDebootstrap {
    suite: Suite,
    #[serde(default)]
    include: Vec<PackageName>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawComponentRequest {
    version: Option<Version>,
    source: Option<ComponentName>,
    #[serde(default)]
    packages: Vec<PackageName>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawBuild {
    ca: Trust,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawUser {
    name: Option<UserName>,
    shell: Option<ShellPath>,
}

impl ImageSpec {
    /// Parses the declaration `source` of the image `name`, which lies at `file`.
    ///
    /// # Errors
    /// Shows the line and what is expected there.
    pub fn parse(name: &ImageName, file: &str, source: &str) -> Result<Self, SpecError> {
        let raw: RawImageSpec = toml::from_str(source).map_err(|error| {
            refusal(
                file,
                source,
                error.span().unwrap_or_default(),
                error.message(),
            )
        })?;
        let base_span = raw.base.span();
        let base = raw.base.into_inner();
        if base == Base::Scratch {
            let reason =
                "`[user]` has no meaning with `scratch`: such an image has no user but root";
            if let Some(user) = &raw.user {
                return Err(refusal(file, source, user.span(), reason));
            }
            if let Some((name, _)) = raw.components.iter().next() {
                let reason = "`scratch` has nothing that a component could be installed with";
                return Err(refusal(file, source, name.span(), reason));
            }
        }
        let default = User::default();
        let user = match raw.user.map(Spanned::into_inner) {
            None => default,
            Some(RawUser { name, shell }) => User {
                name: name.unwrap_or(default.name),
                shell: shell.unwrap_or(default.shell),
            },
        };
        Ok(Self {
            name: name.clone(),
            description: raw.description,
            base,
            base_line: line_at(source, base_span.start),
            components: choices(raw.components, name, source),
            trust: raw.build.map_or(Trust::Image, |build| build.ca),
            verify: raw.verify,
            user,
            service: raw.service,
            max_age: raw.max_age,
            file: file.to_owned(),
            source: source.to_owned(),
        })
    }

    /// Makes an error about the line `line` of the declaration.
    pub(crate) fn refuse_line(&self, line: usize, message: &str) -> SpecError {
        let mut lines = self.source.split_inclusive('\n');
        let start: usize = lines
            .by_ref()
            .take(line.saturating_sub(1))
            .map(str::len)
            .sum();
        let length = lines.next().unwrap_or_default().trim_end().len();
        refusal(&self.file, &self.source, start..start + length, message)
    }
}

/// Puts the components into the order in which they are written.
fn choices(
    raw: BTreeMap<Spanned<ComponentName>, RawComponentRequest>,
    image: &ImageName,
    source: &str,
) -> Vec<ComponentRequest> {
    let mut raw: Vec<_> = raw.into_iter().collect();
    raw.sort_by_key(|(name, _)| name.span().start);
    raw.into_iter()
        .map(|(name, choice)| {
            let mut packages = choice.packages;
            packages.sort();
            packages.dedup();
            ComponentRequest {
                image: image.clone(),
                line: line_at(source, name.span().start),
                component: name.into_inner(),
                version: choice.version,
                source: choice.source,
                packages,
            }
        })
        .collect()
}

/// Counts lines from 1.
fn line_at(source: &str, offset: usize) -> usize {
    let before = source.get(..offset).unwrap_or_default();
    1 + before.matches('\n').count()
}
