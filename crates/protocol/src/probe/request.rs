//! `ProbeRequest`: what must hold inside a container, in the host's words.

use std::collections::BTreeMap;
use std::str::FromStr;

use crate::{ArgumentError, Control, Ulimit};

/// Whether ids inside are ids outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdMapping {
    /// Ids inside are others outside.
    Mapped,
    /// They are the host's.
    Host,
}

/// What keeps processes from the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NetworkBarrier {
    /// There is no interface but loopback.
    NoInterface,
    /// The porter's filter of system calls refuses every socket but Unix ones.
    NoSocket,
}

/// A size at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SizedPath {
    /// The path.
    pub path: String,
    /// Its size, bytes.
    pub bytes: u64,
}

/// A namespace that must not be the container's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignNamespace {
    /// Its name below `/proc/self/ns`.
    pub kind: String,
    /// Its inode.
    pub inode: u64,
}

/// Everything that a probe compares with what it finds.
///
/// A field that one end writes and the other does not read can't exist: both are here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeRequest {
    /// The user of every process.
    pub uid: u32,
    /// Its group.
    pub gid: u32,
    /// The permitted, effective and bounding sets (capabilities(7)), a bit each.
    pub capabilities: u64,
    /// The size of `/dev/shm`, bytes.
    pub shm: u64,
    /// The most processes.
    pub pids: u64,
    /// The most memory, bytes.
    pub memory: u64,
    /// Processor time, billionths of a core.
    pub nano_cpus: u64,
    /// The host name inside.
    pub hostname: String,
    /// Where commands start.
    pub workdir: String,
    /// Whether ids are mapped.
    pub ids: IdMapping,
    /// What keeps processes from the network.
    pub network: NetworkBarrier,
    /// Mounts in memory.
    pub tmpfs: Vec<SizedPath>,
    /// Paths that hold nothing.
    pub masked: Vec<String>,
    /// Paths that can't be written.
    pub read_only: Vec<String>,
    /// Where volumes are mounted.
    pub volumes: Vec<String>,
    /// Those of the volumes that can't be written.
    pub read_only_volumes: Vec<String>,
    /// Limits of each process.
    pub ulimits: Vec<Ulimit>,
    /// Namespaces of others.
    pub foreign_namespaces: Vec<ForeignNamespace>,
    /// Controls that the host says do not apply here.
    pub not_applicable: Vec<Control>,
    /// Names of environment variables that may be set.
    pub env: Vec<String>,
}

impl ProbeRequest {
    /// Returns each expectation as key and value. The environment comes last: a command adds
    /// names of its own to it.
    pub fn to_pairs(&self) -> Vec<(&'static str, String)> {
        let Self {
            uid,
            gid,
            capabilities,
            shm,
            pids,
            memory,
            nano_cpus,
            hostname,
            workdir,
            ids,
            network,
            tmpfs,
            masked,
            read_only,
            volumes,
            read_only_volumes,
            ulimits,
            foreign_namespaces,
            not_applicable,
            env,
        } = self;
        let ids = match ids {
            IdMapping::Mapped => "mapped",
            IdMapping::Host => "host",
        };
        let network = match network {
            NetworkBarrier::NoInterface => "interface",
            NetworkBarrier::NoSocket => "socket",
        };
        let mut pairs = vec![
            ("uid", uid.to_string()),
            ("gid", gid.to_string()),
            ("caps", capabilities.to_string()),
            ("shm", shm.to_string()),
            ("pids", pids.to_string()),
            ("memory", memory.to_string()),
            ("cpus", nano_cpus.to_string()),
            ("hostname", hostname.clone()),
            ("workdir", workdir.clone()),
            ("userns", ids.to_owned()),
            ("no-network", network.to_owned()),
        ];
        let mut add = |key, values: Vec<String>| {
            pairs.extend(values.into_iter().map(|value| (key, value)));
        };
        let sized = |at: &SizedPath| format!("{}:{}", at.path, at.bytes);
        add("tmpfs", tmpfs.iter().map(sized).collect());
        add("masked", masked.clone());
        add("readonly", read_only.clone());
        add("volume", volumes.clone());
        add("volume-ro", read_only_volumes.clone());
        add("ulimit", ulimits.iter().map(Ulimit::to_string).collect());
        let foreign = |at: &ForeignNamespace| format!("{}:{}", at.kind, at.inode);
        add(
            "foreign-ns",
            foreign_namespaces.iter().map(foreign).collect(),
        );
        let ids = not_applicable.iter().map(|control| control.id().to_owned());
        add("na", ids.collect());
        add("env", env.clone());
        pairs
    }

