//! What the host expects: the arguments of `porter probe`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::num::ParseIntError;

use crate::limit::Limit;

/// Why the arguments can't be used. The porter and the host are of one build, so any of
/// these means that they are not.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("expected `--expect KEY=VALUE` or `--limit NAME=NUMBER`, found {found:?}")]
    Argument { found: OsString },
    #[error("unknown key `{key}`")]
    Key { key: String },
    #[error("`{key}={value}`: {source}")]
    Number {
        key: String,
        value: String,
        source: ParseIntError,
    },
    #[error("`{key}={value}`: expected {wanted}")]
    Value {
        key: String,
        value: String,
        wanted: &'static str,
    },
    #[error("no value for `{key}`")]
    Missing { key: &'static str },
}

/// Whether ids inside are ids outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ids {
    Mapped,
    Host,
}

/// A size at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sized {
    pub(super) path: String,
    pub(super) bytes: u64,
}

/// The expectations.
#[derive(Debug, Clone)]
pub(super) struct Expected {
    pub(super) uid: u32,
    pub(super) gid: u32,
    /// Of the permitted, effective and bounding sets.
    pub(super) capabilities: u64,
    pub(super) tmpfs: Vec<Sized>,
    pub(super) shm: u64,
    pub(super) masked: Vec<String>,
    pub(super) read_only: Vec<String>,
    pub(super) volumes: Vec<String>,
    /// Those of the volumes that can't be written.
    pub(super) read_only_volumes: Vec<String>,
    pub(super) ids: Ids,
    pub(super) pids: u64,
    pub(super) memory: u64,
    /// Billionths of a core.
    pub(super) nano_cpus: u64,
    /// By the engines' names, such as `nofile`.
    pub(super) ulimits: BTreeMap<String, u64>,
    /// Namespaces that must not be ours: kind and inode.
    pub(super) foreign_namespaces: Vec<(String, u64)>,
    pub(super) env: Vec<String>,
    pub(super) hostname: String,
    pub(super) workdir: String,
    /// Limits to set before looking.
    pub(super) limits: Vec<Limit>,
    not_applicable: Vec<String>,
}

impl Expected {
    pub(super) fn parse(mut arguments: impl Iterator<Item = OsString>) -> Result<Self, Error> {
        let mut pairs = Pairs::default();
        let mut limits = Vec::new();
        while let Some(argument) = arguments.next() {
            let value = arguments.next().unwrap_or_default();
            match argument.to_str() {
                Some("--expect") => {}
                Some("--limit") => match Limit::parse(&value) {
                    Some(limit) => {
                        limits.push(limit);
                        continue;
                    }
                    None => return Err(Error::Argument { found: value }),
                },
                _ => return Err(Error::Argument { found: argument }),
            }
            let Some((key, value)) = value.to_str().and_then(|text| text.split_once('=')) else {
                return Err(Error::Argument { found: value });
            };
            pairs.add(key, value)?;
        }
        Ok(Self {
            uid: pairs.number("uid")?,
            gid: pairs.number("gid")?,
            capabilities: pairs.number("caps")?,
            tmpfs: pairs.sizes("tmpfs")?,
            shm: pairs.number("shm")?,
            masked: pairs.all("masked"),
            read_only: pairs.all("readonly"),
            volumes: pairs.all("volume"),
            read_only_volumes: pairs.all("volume-ro"),
            ids: match pairs.one("userns")? {
                "mapped" => Ids::Mapped,
                "host" => Ids::Host,
                other => return Err(wrong("userns", other, "`mapped` or `host`")),
            },
            pids: pairs.number("pids")?,
            memory: pairs.number("memory")?,
            nano_cpus: pairs.number("cpus")?,
            ulimits: pairs
                .sizes("ulimit")?
                .into_iter()
                .map(|limit| (limit.path, limit.bytes))
                .collect(),
            foreign_namespaces: pairs
                .sizes("foreign-ns")?
                .into_iter()
                .map(|namespace| (namespace.path, namespace.bytes))
                .collect(),
            env: pairs.all("env"),
            hostname: pairs.one("hostname")?.to_owned(),
            workdir: pairs.one("workdir")?.to_owned(),
            limits,
            not_applicable: pairs.all("na"),
        })
    }

    /// Whether the host says that a control does not apply here.
    pub(super) fn not_applicable(&self, control: &str) -> bool {
        self.not_applicable.iter().any(|name| name == control)
    }
}

const KEYS: [&str; 19] = [
    "caps",
    "cpus",
    "env",
    "foreign-ns",
    "gid",
    "hostname",
    "masked",
    "memory",
    "na",
    "pids",
    "readonly",
    "shm",
    "tmpfs",
    "uid",
    "ulimit",
    "userns",
    "volume",
    "volume-ro",
    "workdir",
];

#[derive(Debug, Default)]
struct Pairs(BTreeMap<&'static str, Vec<String>>);

impl Pairs {
    fn add(&mut self, key: &str, value: &str) -> Result<(), Error> {
        let known = KEYS
            .into_iter()
            .find(|known| *known == key)
            .ok_or_else(|| Error::Key {
                key: key.to_owned(),
            })?;
        self.0.entry(known).or_default().push(value.to_owned());
        Ok(())
    }

    fn all(&self, key: &'static str) -> Vec<String> {
        self.0.get(key).cloned().unwrap_or_default()
    }

    fn one(&self, key: &'static str) -> Result<&str, Error> {
        match self.0.get(key).map(Vec::as_slice) {
            Some([value]) => Ok(value),
            Some([value, ..]) => Err(wrong(key, value, "to be given once")),
            _ => Err(Error::Missing { key }),
        }
    }

    fn number<N: std::str::FromStr<Err = ParseIntError>>(
        &self,
        key: &'static str,
    ) -> Result<N, Error> {
        let value = self.one(key)?;
        parse(key, value)
    }

    fn sizes(&self, key: &'static str) -> Result<Vec<Sized>, Error> {
        self.all(key)
            .iter()
            .map(|value| {
                let (path, bytes) = value
                    .rsplit_once(':')
                    .ok_or_else(|| wrong(key, value, "NAME:NUMBER"))?;
                Ok(Sized {
                    path: path.to_owned(),
                    bytes: parse(key, bytes)?,
                })
            })
            .collect()
    }
}

fn parse<N: std::str::FromStr<Err = ParseIntError>>(key: &str, value: &str) -> Result<N, Error> {
    value.parse().map_err(|source| Error::Number {
        key: key.to_owned(),
        value: value.to_owned(),
        source,
    })
}

fn wrong(key: &str, value: &str, wanted: &'static str) -> Error {
    Error::Value {
        key: key.to_owned(),
        value: value.to_owned(),
        wanted,
    }
}
