//! `Project`: which tools a directory is worked on with, by the files at its root and one level
//! below.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

use rustix::fs::{Mode, OFlags};

/// The most entries of a directory that are looked at.
const MOST_ENTRIES: usize = 1000;
/// The most bytes of a lockfile that are looked at.
const MOST_BYTES: u64 = 16 << 20;
/// Directories whose files are other people's.
const NOT_THE_PROJECTS: [&str; 4] = ["node_modules", "target", "third_party", "vendor"];
/// How lockfiles name a dependency that is fetched by git.
const GIT_DEPENDENCY: [&str; 3] = [
    concat!("git+https://git", "hub.com/"),
    concat!("git+ssh://git@git", "hub.com/"),
    concat!("git = \"https://git", "hub.com/"),
];

/// What lazaret has an image, a preset of hosts and a cache for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Toolchain {
    /// Cargo.
    Rust,
    /// Go.
    Go,
    /// npm and its like.
    Node,
    /// pip and uv.
    Python,
}

/// Files that say what a directory is worked on with.
const MARKS: [(&str, Toolchain); 10] = [
    ("Cargo.toml", Toolchain::Rust),
    ("Pipfile", Toolchain::Python),
    ("go.mod", Toolchain::Go),
    ("go.work", Toolchain::Go),
    ("package.json", Toolchain::Node),
    ("pyproject.toml", Toolchain::Python),
    ("requirements.txt", Toolchain::Python),
    ("setup.cfg", Toolchain::Python),
    ("setup.py", Toolchain::Python),
    ("uv.lock", Toolchain::Python),
];

/// Files of tools that no image of lazaret has.
const WITHOUT_IMAGE: [(&str, &str); 11] = [
    ("CMakeLists.txt", "CMake"),
    ("Gemfile", "Ruby"),
    ("Package.swift", "Swift"),
    ("build.gradle", "Gradle"),
    ("build.gradle.kts", "Gradle"),
    ("build.zig", "Zig"),
    ("composer.json", "PHP"),
    ("deno.json", "Deno"),
    ("mix.exs", "Elixir"),
    ("pom.xml", "Maven"),
    ("pubspec.yaml", "Dart"),
];

/// Files that may name dependencies that are fetched by git.
const LOCKFILES: [&str; 4] = ["Cargo.lock", "package-lock.json", "uv.lock", "yarn.lock"];

impl Toolchain {
    /// Returns what people call it.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Rust => "Cargo",
            Self::Go => "Go",
            Self::Node => "npm",
            Self::Python => "Python",
        }
    }

    /// Returns the image that has it.
    pub(super) fn image(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::Go => "go",
            Self::Node => "node",
            Self::Python => "python",
        }
    }

    /// Returns the hosts that its dependencies come from.
    pub(super) fn preset(self) -> &'static str {
        match self {
            Self::Rust => "@crates",
            Self::Go => "@go",
            Self::Node => "@npm",
            Self::Python => "@pypi",
        }
    }

    /// Returns the cache that its downloads lie in.
    pub(super) fn cache(self) -> &'static str {
        match self {
            Self::Rust => "cargo",
            Self::Go => "go",
            Self::Node => "npm",
            Self::Python => "uv",
        }
    }
}

/// What a project is worked on with.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Project {
    /// What lazaret has an image for.
    pub(super) toolchains: BTreeSet<Toolchain>,
    /// Names of tools that it has none for.
    pub(super) without_image: BTreeSet<&'static str>,
    /// Whether a lockfile names a repository that the preset `@github` reaches.
    pub(super) git_dependencies: bool,
}

impl Project {
    /// Looks at a directory. Links are not followed.
    ///
    /// # Errors
    /// It can't be listed.
    pub(super) fn of(dir: &Path) -> io::Result<Self> {
        let mut project = Self::default();
        for below in project.look_at(dir)? {
            // One that can't be read has nothing to say.
            drop(project.look_at(&below));
        }
        Ok(project)
    }

