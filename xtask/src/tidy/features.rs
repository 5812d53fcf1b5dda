//! Features that only tests enable: cargo compiles a crate and all above it once more for them.
//!
//! A dependency of [`HOLDER`] has them in every build, since it is an ordinary one of a member.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use xshell::{Shell, cmd};

use super::Finding;

/// The manifest that names what only tests use.
const HOLDER: &str = "tests/Cargo.toml";

/// Features of each package, by its name and version.
type Features = BTreeMap<String, BTreeSet<String>>;

/// Compares what `cargo build` and `cargo test` choose for the whole workspace.
pub(super) fn check(sh: &Shell, findings: &mut Vec<Finding>) -> Result<()> {
    let built = chosen(sh, "normal,build")?;
    let tested = chosen(sh, "normal,build,dev")?;
    findings.extend(only_tested(&built, &tested));
    Ok(())
}

fn chosen(sh: &Shell, edges: &str) -> Result<Features> {
    let tree = cmd!(
        sh,
        "cargo tree --quiet --workspace --all-features --edges {edges} --prefix none --format"
    );
    let listed = tree.arg("{p}|{f}|").quiet().read()?;
    Ok(listed.lines().filter_map(package).collect())
}

/// `rustix v1.1.6|fs,net| (*)`
fn package(line: &str) -> Option<(String, BTreeSet<String>)> {
    let (package, rest) = line.split_once('|')?;
    let (features, _seen_before) = rest.split_once('|')?;
    let features = features.split(',').filter(|feature| !feature.is_empty());
    Some((package.to_owned(), features.map(str::to_owned).collect()))
}

fn only_tested<'a>(
    built: &'a Features,
    tested: &'a Features,
) -> impl Iterator<Item = Finding> + 'a {
    built.iter().filter_map(|(package, features)| {
        let only: Vec<&str> = (tested.get(package)?.difference(features))
            .map(String::as_str)
            .collect();
        (!only.is_empty()).then(|| Finding {
            path: HOLDER.to_owned(),
            line: 0,
            rule: "features",
            message: format!(
                "only tests enable {} of {package}: name here the dependency that does",
                only.join(", ")
            ),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_feature_of_tests_alone_is_found() {
        let features = |lines: &[&str]| lines.iter().copied().filter_map(package).collect();
        let built: Features = features(&["a v1|std|", "b v1|| (*)", ""]);
        let tested: Features = features(&["a v1|fs,std|", "b v1||", "c v1|std|"]);
        let found: Vec<String> = (only_tested(&built, &tested))
            .map(|finding| finding.message)
            .collect();
        assert_eq!(
            found,
            ["only tests enable fs of a v1: name here the dependency that does"]
        );
        assert_eq!(only_tested(&built, &built).count(), 0);
    }
}
