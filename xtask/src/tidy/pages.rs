//! Every page of the documentation stands in its map once: the contents of the book come from it.

use super::{Finding, Source};
use crate::docs::contents::{MAP, pages};

/// Checks the map against the pages that there are.
pub(super) fn check(sources: &[Source], findings: &mut Vec<Finding>) {
    let Some(map) = sources.iter().find(|source| source.path == MAP) else {
        return;
    };
    let listed = pages(&map.text);
    let is_page = |path: &&str| path.starts_with("docs/") && path.ends_with(".md") && *path != MAP;
    let found = sources.iter().map(|source| source.path.as_str());
    for page in found.filter(is_page) {
        let message = match listed.iter().filter(|path| *path == page).count() {
            1 => continue,
            0 => format!("`{page}` is not listed"),
            _ => format!("`{page}` is listed more than once"),
        };
        findings.push(Finding {
            path: MAP.to_owned(),
            line: 0,
            rule: "pages",
            message,
        });
    }
}

#[test]
fn a_page_is_listed_once() {
    let source = |path: &str, text: &str| Source {
        path: path.to_owned(),
        text: text.to_owned(),
    };
    let sources = [
        source(MAP, "- [One](one.md)\n- [Two](two.md)\n- [Two](two.md)\n"),
        source("docs/one.md", ""),
        source("docs/two.md", ""),
        source("docs/three.md", ""),
        source("crates/README.md", ""),
    ];
    let mut findings = Vec::new();
    check(&sources, &mut findings);
    let messages = findings.into_iter().map(|finding| finding.message);
    assert_eq!(
        Vec::from_iter(messages),
        [
            "`docs/two.md` is listed more than once",
            "`docs/three.md` is not listed"
        ]
    );
}