    /// Takes note of the files of one directory, and returns the directories in it.
    fn look_at(&mut self, dir: &Path) -> io::Result<Vec<std::path::PathBuf>> {
        let mut below = Vec::new();
        for entry in fs::read_dir(dir)?.take(MOST_ENTRIES) {
            let entry = entry?;
            let kind = entry.file_type()?;
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            if kind.is_dir() {
                if !name.starts_with('.') && !NOT_THE_PROJECTS.contains(&name.as_str()) {
                    below.push(entry.path());
                }
            } else if kind.is_file() {
                self.note(&name, &entry.path());
            }
        }
        Ok(below)
    }

    fn note(&mut self, name: &str, path: &Path) {
        if let Some((_, toolchain)) = MARKS.iter().find(|(mark, _)| *mark == name) {
            self.toolchains.insert(*toolchain);
        }
        if let Some((_, word)) = WITHOUT_IMAGE.iter().find(|(mark, _)| *mark == name) {
            self.without_image.insert(word);
        }
        if LOCKFILES.contains(&name) {
            // One that can't be read names none; a build says which host it misses.
            self.git_dependencies |= names_git(path).unwrap_or(false);
        }
    }
}

fn names_git(path: &Path) -> io::Result<bool> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    let mut bytes = Vec::new();
    file.take(MOST_BYTES).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    Ok(GIT_DEPENDENCY.iter().any(|start| text.contains(start)))
}

#[cfg(test)]
mod tests {
    use super::Toolchain::{Go, Node, Python, Rust};
    use super::*;

    #[test]
    fn a_project_is_what_its_files_say() {
        let table: [(&[&str], &[Toolchain], &[&str]); 10] = [
            (&["Cargo.toml", "src/lib.rs"], &[Rust], &[]),
            (&["package.json"], &[Node], &[]),
            (&["pyproject.toml", "uv.lock"], &[Python], &[]),
            (&["requirements.txt"], &[Python], &[]),
            (&["go.work", "mix.exs"], &[Go], &["Elixir"]),
            (&["Cargo.toml", "web/package.json"], &[Rust, Node], &[]),
            (&["go.mod", "ui/package.json"], &[Go, Node], &[]),
            (&["a/b/Cargo.toml", "README.md"], &[], &[]),
            (
                &["node_modules/x.py", "vendor/go.mod", ".x/Cargo.toml"],
                &[],
                &[],
            ),
            (&["pom.xml", "build.gradle"], &[], &["Gradle", "Maven"]),
        ];
        for (files, toolchains, others) in table {
            let dir = tempfile::tempdir().unwrap();
            for file in files {
                let path = dir.path().join(file);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, "").unwrap();
            }
            let project = Project::of(dir.path()).unwrap();
            let found: Vec<_> = project.toolchains.into_iter().collect();
            assert_eq!(found, toolchains, "{files:?}");
            let found: Vec<_> = project.without_image.into_iter().collect();
            assert_eq!(found, others, "{files:?}");
            assert!(!project.git_dependencies, "{files:?}");
        }
    }

    #[test]
    fn dependencies_by_git_are_found_and_links_and_fifos_are_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        let line = format!("source = \"{}a/b?rev=1\"", GIT_DEPENDENCY[0]);
        fs::write(outside.path().join("Cargo.lock"), &line).unwrap();
        fs::write(outside.path().join("Cargo.toml"), "").unwrap();
        std::os::unix::fs::symlink(outside.path(), dir.path().join("link")).unwrap();
        let lock = dir.path().join("Cargo.lock");
        std::os::unix::fs::symlink(outside.path().join("Cargo.lock"), &lock).unwrap();
        let fifo = dir.path().join("package.json");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &fifo,
            rustix::fs::FileType::Fifo,
            Mode::RUSR,
            0,
        )
        .unwrap();
        assert_eq!(Project::of(dir.path()).unwrap(), Project::default());
        fs::remove_file(&lock).unwrap();
        fs::write(&lock, line).unwrap();
        assert!(Project::of(dir.path()).unwrap().git_dependencies);
    }
}
