//! `Paths`: where the workspace is, on the editor's machine and inside.

use std::path::Path;

/// Where the workspace is inside.
const INSIDE: &str = "/workspace";

/// Maps paths of the workspace between the editor and the agent. Nothing outside of it is mapped.
#[derive(Debug, Clone)]
pub struct Paths {
    /// The ways to name the workspace's directory, without a slash at the end.
    names: Vec<String>,
    /// That which the editor used last.
    shown: usize,
}

impl Paths {
    /// Maps `workspace`, which has no link in it, and which `others` name too.
    pub fn new<'a>(workspace: &'a Path, others: impl IntoIterator<Item = &'a Path>) -> Self {
        let mut names: Vec<String> = Vec::new();
        for path in std::iter::once(workspace).chain(others) {
            let name = path.to_str().and_then(parts);
            let name = name.map(|parts| joined("", &parts));
            names.extend(name.filter(|name| !names.contains(name)));
        }
        Self { names, shown: 0 }
    }

    /// Returns where a path of the editor's is inside; `None` if it lies outside of the workspace.
    pub fn to_inside(&self, path: &str) -> Option<String> {
        self.find(path).map(|(inside, _)| inside)
    }

    /// As [`Paths::to_inside`]; the workspace is named as `path` does from then on.
    pub(crate) fn remember_inside(&mut self, path: &str) -> Option<String> {
        let (inside, name) = self.find(path)?;
        self.shown = name;
        Some(inside)
    }

    fn find(&self, path: &str) -> Option<(String, usize)> {
        let clean = joined("", &parts(path)?);
        self.names.iter().enumerate().find_map(|(index, name)| {
            let rest = clean.strip_prefix(name.as_str())?;
            let is_below = rest.is_empty() || rest.starts_with('/');
            is_below.then(|| (format!("{INSIDE}{rest}"), index))
        })
    }

    /// Returns where a path of the agent's is for the editor; `None` if it lies outside of the
    /// workspace.
    pub fn to_host(&self, path: &str) -> Option<String> {
        let clean = joined("", &parts(path)?);
        let rest = clean.strip_prefix(INSIDE)?;
        let name = self.names.get(self.shown)?;
        (rest.is_empty() || rest.starts_with('/')).then(|| format!("{name}{rest}"))
    }
}

/// Splits an absolute path; `None` if it is relative, or has `..` in it, which leads somewhere else
/// behind a link.
fn parts(path: &str) -> Option<Vec<&str>> {
    let path = path.strip_prefix('/')?;
    let parts: Vec<&str> = (path.split('/'))
        .filter(|part| !part.is_empty() && *part != ".")
        .collect();
    match parts.contains(&"..") {
        true => None,
        false => Some(parts),
    }
}

fn joined(start: &str, parts: &[&str]) -> String {
    let mut path = start.to_owned();
    for part in parts {
        path.push('/');
        path.push_str(part);
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_of_the_workspace_are_mapped() {
        let mut paths = Paths::new(Path::new("/home/u/p"), [Path::new("/link/p/")]);
        for (host, inside) in [
            ("/home/u/p", Some("/workspace")),
            ("/home/u/p/", Some("/workspace")),
            ("/home/u/p//a/./b", Some("/workspace/a/b")),
            ("/link/p/a", Some("/workspace/a")),
            ("/home/u/pp", None),
            ("/home/u", None),
            ("/", None),
            ("", None),
            ("a", None),
            ("/home/u/p/../q", None),
            ("/home/u/p/a/../b", None),
            ("/workspace/a", None),
        ] {
            assert_eq!(paths.to_inside(host).as_deref(), inside, "{host}");
        }
        for (inside, host) in [
            ("/workspace", Some("/home/u/p")),
            ("/workspace/a b", Some("/home/u/p/a b")),
            ("/workspaces", None),
            ("/workspace/../etc/passwd", None),
            ("/etc/passwd", None),
            ("/home/u/p/a", None),
            ("..", None),
        ] {
            assert_eq!(paths.to_host(inside).as_deref(), host, "{inside}");
        }
        paths.remember_inside("/link/p").unwrap();
        assert_eq!(paths.to_host("/workspace/a").unwrap(), "/link/p/a");
    }
}
