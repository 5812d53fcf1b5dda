//! Links of the built book: each leads to a page and an anchor of it, and no page loads anything
//! from elsewhere.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, Result};

/// Checks all pages below a directory, and returns a line for each link that leads nowhere.
pub(super) fn check(book: &Path) -> Result<Vec<String>> {
    let mut pages = BTreeMap::new();
    collect(book, Path::new(""), &mut pages)?;
    let mut findings = Vec::new();
    for (page, text) in &pages {
        // Its links depend on where the book is put.
        if page == Path::new("404.html") {
            continue;
        }
        for link in links(text) {
            if let Some(why) = fault(book, &pages, page, &link) {
                let link = link.target;
                findings.push(format!("{}: `{link}` {why}", page.display()));
            }
        }
    }
    Ok(findings)
}

fn collect(root: &Path, folder: &Path, pages: &mut BTreeMap<PathBuf, String>) -> Result<()> {
    let place = root.join(folder);
    for entry in fs::read_dir(&place).with_context(|| place.display().to_string())? {
        let entry = entry?;
        let path = folder.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            collect(root, &path, pages)?;
        } else if path.extension().is_some_and(|end| end == "html") {
            let text = fs::read_to_string(entry.path())?;
            pages.insert(path, text);
        }
    }
    Ok(())
}

/// What an attribute of an element names.
#[derive(Debug, PartialEq, Eq)]
struct Link<'a> {
    element: &'a str,
    target: &'a str,
}

/// Returns what `href` and `src` of the elements of a page name.
fn links(page: &str) -> Vec<Link<'_>> {
    let mut links = Vec::new();
    for element in page.split('<').skip(1) {
        let element = element.split('>').next().unwrap_or_default();
        let name = element.split_whitespace().next().unwrap_or_default();
        for attribute in [" href=\"", " src=\""] {
            let value = element.split_once(attribute).map(|(_, rest)| rest);
            if let Some((target, _)) = value.and_then(|rest| rest.split_once('"')) {
                links.push(Link {
                    element: name,
                    target,
                });
            }
        }
    }
    links
}

/// Says what is wrong with a link.
fn fault(
    book: &Path,
    pages: &BTreeMap<PathBuf, String>,
    page: &Path,
    link: &Link<'_>,
) -> Option<&'static str> {
    let target = link.target;
    if target.starts_with("data:") || target.starts_with("mailto:") {
        return None;
    }
    if target.contains("://") || target.starts_with("//") {
        let is_loaded = link.element != "a";
        return is_loaded.then_some("is loaded from elsewhere");
    }
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let file = match file {
        "" => page.to_owned(),
        file => resolve(page, file),
    };
    let Some(text) = pages.get(&file) else {
        return (!book.join(&file).is_file()).then_some("leads to no file");
    };
    let has_anchor = anchor.is_empty() || text.contains(&format!("id=\"{anchor}\""));
    (!has_anchor).then_some("leads to no heading")
}

fn resolve(page: &Path, target: &str) -> PathBuf {
    let mut path = page.to_owned();
    path.pop();
    for part in Path::new(target).components() {
        match part {
            Component::ParentDir => drop(path.pop()),
            Component::Normal(name) => path.push(name),
            _ => {}
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_leads_to_a_file_and_an_anchor_of_it() {
        let page = |text: &str| text.to_owned();
        let pages = BTreeMap::from([
            (PathBuf::from("a/one.html"), page("<h2 id=\"here\">")),
            (PathBuf::from("two.html"), page("<p>")),
        ]);
        let cases = [
            ("a", "#here", None),
            ("a", "#there", Some("leads to no heading")),
            ("a", "../two.html", None),
            ("a", "../two.html#here", Some("leads to no heading")),
            ("a", "../three.html", Some("leads to no file")),
            ("a", "https://a.test/x", None),
            (
                "script",
                "https://a.test/x",
                Some("is loaded from elsewhere"),
            ),
            ("link", "//a.test/x", Some("is loaded from elsewhere")),
            ("img", "data:image/png;base64,xx", None),
        ];
        for (element, target, expected) in cases {
            let link = Link { element, target };
            let found = fault(Path::new("/none"), &pages, Path::new("a/one.html"), &link);
            assert_eq!(found, expected, "{element} {target}");
        }
    }

    #[test]
    fn links_are_what_elements_name() {
        let page = "<a class=\"x\" href=\"one.html\">href=\"text\"</a><img src=\"i.svg\" alt=\"\">";
        let found = links(page)
            .into_iter()
            .map(|link| (link.element, link.target));
        assert_eq!(Vec::from_iter(found), [("a", "one.html"), ("img", "i.svg")]);
    }
}
