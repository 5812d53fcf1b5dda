//! The contents of the book: what `docs/README.md` lists, in its order.

use std::fmt::Write as _;

/// The page that lists all others.
pub(crate) const MAP: &str = "docs/README.md";

/// A line of the contents.
#[derive(Debug, PartialEq, Eq)]
enum Entry<'a> {
    Part(&'a str),
    Page { title: &'a str, path: String },
}

/// Writes the `SUMMARY.md` of a book whose root is that of the repository.
pub(super) fn summary(map: &str) -> String {
    let mut text = format!("# Summary\n\n[lazaret](README.md)\n[All pages]({MAP})\n");
    for entry in entries(map) {
        let _ = match entry {
            Entry::Part(title) => write!(text, "\n# {title}\n\n"),
            Entry::Page { title, path } => writeln!(text, "- [{title}]({path})"),
        };
    }
    text
}

/// Returns the paths of the pages that are listed, from the root.
pub(crate) fn pages(map: &str) -> Vec<String> {
    let path = |entry| match entry {
        Entry::Page { path, .. } => Some(path),
        Entry::Part(_) => None,
    };
    entries(map).into_iter().filter_map(path).collect()
}

/// Parts are headings; pages are the first link of a list item or of a row of a table.
fn entries(map: &str) -> Vec<Entry<'_>> {
    let entry = |line| match str::strip_prefix(line, "## ") {
        Some(title) => Some(Entry::Part(title)),
        None => page(line),
    };
    map.lines().filter_map(entry).collect()
}

fn page(line: &str) -> Option<Entry<'_>> {
    let link = line
        .strip_prefix("- [")
        .or_else(|| line.strip_prefix("| ["))?;
    let (title, rest) = link.split_once("](")?;
    let (target, _) = rest.split_once(')')?;
    let path = match target.strip_prefix("../") {
        Some(at_top) => at_top.to_owned(),
        None => format!("docs/{target}"),
    };
    Some(Entry::Page { title, path })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTED: &str = "# Documentation\n\n## How-to\n\n- [Begin](how-to/begin.md), at once\n\n\
        ## Design\n\n[ARCHITECTURE.md](../ARCHITECTURE.md) has the map.\n\n\
        | page | topic |\n| --- | --- |\n| [Times](design/times.md) | see [this](cli.md) |\n\
        - [Security](../SECURITY.md)\n";

    #[test]
    fn a_summary_has_what_the_map_lists() {
        assert_eq!(
            summary(LISTED),
            "# Summary\n\n[lazaret](README.md)\n[All pages](docs/README.md)\n\n# How-to\n\n- [Begin](docs/how-to/begin.md)\n\n\
             # Design\n\n- [Times](docs/design/times.md)\n- [Security](SECURITY.md)\n"
        );
    }

    #[test]
    fn pages_are_the_first_links_of_items_and_rows() {
        let expected = [
            "docs/how-to/begin.md",
            "docs/design/times.md",
            "SECURITY.md",
        ];
        assert_eq!(pages(LISTED), expected);
    }
}
