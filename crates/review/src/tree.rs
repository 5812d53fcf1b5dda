//! `Outline`: items as a tree of directories, and the rows of it that are on show.

use std::collections::BTreeSet;
use std::ops::Range;

use super::branch::CommitAt;
use super::item::Item;

/// A directory of the outline.
#[derive(Debug, Clone)]
struct Dir {
    /// Its last component.
    name: String,
    /// All items at or below it; they lie together.
    items: Range<usize>,
    /// The change of the directory itself, if it is one.
    own: Option<usize>,
    children: Vec<Node>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Node {
    Dir(usize),
    File(usize),
}

/// The items as a tree. Items are in path order, so that what is below a directory lies
/// together.
#[derive(Debug, Clone)]
pub struct Outline {
    dirs: Vec<Dir>,
    top: Vec<Node>,
}

/// What a row of the list stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowKind {
    /// A directory.
    Dir(Box<DirRow>),
    /// An item that is not a directory with something in it.
    File(usize),
    /// The heading of the commits.
    Commits,
    /// A branch.
    Branch(BranchRow),
    /// A commit of a branch.
    Commit(CommitAt),
}

/// A branch as a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BranchRow {
    /// Its place in the list.
    pub branch: usize,
    /// Whether its commits are hidden.
    pub is_closed: bool,
}

/// What the diff pane shows the contents of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Body {
    /// An item.
    Item(usize),
    /// A commit.
    Commit(CommitAt),
}

/// What a row stands for, whatever is on show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RowKey {
    Body(Body),
    Dir(usize),
    Commits,
    Branch(usize),
}

/// A directory as a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirRow {
    /// One component, or several for directories that hold nothing else.
    pub name: String,
    /// Stable over all changes of what is on show.
    pub id: usize,
    /// Items at or below it.
    pub items: Range<usize>,
    /// Its own change.
    pub own: Option<usize>,
    /// Whether its contents are hidden.
    pub is_closed: bool,
}

/// A row of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// How deep it is indented.
    pub depth: usize,
    /// What it stands for.
    pub kind: RowKind,
}

impl Row {
    /// Returns the name: that of a file is the last component of its item's path, and there
    /// are too many to have it twice. Rows of commits have none here.
    pub fn name<'a>(&'a self, items: &'a [Item]) -> &'a str {
        match &self.kind {
            RowKind::Dir(dir) => &dir.name,
            RowKind::File(item) => {
                let path = &*items[*item].path;
                let is_path = !path.split('/').any(|part| matches!(part, "" | "." | ".."));
                match path.rsplit_once('/') {
                    Some((_, name)) if is_path => name,
                    _ => path,
                }
            }
            RowKind::Commits | RowKind::Branch(_) | RowKind::Commit(_) => "",
        }
    }

    /// Returns the item whose contents are shown beside it.
    pub fn item(&self) -> Option<usize> {
        match &self.kind {
            RowKind::Dir(dir) => dir.own,
            RowKind::File(item) => Some(*item),
            RowKind::Commits | RowKind::Branch(_) | RowKind::Commit(_) => None,
        }
    }

    /// Returns the items that it stands for; none for a row of commits.
    pub fn items(&self) -> Range<usize> {
        match &self.kind {
            RowKind::Dir(dir) => dir.items.clone(),
            RowKind::File(item) => *item..item + 1,
            RowKind::Commits | RowKind::Branch(_) | RowKind::Commit(_) => 0..0,
        }
    }

    /// Returns what the diff pane shows the contents of.
    pub(super) fn body(&self) -> Option<Body> {
        match &self.kind {
            RowKind::Commit(at) => Some(Body::Commit(*at)),
            _ => self.item().map(Body::Item),
        }
    }

    /// Returns the branch that it stands for or lies in.
    pub(super) fn branch(&self) -> Option<usize> {
        match &self.kind {
            RowKind::Branch(row) => Some(row.branch),
            RowKind::Commit(at) => Some(at.branch),
            RowKind::Commits | RowKind::Dir(_) | RowKind::File(_) => None,
        }
    }

