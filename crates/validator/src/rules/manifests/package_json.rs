//! `package.json`: scripts that run at install, and keys that choose other code.

use super::{Difference, Manifest, Owner, Remark, block, warn};
use crate::Severity::{Block, Warn};
use crate::codes::{MANIFEST_DEPENDENCY, MANIFEST_INSTALL_HOOK, MANIFEST_SCRIPT, MANIFEST_SETTING};

/// Scripts that a package manager runs by itself, at install or around it.
const HOOKS: [&str; 19] = [
    "preinstall",
    "install",
    "postinstall",
    "preuninstall",
    "uninstall",
    "postuninstall",
    "preprepare",
    "prepare",
    "postprepare",
    "prepublish",
    "prepublishOnly",
    "prepack",
    "postpack",
    "publish",
    "postpublish",
    "dependencies",
    "predependencies",
    "postdependencies",
    "pnpm:devPreinstall",
];

/// Keys that describe the package, or what code that imports it gets.
const QUIET: [&str; 43] = [
    "$schema",
    "author",
    "browser",
    "browserslist",
    "bugs",
    "bundleDependencies",
    "bundledDependencies",
    "contributors",
    "cpu",
    "description",
    "displayName",
    "engines",
    "exports",
    "files",
    "funding",
    "homepage",
    "icon",
    "imports",
    "jsdelivr",
    "jsnext:main",
    "keywords",
    "libc",
    "license",
    "licenses",
    "main",
    "maintainers",
    "man",
    "module",
    "name",
    "os",
    "peerDependenciesMeta",
    "preferGlobal",
    "private",
    "repository",
    "sideEffects",
    "sponsor",
    "style",
    "type",
    "types",
    "typesVersions",
    "typings",
    "unpkg",
    "version",
];

const INSTALL_HOOK: Remark = Remark {
    severity: Block,
    code: MANIFEST_INSTALL_HOOK,
    reason: "runs by itself, at install or around it",
};

const DEPENDENCIES: [&str; 4] = [
    "dependencies",
    "devDependencies",
    "optionalDependencies",
    "peerDependencies",
];

/// Judges one difference.
pub(super) fn judge(difference: &Difference<'_, '_>, manifest: &Manifest) -> Option<Remark> {
    match difference.path {
        ["scripts", _] if difference.after.is_none() => None,
        ["scripts", name] if HOOKS.contains(name) => Some(match manifest.owner {
            Owner::Workspace => INSTALL_HOOK,
            Owner::Dependency => Remark {
                severity: Warn,
                ..INSTALL_HOOK
            },
        }),
        // A package manager runs no other script of an installed package.
        ["scripts", _] if manifest.owner == Owner::Dependency => None,
        ["scripts", ..] => warn(MANIFEST_SCRIPT, "is run by name"),
        ["bin", ..] | ["directories", "bin", ..] if manifest.owner == Owner::Workspace => {
            warn(MANIFEST_SCRIPT, "becomes a program on the path")
        }
        [list, _] if DEPENDENCIES.contains(list) => dependency(difference),
        [key, ..] if QUIET.contains(key) || manifest.owner == Owner::Dependency => None,
        ["directories", ..] => None,
        [] => warn(MANIFEST_SETTING, "is no table"),
        _ => warn(MANIFEST_SETTING, "configures what is installed or run"),
    }
}

pub(super) fn dependency(difference: &Difference<'_, '_>) -> Option<Remark> {
    let Some(spec) = difference.after?.text() else {
        return warn(MANIFEST_DEPENDENCY, "is a dependency of an unknown kind");
    };
    let elsewhere = || {
        warn(
            MANIFEST_DEPENDENCY,
            "comes from elsewhere than the registry",
        )
    };
    match spec.split_once(':') {
        Some(("exec", _)) => block(
            MANIFEST_INSTALL_HOOK,
            "is made by a script that runs at install",
        ),
        // `npm:^1.0.0` is an ordinary range.
        Some(("npm", range)) if !range.contains('@') => None,
        Some(("npm", _)) => warn(MANIFEST_DEPENDENCY, "has the contents of another package"),
        Some(("workspace" | "catalog", _)) => None,
        Some(_) => elsewhere(),
        // `user/repository`, or a path.
        None if spec.contains('/') => elsewhere(),
        None => None,
    }
}