    /// Reads what [`ProbeRequest::to_pairs`] wrote, in any order.
    ///
    /// # Errors
    /// A key that is unknown, missing or given too often, or a value of another form.
    pub fn parse(pairs: impl IntoIterator<Item = (String, String)>) -> Result<Self, ArgumentError> {
        let mut given = Pairs::default();
        for (key, value) in pairs {
            given.0.entry(key).or_default().push(value);
        }
        let request = Self {
            uid: given.parsed("uid")?,
            gid: given.parsed("gid")?,
            capabilities: given.parsed("caps")?,
            shm: given.parsed("shm")?,
            pids: given.parsed("pids")?,
            memory: given.parsed("memory")?,
            nano_cpus: given.parsed("cpus")?,
            hostname: given.one("hostname")?,
            workdir: given.one("workdir")?,
            ids: match &*given.one("userns")? {
                "mapped" => IdMapping::Mapped,
                "host" => IdMapping::Host,
                other => return Err(ArgumentError::value("userns", "`mapped` or `host`", other)),
            },
            network: match &*given.one("no-network")? {
                "interface" => NetworkBarrier::NoInterface,
                "socket" => NetworkBarrier::NoSocket,
                other => {
                    let wanted = "`interface` or `socket`";
                    return Err(ArgumentError::value("no-network", wanted, other));
                }
            },
            tmpfs: given.each("tmpfs", |value| {
                let (path, bytes) = numbered(value)?;
                Some(SizedPath { path, bytes })
            })?,
            masked: given.all("masked"),
            read_only: given.all("readonly"),
            volumes: given.all("volume"),
            read_only_volumes: given.all("volume-ro"),
            ulimits: given.each("ulimit", |value| value.parse().ok())?,
            foreign_namespaces: given.each("foreign-ns", |value| {
                let (kind, inode) = numbered(value)?;
                Some(ForeignNamespace { kind, inode })
            })?,
            not_applicable: given.each("na", |value| value.parse().ok())?,
            env: given.all("env"),
        };
        match given.0.pop_first() {
            Some((found, _)) => Err(ArgumentError::Unexpected { found }),
            None => Ok(request),
        }
    }
}

/// Reads `NAME:NUMBER`.
fn numbered(value: &str) -> Option<(String, u64)> {
    let (name, number) = value.rsplit_once(':')?;
    Some((name.to_owned(), number.parse().ok()?))
}

/// Values by key; what was read is taken out.
#[derive(Debug, Default)]
struct Pairs(BTreeMap<String, Vec<String>>);

impl Pairs {
    fn all(&mut self, key: &'static str) -> Vec<String> {
        self.0.remove(key).unwrap_or_default()
    }

    fn one(&mut self, key: &'static str) -> Result<String, ArgumentError> {
        let mut values = self.all(key).into_iter();
        match (values.next(), values.next()) {
            (Some(value), None) => Ok(value),
            (Some(_), Some(second)) => Err(ArgumentError::value(key, "one value", &second)),
            (None, _) => Err(ArgumentError::Missing { name: key }),
        }
    }

    fn parsed<N: FromStr>(&mut self, key: &'static str) -> Result<N, ArgumentError> {
        let value = self.one(key)?;
        let number = value.parse();
        number.map_err(|_| ArgumentError::value(key, "a number", &value))
    }

    fn each<T>(
        &mut self,
        key: &'static str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<Vec<T>, ArgumentError> {
        let values = self.all(key);
        let parsed = values.iter().map(|value| {
            parse(value).ok_or_else(|| ArgumentError::value(key, "NAME and NUMBER", value))
        });
        parsed.collect()
    }
}
