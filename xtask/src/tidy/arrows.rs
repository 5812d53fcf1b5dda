//! Arrows that must not be there: which crate must not reach which, by any way, and which
//! folder of a crate must not import which.
//!
//! Between crates only ordinary dependencies count. Features are those that the crate gets by
//! itself.

use anyhow::Result;
use xshell::{Shell, cmd};

use super::imports::{Import, imports};
use super::{Finding, Source};

/// The manifest's folder, and what must not be below it. A name that ends with `-` stands
/// for every crate that starts with it.
const ABSENT: &[(&str, &str)] = &[
    // Values: no I/O, and nothing of ours below them.
    ("tree", "lazaret- bollard tokio serde rustix ignore"),
    // What host and porter exchange: no host, no engine.
    (
        "protocol",
        "lazaret-egress lazaret-gateway lazaret-runtime lazaret-transfer lazaret-validator bollard clap serde tokio",
    ),
    // Files and archives: no engine, no policy, no async, no serialization framework.
    (
        "transfer",
        "lazaret-runtime lazaret-validator bollard tokio serde",
    ),
    // Engines know nothing of files or policy.
    ("runtime", "lazaret-transfer lazaret-validator"),
    // Judgement is pure.
    (
        "validator",
        "lazaret-runtime lazaret-transfer bollard tokio duct serde",
    ),
    // Commits are examined and landed without an engine, a session or a screen.
    (
        "commits",
        "lazaret-gate lazaret-launcher lazaret-runtime lazaret-session bollard clap indicatif ratatui serde tokio",
    ),
    // What is judged and applied needs no engine, no session and no screen.
    (
        "gate",
        "lazaret-launcher lazaret-runtime lazaret-session bollard clap indicatif ratatui tokio",
    ),
    // The review draws into a buffer; the terminal is the launcher's.
    (
        "review",
        "lazaret-launcher lazaret-runtime lazaret-session bollard clap indicatif tokio",
    ),
    (
        "image-builder",
        "lazaret-transfer lazaret-validator lazaret-launcher",
    ),
    // Sessions know no terminal and no command line.
    ("session", "lazaret-launcher clap ctrlc indicatif ratatui"),
    // The strict reader of messages: values alone.
    ("json", "lazaret- bollard clap rustix tokio"),
    // The protocols of an outer agent and of an editor: what they lead to is the launcher's.
    (
        "mcp",
        "lazaret-acp lazaret-egress lazaret-launcher lazaret-protocol lazaret-session lazaret-tree bollard clap duct indicatif ratatui rustix",
    ),
    (
        "acp",
        "lazaret-egress lazaret-launcher lazaret-mcp lazaret-protocol lazaret-session lazaret-tree bollard clap duct indicatif ratatui rustix tokio",
    ),
    // What may be reached is judged without engines, files or I/O.
    ("egress", "lazaret- bollard tokio rustix libc"),
    // Alone with the network: threads and epoll, no engine, no files of a workspace.
    (
        "gateway",
        "lazaret-runtime lazaret-transfer lazaret-validator bollard tokio",
    ),
    // Small, and alone with hostile files: no code of the host's in it.
    (
        "porter",
        "lazaret-runtime lazaret-transfer lazaret-validator bollard tokio",
    ),
];

/// Folders of one crate that must not be imported.
struct Apart {
    krate: &'static str,
    folder: &'static str,
    /// Folders beside it that it must not import.
    absent: &'static [&'static str],
}

/// Copying in, receiving and applying are joined by their caller alone. A pack is a visitor of
/// the walk, so it may import that. The capability on the host's tree is below all of them.
const APART: &[Apart] = &[
    Apart {
        krate: "transfer",
        folder: "workspace_dir",
        absent: &["walk", "pack", "store", "apply"],
    },
    Apart {
        krate: "transfer",
        folder: "walk",
        absent: &["pack", "store", "apply"],
    },
    Apart {
        krate: "transfer",
        folder: "pack",
        absent: &["store", "apply"],
    },
    Apart {
        krate: "transfer",
        folder: "store",
        absent: &["walk", "pack", "apply"],
    },
    Apart {
        krate: "transfer",
        folder: "apply",
        absent: &["walk", "pack", "store"],
    },
];

/// Crates that only `runtime` may depend on directly.
const RUNTIME_ONLY: &str = "bollard tokio";
/// Their direct dependencies are read for [`RUNTIME_ONLY`].
const ABOVE_RUNTIME: [&str; 3] = ["image-builder", "session", "launcher"];

/// Leaves: they are below or beside the product.
const LEAVES: [(&str, &str); 3] = [
    ("xtask", "xtask"),
    ("lazaret-tests", "tests"),
    ("lazaret-bench", "bench"),
];

