//! Which directories are caches. The list is documented on [`Selector`](super::Selector).

use std::ffi::CStr;

use super::Siblings;

/// The first bytes of a `CACHEDIR.TAG` (bford.info/cachedir).
pub(crate) const CACHEDIR_SIGNATURE: &[u8] = b"Signature: 8a477f597d28d172789f06886806bc55";

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

/// Whether a directory is a cache by its name and what lies beside it.
pub(crate) fn cache_by_sibling(name: &CStr, siblings: &dyn Siblings) -> bool {
    BESIDE.iter().any(|(cache, files)| {
        *cache == name && (files.is_empty() || files.iter().any(|file| siblings.has(file)))
    })
}

/// What inside a directory may make it a cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Inside {
    /// Nothing.
    Nothing,
    /// It is one.
    Cache,
    /// It is one if `CACHEDIR.TAG` starts with [`CACHEDIR_SIGNATURE`].
    Tag,
}

/// Whether a directory is a cache by what lies in it.
pub(crate) fn cache_by_content(inside: &dyn Siblings) -> Inside {
    if inside.has(c"pyvenv.cfg") {
        Inside::Cache
    } else if inside.has(c"CACHEDIR.TAG") {
        Inside::Tag
    } else {
        Inside::Nothing
    }
}
