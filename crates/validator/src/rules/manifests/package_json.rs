//! `package.json`: scripts that run at install, and keys that choose other code.

use super::{Difference, Manifest, Place, say};
use crate::Severity::{Block, Warn};
use crate::codes;
use crate::file_findings::FileFindings;

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

const DEPENDENCIES: [&str; 4] = [
    "dependencies",
    "devDependencies",
    "optionalDependencies",
    "peerDependencies",
];

/// Judges one difference.
pub(super) fn judge(
    difference: &Difference<'_, '_>,
    manifest: &Manifest,
    remarks: &mut FileFindings,
) {
    match difference.path {
        ["scripts", _] if difference.after.is_none() => {}
        ["scripts", name] if HOOKS.contains(name) => {
            let severity = match manifest.place {
                Place::Own => Block,
                Place::Installed => Warn,
            };
            let reason = "runs by itself, at install or around it";
            say(
                difference,
                severity,
                codes::MANIFEST_INSTALL_HOOK,
                reason,
                remarks,
            );
        }
        // A package manager runs no other script of an installed package.
        ["scripts", _] if manifest.place == Place::Installed => {}
        ["scripts", ..] => say(
            difference,
            Warn,
            codes::MANIFEST_SCRIPT,
            "is run by name",
            remarks,
        ),
        ["bin", ..] | ["directories", "bin", ..] if manifest.place == Place::Own => {
            let reason = "becomes a program on the path";
            say(difference, Warn, codes::MANIFEST_SCRIPT, reason, remarks);
        }
        [list, _] if DEPENDENCIES.contains(list) => dependency(difference, remarks),
        [key, ..] if QUIET.contains(key) || manifest.place == Place::Installed => {}
        ["directories", ..] => {}
        [] => say(
            difference,
            Warn,
            codes::MANIFEST_SETTING,
            "is no table",
            remarks,
        ),
        _ => {
            let reason = "configures what is installed or run";
            say(difference, Warn, codes::MANIFEST_SETTING, reason, remarks);
        }
    }
}

fn dependency(difference: &Difference<'_, '_>, remarks: &mut FileFindings) {
    let Some(after) = difference.after else {
        return;
    };
    let Some(spec) = after.text() else {
        let reason = "is a dependency of an unknown kind";
        return say(
            difference,
            Warn,
            codes::MANIFEST_DEPENDENCY,
            reason,
            remarks,
        );
    };
    match spec.split_once(':') {
        Some(("exec", _)) => {
            let reason = "is made by a script that runs at install";
            say(
                difference,
                Block,
                codes::MANIFEST_INSTALL_HOOK,
                reason,
                remarks,
            );
        }
        // `npm:^1.0.0` is an ordinary range.
        Some(("npm", range)) if !range.contains('@') => {}
        Some(("npm", _)) => {
            let reason = "has the contents of another package";
            say(
                difference,
                Warn,
                codes::MANIFEST_DEPENDENCY,
                reason,
                remarks,
            );
        }
        Some(("workspace" | "catalog", _)) => {}
        Some(_) => elsewhere(difference, remarks),
        // `user/repository`, or a path.
        None if spec.contains('/') => elsewhere(difference, remarks),
        None => {}
    }
}

fn elsewhere(difference: &Difference<'_, '_>, remarks: &mut FileFindings) {
    let reason = "comes from elsewhere than the registry";
    say(
        difference,
        Warn,
        codes::MANIFEST_DEPENDENCY,
        reason,
        remarks,
    );
}
