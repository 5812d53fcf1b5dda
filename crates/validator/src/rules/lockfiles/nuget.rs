//! `packages.lock.json` of NuGet: packages by framework. It names no source.

use super::lock::{Lock, LockedPackage, LockedPackages, Repetition};
use super::source::Source;
use super::text_in;
use crate::rules::structured::{Unreadable, Value, json};

/// Reads a lockfile.
pub(super) fn read(text: &str) -> Result<Lock<'_>, Unreadable> {
    let document = json::read(text)?;
    let mut locked_packages = LockedPackages::default();
    let frameworks = document.root.get("dependencies");
    for (_, packages) in frameworks.map_or(&[][..], Value::entries) {
        for (name, package) in packages.entries() {
            let source = match text_in(package, "type")?.as_deref() {
                Some("Project") => Source::Path("".into()),
                _ => Source::Unstated,
            };
            let version = text_in(package, "resolved")?.unwrap_or_default();
            // NuGet compares ids without case.
            let locked_package =
                LockedPackage::new(package.at, name.to_lowercase(), version, source);
            locked_packages.push(locked_package.hashed(text_in(package, "contentHash")?))?;
        }
    }
    Ok(Lock {
        locked_packages: locked_packages.into_vec(),
        repetition: Repetition::Ordinary,
        repeated: document.repeated,
        trusted: Vec::new(),
    })
}
