//! Which directories stay out of a transfer by name: caches, and what lazaret keeps for itself.

use std::ffi::CStr;

use crate::RelPath;

/// The first bytes of a `CACHEDIR.TAG` (bford.info/cachedir).
pub const CACHEDIR_SIGNATURE: &[u8] = b"Signature: 8a477f597d28d172789f06886806bc55";

/// Directories that are caches beside one of these files; beside anything, when
/// none is named.
const BESIDE: &[(&CStr, &[&CStr])] = &[
    (c"target", &[c"Cargo.toml", c"pom.xml"]),
    (c"node_modules", &[c"package.json"]),
    (
        c".gradle",
        &[
            c"build.gradle",
            c"build.gradle.kts",
            c"settings.gradle",
            c"settings.gradle.kts",
        ],
    ),
    (c".tox", &[c"tox.ini", c"setup.cfg", c"pyproject.toml"]),
    (c".nox", &[c"noxfile.py"]),
    (c"__pycache__", &[]),
];

/// Whether a directory is a cache by its name and what lies beside it, which
/// `has` tells.
pub fn is_cache_beside(name: &CStr, has: impl Fn(&CStr) -> bool) -> bool {
    BESIDE.iter().any(|(cache, files)| {
        *cache == name && (files.is_empty() || files.iter().any(|file| has(file)))
    })
}

/// What the names inside a directory say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheInside {
    /// It is none.
    No,
    /// It is a cache.
    Yes,
    /// It is one if `CACHEDIR.TAG` starts with [`CACHEDIR_SIGNATURE`].
    Tag,
}

impl CacheInside {
    /// Asks for the names, which `has` tells.
    pub fn of(has: impl Fn(&CStr) -> bool) -> Self {
        if has(c"pyvenv.cfg") {
            Self::Yes
        } else if has(c"CACHEDIR.TAG") {
            Self::Tag
        } else {
            Self::No
        }
    }
}

/// Where, in the root of a volume, an update writes files before they get their names.
///
/// Neither sent nor surveyed; whatever the agent puts there is removed by the next update.
pub const INCOMING_DIR: &CStr = c".lazaret-incoming";

/// Where, in the root of a workspace's volume, other directories are mounted, if there are any.
///
/// Neither sent nor surveyed: the mount point is the engine's.
pub const EXTRA_DIR: &str = "extra";

/// What the names begin with that lazaret keeps for itself in a workspace's root.
pub const STAGING_PREFIX: &str = ".lazaret-";

/// Whether lazaret keeps a path for itself: it is, or lies in, an entry of the workspace's root
/// with a name like that of a staging directory.
pub fn is_reserved(path: &RelPath) -> bool {
    path.as_str().starts_with(STAGING_PREFIX)
}