/// Checks the resolved graph, and the folders of crates.
pub(super) fn check(sh: &Shell, sources: &[Source], findings: &mut Vec<Finding>) -> Result<()> {
    for apart in APART {
        let imports = imports(&format!("crates/{}", apart.krate), sources);
        report_apart(&imports, apart, findings);
    }
    for (folder, absent) in ABSENT {
        let tree = tree(sh, &format!("lazaret-{folder}"), "")?;
        report(
            &tree,
            absent,
            &format!("crates/{folder}/Cargo.toml"),
            findings,
        );
    }
    for folder in ABOVE_RUNTIME {
        let tree = tree(sh, &format!("lazaret-{folder}"), "1")?;
        report(
            &tree,
            RUNTIME_ONLY,
            &format!("crates/{folder}/Cargo.toml"),
            findings,
        );
    }
    for (package, folder) in LEAVES {
        let tree = tree(sh, package, "")?;
        report(&tree, "lazaret-", &format!("{folder}/Cargo.toml"), findings);
    }
    Ok(())
}

/// Names of the packages below `package`, itself left out; `depth` "" is no limit.
fn tree(sh: &Shell, package: &str, depth: &str) -> Result<Vec<String>> {
    let mut tree = cmd!(
        sh,
        "cargo tree --quiet --edges normal --prefix none --package {package}"
    );
    if !depth.is_empty() {
        tree = tree.args(["--depth", depth]);
    }
    let lines = tree.quiet().read()?;
    Ok(lines
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != package)
        .map(str::to_owned)
        .collect())
}

fn report(tree: &[String], absent: &str, manifest: &str, findings: &mut Vec<Finding>) {
    for name in absent.split(' ') {
        let found = tree.iter().find(|found| match name.ends_with('-') {
            true => found.starts_with(name),
            false => *found == name,
        });
        if let Some(found) = found {
            findings.push(Finding {
                path: manifest.to_owned(),
                line: 0,
                rule: "arrows",
                message: format!(
                    "must not reach `{found}` (`cargo tree --invert {found}` shows how)"
                ),
            });
        }
    }
}

/// Names each import of a folder from one that it must not import.
fn report_apart(imports: &[Import], apart: &Apart, findings: &mut Vec<Finding>) {
    let is_in = |file: &str, folder: &str| {
        let path = format!("crates/{}/src/{folder}", apart.krate);
        file.strip_prefix(&path)
            .is_some_and(|rest| rest.starts_with('/') || rest == ".rs")
    };
    let inside = imports
        .iter()
        .filter(|import| is_in(&import.from, apart.folder));
    for import in inside {
        if let Some(other) = apart.absent.iter().find(|other| is_in(&import.to, other)) {
            findings.push(Finding {
                path: import.from.clone(),
                line: import.line,
                rule: "arrows",
                message: format!(
                    "`{}` must not import `{other}` ({})",
                    apart.folder, import.path
                ),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_import_of_a_folder_that_must_stay_apart_is_found() {
        let import = |from: &str, to: &str| Import {
            from: format!("crates/a/src/{from}"),
            to: format!("crates/a/src/{to}"),
            line: 3,
            path: "crate::x".to_owned(),
        };
        let imports = [
            import("walk/mod.rs", "apply/mod.rs"),
            import("walk.rs", "pack.rs"),
            import("walker/mod.rs", "apply/mod.rs"),
            import("walk/mod.rs", "application/mod.rs"),
            import("apply/mod.rs", "walk/mod.rs"),
        ];
        let mut findings = Vec::new();
        let walk = Apart {
            krate: "a",
            folder: "walk",
            absent: &["apply", "pack"],
        };
        report_apart(&imports, &walk, &mut findings);
        let found: Vec<&str> = findings.iter().map(|finding| &*finding.message).collect();
        assert_eq!(
            found,
            [
                "`walk` must not import `apply` (crate::x)",
                "`walk` must not import `pack` (crate::x)"
            ]
        );
    }

    #[test]
    fn an_arrow_that_must_not_be_there_is_found() {
        let tree = ["blake3".to_owned(), "lazaret-runtime".to_owned()];
        let mut findings = Vec::new();
        report(
            &tree,
            "tokio lazaret-",
            "crates/a/Cargo.toml",
            &mut findings,
        );
        assert_eq!(findings.len(), 1);
        assert!(findings[0].message.contains("lazaret-runtime"));
    }

    #[test]
    fn the_runtime_really_reaches_what_the_others_must_not() {
        // Shows that the tree is read at all.
        let sh = Shell::new().expect("a shell");
        sh.change_dir(crate::project::root());
        let tree = tree(&sh, "lazaret-runtime", "").expect("cargo tree");
        assert!(
            RUNTIME_ONLY
                .split(' ')
                .all(|name| tree.iter().any(|found| found == name))
        );
    }
}