    /// Whether it is the heading of the commits or below it.
    pub(super) fn is_of_commits(&self) -> bool {
        !matches!(self.kind, RowKind::Dir(_) | RowKind::File(_))
    }

    pub(super) fn key(&self) -> RowKey {
        match (&self.kind, self.body()) {
            (_, Some(body)) => RowKey::Body(body),
            (RowKind::Dir(dir), None) => RowKey::Dir(dir.id),
            (RowKind::Branch(row), None) => RowKey::Branch(row.branch),
            (_, None) => RowKey::Commits,
        }
    }
}

impl Outline {
    /// Makes the tree of items that are in path order.
    pub fn new(items: &[Item]) -> Self {
        let mut outline = Self {
            dirs: Vec::new(),
            top: Vec::new(),
        };
        let mut open: Vec<usize> = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let mut components: Vec<&str> = item.path.split('/').collect();
            // What is no path is one name, whatever it looks like.
            if components
                .iter()
                .any(|part| matches!(*part, "" | "." | ".."))
            {
                components = vec![&item.path];
            }
            let above = &components[..components.len() - 1];
            let common = open
                .iter()
                .zip(above)
                .take_while(|(dir, part)| outline.dirs[**dir].name == **part)
                .count();
            open.truncate(common);
            for part in &above[common..] {
                let id = outline.add_dir(open.last().copied(), part, index);
                open.push(id);
            }
            for dir in &open {
                outline.dirs[*dir].items.end = index + 1;
            }
            // A directory's own change comes right before what is below it.
            if item.is_dir {
                let name = components[components.len() - 1];
                let id = outline.add_dir(open.last().copied(), name, index);
                outline.dirs[id].own = Some(index);
                outline.dirs[id].items.end = index + 1;
                open.push(id);
            } else {
                outline.add(open.last().copied(), Node::File(index));
            }
        }
        outline
    }

    fn add_dir(&mut self, parent: Option<usize>, name: &str, first: usize) -> usize {
        let id = self.dirs.len();
        self.dirs.push(Dir {
            name: name.to_owned(),
            items: first..first,
            own: None,
            children: Vec::new(),
        });
        self.add(parent, Node::Dir(id));
        id
    }

    fn add(&mut self, parent: Option<usize>, node: Node) {
        match parent {
            Some(parent) => self.dirs[parent].children.push(node),
            None => self.top.push(node),
        }
    }

    /// Lists the rows on show, given which items are wanted and which directories are closed.
    pub fn rows(&self, wanted: &[bool], closed: &BTreeSet<usize>) -> Vec<Row> {
        let mut rows = Vec::new();
        self.list(&self.top, 0, wanted, closed, &mut rows);
        rows
    }

    fn list(
        &self,
        nodes: &[Node],
        depth: usize,
        wanted: &[bool],
        closed: &BTreeSet<usize>,
        rows: &mut Vec<Row>,
    ) {
        for &node in nodes {
            match node {
                Node::File(item) if wanted[item] => rows.push(Row {
                    depth,
                    kind: RowKind::File(item),
                }),
                Node::File(_) => {}
                Node::Dir(id) => {
                    if !self.is_wanted(id, wanted) {
                        continue;
                    }
                    let (id, name) = self.chain(id, wanted);
                    let dir = &self.dirs[id];
                    let is_closed = closed.contains(&id);
                    rows.push(Row {
                        depth,
                        kind: RowKind::Dir(Box::new(DirRow {
                            name,
                            id,
                            items: dir.items.clone(),
                            own: dir.own,
                            is_closed,
                        })),
                    });
                    if !is_closed {
                        self.list(&dir.children, depth + 1, wanted, closed, rows);
                    }
                }
            }
        }
    }

    fn is_wanted(&self, id: usize, wanted: &[bool]) -> bool {
        wanted[self.dirs[id].items.clone()].contains(&true)
    }

    /// Joins directories that hold nothing on show but one directory.
    fn chain(&self, mut id: usize, wanted: &[bool]) -> (usize, String) {
        let mut name = format!("{}/", self.dirs[id].name);
        loop {
            let dir = &self.dirs[id];
            if dir.own.is_some_and(|own| wanted[own]) {
                return (id, name);
            }
            let mut shown = dir.children.iter().filter(|child| match child {
                Node::Dir(child) => self.is_wanted(*child, wanted),
                Node::File(item) => wanted[*item],
            });
            let (Some(Node::Dir(only)), None) = (shown.next(), shown.next()) else {
                return (id, name);
            };
            id = *only;
            name.push_str(&format!("{}/", self.dirs[id].name));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::item::Sign;
    use super::super::item::tests::item;
    use super::*;

    fn items(paths: &[&str]) -> Vec<Item> {
        let make = |path: &&str| {
            let mut item = item(Sign::Modified, path.trim_end_matches('/'));
            item.is_dir = path.ends_with('/');
            item
        };
        paths.iter().map(make).collect()
    }

    fn show(items: &[Item], wanted: impl Fn(&Item) -> bool, closed: &[usize]) -> String {
        let wanted: Vec<bool> = items.iter().map(wanted).collect();
        let closed = closed.iter().copied().collect();
        let mut text = String::new();
        for row in Outline::new(items).rows(&wanted, &closed) {
            let what = match row.kind.clone() {
                RowKind::Dir(dir) => format!("dir {} {:?} {:?}", dir.id, dir.items, dir.own),
                RowKind::File(item) => format!("file {item}"),
                other => format!("{other:?}"),
            };
            let indent = "  ".repeat(row.depth);
            text.push_str(&format!("{indent}{} ({what})\n", row.name(items)));
        }
        text
    }

    #[test]
    fn directories_that_hold_only_one_are_joined() {
        let items = items(&[
            "a.txt",
            "src/gate/one.rs",
            "src/gate/two.rs",
            "src/gate/x/y.rs",
        ]);
        insta::assert_snapshot!(show(&items, |_| true, &[]), @r"
        a.txt (file 0)
        src/gate/ (dir 1 1..4 None)
          one.rs (file 1)
          two.rs (file 2)
          x/ (dir 2 3..4 None)
            y.rs (file 3)
        ");
        insta::assert_snapshot!(show(&items, |item| item.path.contains('y'), &[]), @r"
        src/gate/x/ (dir 2 3..4 None)
          y.rs (file 3)
        ");
        insta::assert_snapshot!(show(&items, |_| true, &[1]), @r"
        a.txt (file 0)
        src/gate/ (dir 1 1..4 None)
        ");
    }

    #[test]
    fn a_new_directory_is_a_row_with_a_change_of_its_own() {
        let items = items(&["empty/", "new/", "new/a", "new/b/", "new/b/c", "z"]);
        insta::assert_snapshot!(show(&items, |_| true, &[]), @r"
        empty/ (dir 0 0..1 Some(0))
        new/ (dir 1 1..5 Some(1))
          a (file 2)
          b/ (dir 2 3..5 Some(3))
            c (file 4)
        z (file 5)
        ");
    }

    #[test]
    fn a_name_that_is_no_path_is_one_row() {
        let items = items(&["../x", "/etc/passwd", "a/../b", "."]);
        insta::assert_snapshot!(show(&items, |_| true, &[]), @r"
        ../x (file 0)
        /etc/passwd (file 1)
        a/../b (file 2)
        . (file 3)
        ");
    }

    #[test]
    fn equal_names_under_different_parents_stay_apart() {
        let items = items(&["a/lib/x", "b/lib/x"]);
        insta::assert_snapshot!(show(&items, |_| true, &[]), @r"
        a/lib/ (dir 1 0..1 None)
          x (file 0)
        b/lib/ (dir 3 1..2 None)
          x (file 1)
        ");
    }
}
