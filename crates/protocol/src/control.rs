//! `Control`: the controls of docs/design/threats.md section 2, by case id.

use std::fmt;
use std::str::FromStr;

macro_rules! controls {
    ($($(#[$doc:meta])* $name:ident = $id:literal, $what:literal;)*) => {
        /// A control of a hardened container.
        ///
        /// Its text is the case id and a few words: `CON-04 seccomp`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Control {
            $($(#[$doc])* $name,)*
        }

        impl Control {
            /// Every control, in the order of the case ids.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// Returns the case id, such as `CON-04`.
            pub fn id(self) -> &'static str {
                match self { $(Self::$name => $id,)* }
            }

            /// Returns what it is, in a few words.
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => $what,)* }
            }
        }
    };
}

controls! {
    /// Numeric, non-root user.
    User = "CON-01", "user";
    /// No capability.
    Capabilities = "CON-02", "capabilities";
    /// No gain of privilege by executing a file.
    NoNewPrivileges = "CON-03", "no-new-privileges";
    /// Our own system call filter.
    Seccomp = "CON-04", "seccomp";
    /// Socket families that the filter refuses.
    SocketFamilies = "CON-05", "socket families";
    /// A root file system that can't be written.
    ReadOnlyRoot = "CON-06", "read-only root";
    /// Sized tmpfs mounts without exec, setuid and devices.
    Tmpfs = "CON-07", "tmpfs";
    /// A sized `/dev/shm`.
    Shm = "CON-08", "/dev/shm";
    /// Paths of `/proc` and `/sys` that are hidden.
    MaskedPaths = "CON-09", "masked paths";
    /// Paths of `/proc` that can't be written.
    ReadOnlyProc = "CON-10", "read-only /proc/sys";
    /// That the masks are what they seem to be.
    MaskIntegrity = "CON-11", "mask integrity";
    /// No descriptor leaks in from the engine.
    Descriptors = "CON-12", "no leaked descriptors";
    /// The label of a security module.
    LsmLabel = "CON-13", "LSM label";
    /// Ids inside are not ids outside.
    UserNamespace = "CON-14", "user namespace";
    /// A limit on processes.
    Pids = "CON-15", "pids limit";
    /// A limit on memory that swap does not soften.
    Memory = "CON-16", "memory limit";
    /// Cpu and the per-process limits.
    ProcessLimits = "CON-17", "cpu and process limits";
    /// No network but loopback.
    NoNetwork = "CON-18", "no network";
    /// Nothing of the host is mounted.
    NoHostMounts = "CON-19", "no host mounts";
    /// The engine's own API can't be reached.
    EngineApi = "CON-20", "engine API unreachable";
    /// No devices but the harmless ones.
    Devices = "CON-21", "no devices";
    /// Private pid, ipc, uts and cgroup namespaces.
    Namespaces = "CON-22", "private namespaces";
    /// Nothing of the host's environment.
    Environment = "CON-23", "environment";
    /// No way to type on a terminal.
    Terminal = "CON-24", "terminal";
    /// An image that is what was asked for.
    Image = "CON-25", "image";
    /// Engine versions without known escapes.
    EngineFloor = "CON-26", "engine version";
}

/// A text that names no control.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no control is called {text:?}")]
pub struct UnknownControl {
    /// The text.
    pub text: String,
}

impl Control {
    /// The controls that a probe reports on. The last two are judged from outside
    /// (CON-25: the image, CON-26: the engine's version).
    pub const REPORTED: &[Self] = Self::ALL.split_at(Self::ALL.len() - 2).0;
}

impl FromStr for Control {
    type Err = UnknownControl;

    /// Parses a case id.
    fn from_str(text: &str) -> Result<Self, UnknownControl> {
        Self::ALL
            .iter()
            .copied()
            .find(|control| control.id() == text)
            .ok_or_else(|| UnknownControl {
                text: text.to_owned(),
            })
    }
}

impl fmt::Display for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.id(), self.name())
    }
}
