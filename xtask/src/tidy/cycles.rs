//! No import circles: two files of a crate must not need each other, by whatever way.

use std::collections::BTreeMap;

use super::imports::{Import, imports};
use super::{Finding, Source};

/// Files that need each other, and the imports that make them do so.
#[derive(Debug)]
pub(super) struct Circle {
    pub(super) files: Vec<String>,
    pub(super) imports: Vec<Import>,
}

/// Returns the circles of all crates, the largest first.
pub(super) fn circles(sources: &[Source]) -> Vec<Circle> {
    let manifests = sources
        .iter()
        .filter_map(|source| source.path.strip_suffix("/Cargo.toml"));
    let mut circles: Vec<Circle> = manifests
        .flat_map(|folder| circles_of(imports(folder, sources)))
        .collect();
    circles.sort_by_key(|circle| (usize::MAX - circle.files.len(), circle.files.clone()));
    circles
}

/// Names each import that closes a circle.
pub(super) fn check(sources: &[Source], findings: &mut Vec<Finding>) {
    for circle in circles(sources) {
        let count = circle.files.len();
        findings.extend(circle.imports.iter().map(|import| Finding {
            path: import.from.clone(),
            line: import.line,
            rule: "cycles",
            message: format!(
                "`{}` closes a circle of {count} files with {} (`cargo xtask tidy --cycles`)",
                import.path, import.to
            ),
        }));
    }
}

/// Prints every circle with the lines that make it.
pub(super) fn print(sources: &[Source]) {
    let circles = circles(sources);
    for (index, circle) in circles.iter().enumerate() {
        println!("circle {}: {} files", index + 1, circle.files.len());
        for file in &circle.files {
            println!("  {file}");
            for import in circle.imports.iter().filter(|import| import.from == *file) {
                println!("    {}: {} -> {}", import.line, import.path, import.to);
            }
        }
        println!();
    }
    println!("{} circles", circles.len());
}

/// Returns the strongly connected components of more than one file.
fn circles_of(imports: Vec<Import>) -> Vec<Circle> {
    let mut graph: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for import in &imports {
        graph.entry(&import.from).or_default().push(&import.to);
        graph.entry(&import.to).or_default();
    }
    let mut search = Search {
        graph: &graph,
        nodes: BTreeMap::new(),
        stack: Vec::new(),
        components: Vec::new(),
    };
    for file in graph.keys() {
        if !search.nodes.contains_key(file) {
            search.visit(file);
        }
    }
    let circles = search.components.iter().filter(|files| files.len() > 1);
    circles
        .map(|files| {
            let is_inside = |import: &&Import| {
                files.contains(&import.from.as_str()) && files.contains(&import.to.as_str())
            };
            let mut files: Vec<String> = files.iter().map(|file| (*file).to_owned()).collect();
            files.sort();
            Circle {
                imports: imports.iter().filter(is_inside).cloned().collect(),
                files,
            }
        })
        .collect()
}

/// Tarjan's algorithm ("Depth-first search and linear graph algorithms", 1972).
#[derive(Debug)]
struct Search<'a> {
    graph: &'a BTreeMap<&'a str, Vec<&'a str>>,
    nodes: BTreeMap<&'a str, Node>,
    stack: Vec<&'a str>,
    components: Vec<Vec<&'a str>>,
}

#[derive(Debug)]
struct Node {
    index: usize,
    is_on_stack: bool,
}

impl<'a> Search<'a> {
    fn visit(&mut self, file: &'a str) -> usize {
        let index = self.nodes.len();
        let mut low_link = index;
        let is_on_stack = true;
        self.nodes.insert(file, Node { index, is_on_stack });
        self.stack.push(file);
        for next in &self.graph[file] {
            match self.nodes.get(next) {
                None => low_link = low_link.min(self.visit(next)),
                Some(node) if node.is_on_stack => low_link = low_link.min(node.index),
                Some(_) => {}
            }
        }
        if low_link == index {
            let start = self.stack.iter().rposition(|other| *other == file);
            let component = self.stack.split_off(start.unwrap_or_default());
            for member in &component {
                if let Some(node) = self.nodes.get_mut(member) {
                    node.is_on_stack = false;
                }
            }
            self.components.push(component);
        }
        low_link
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planted(two: &str) -> Vec<Source> {
        let files = [
            ("crates/a/Cargo.toml", ""),
            ("crates/a/src/lib.rs", "mod one;\nmod two;\nmod three;"),
            (
                "crates/a/src/one.rs",
                "use crate::two::Two;\npub struct One;",
            ),
            ("crates/a/src/two.rs", two),
            (
                "crates/a/src/three.rs",
                "use crate::one::One;\npub fn f() {}",
            ),
        ];
        let source = |(path, text): (&str, &str)| Source {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        files.into_iter().map(source).collect()
    }

    fn found(sources: &[Source]) -> Vec<String> {
        let mut findings = Vec::new();
        check(sources, &mut findings);
        let line = |finding: &Finding| format!("{}:{}", finding.path, finding.line);
        findings.iter().map(line).collect()
    }

    /// Over three files: one → two → three → one.
    const CLOSED: &str = "pub struct Two;\nfn g() { crate::three::f() }";
    const OPEN: &str = "pub struct Two;";

    #[test]
    fn a_planted_circle_is_found() {
        let sources = planted(CLOSED);
        assert_eq!(circles(&sources)[0].files.len(), 3);
        assert_eq!(
            found(&sources),
            [
                "crates/a/src/one.rs:1",
                "crates/a/src/three.rs:1",
                "crates/a/src/two.rs:2"
            ]
        );
        assert_eq!(found(&planted(OPEN)), [""; 0]);
    }
}
