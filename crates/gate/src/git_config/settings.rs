//! `Settings`: every variable that git could read here, with the file that has it.
//!
//! What is read is more than git would read at one place and time, never less: conditional
//! includes count whatever their condition says, because the branch or the directory may be
//! another one tomorrow, and what git stops at as an error is skipped and said.

use std::collections::{HashSet, VecDeque};
use std::path::{Path, PathBuf};

use lazaret_tree::{RelPath, Tree, escape};
use lazaret_validator::ExcludeFile;

use super::environment::GitEnvironment;
use super::parse::{Variable, parse, split};
use super::path_resolver::PathResolver;
use super::places::{self, Repository};
use super::{MOST_BYTES, is_absent, read};

/// The most bytes of all files together.
const MOST_BYTES_IN_ALL: u64 = 8 << 20;
/// The most files, included ones with them.
const MOST_FILES: usize = 4096;
/// How deep files may include others (git's own limit, `MAX_INCLUDE_DEPTH`).
const DEEPEST: usize = 10;
/// The most repositories.
const MOST_REPOSITORIES: usize = 1024;

/// Everything that was found.
#[derive(Debug, Default)]
pub(super) struct Settings {
    pub(super) list: Vec<Setting>,
    /// The files that no other one includes. They need not be there.
    pub(super) files: Vec<PathBuf>,
    /// The repository that the workspace is in comes first, if it is in one.
    pub(super) repositories: Vec<Repository>,
    /// What could not be read, and why.
    pub(super) unreadable: Vec<String>,
    /// What git stops at.
    pub(super) broken: Vec<String>,
}

/// One variable.
#[derive(Debug)]
pub(super) struct Setting {
    pub(super) variable: Variable,
    /// The file that has it; `None` of the environment.
    pub(super) file: Option<PathBuf>,
    /// Where it holds.
    pub(super) scope: Scope,
}

/// Where a variable holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Scope {
    Everywhere,
    /// In one of [`Settings::repositories`].
    Repository(usize),
}

impl Settings {
    /// Reads what git would when it runs in `workspace`: the system's, the user's and the
    /// repositories' configuration, what they include, and the variables `GIT_CONFIG_*`.
    /// `tree` tells the directories that may hold another repository.
    pub(super) fn read(
        env: GitEnvironment<'_>,
        workspace: &Path,
        tree: &Tree,
        resolver: &PathResolver,
    ) -> Self {
        let mut settings = Self::default();
        settings.find_repositories(env, workspace, tree);
        let mut reading = Reading {
            resolver,
            home: env.home().map(Path::to_owned),
            settings,
            open: VecDeque::new(),
            seen: HashSet::new(),
            left: MOST_BYTES_IN_ALL,
        };
        let add = |path, scope| Source {
            path,
            scope,
            depth: 0,
        };
        let everywhere = places::files(env).into_iter();
        reading
            .open
            .extend(everywhere.map(|file| add(file, Scope::Everywhere)));
        for (index, repository) in reading.settings.repositories.iter().enumerate() {
            let files = repository.files().into_iter();
            reading
                .open
                .extend(files.map(|file| add(file, Scope::Repository(index))));
        }
        let found = reading.open.iter().map(|source| source.path.clone());
        reading.settings.files = found.collect();
        for (name, value) in places::variables(env) {
            let variable = Variable {
                name: name.into_bytes(),
                value: Some(value.into_bytes()),
            };
            reading.variable(variable, None);
        }
        while let Some(source) = reading.open.pop_front() {
            reading.file(&source);
        }
        reading.settings
    }

    fn find_repositories(&mut self, env: GitEnvironment<'_>, workspace: &Path, tree: &Tree) {
        let unreadable = |dir: &Path, error: &std::io::Error| {
            format!("cannot read the repository of {}: {error}", shown(dir))
        };
        match Repository::around(workspace) {
            Ok(found) => self.repositories.extend(found),
            Err(error) => self.unreadable.push(unreadable(workspace, &error)),
        }
        // What the user's shell says holds wherever it is.
        if let Some(git_dir) = env.variables.get("GIT_DIR").filter(|dir| !dir.is_empty()) {
            let top = env.variables.get("GIT_WORK_TREE");
            let top = top.map_or_else(|| env.cwd.to_owned(), |top| env.cwd.join(top));
            match Repository::new(top, env.cwd.join(git_dir)) {
                Ok(found) => self.repositories.push(found),
                Err(error) => self.unreadable.push(unreadable(workspace, &error)),
            }
        }
        for repository in self.repositories.clone() {
            match repository.others() {
                Ok(others) => self.repositories.extend(others),
                Err(error) => self.unreadable.push(unreadable(&repository.common, &error)),
            }
        }
        let dirs = tree.iter().filter(|(path, entry)| {
            **entry == lazaret_tree::Entry::Dir && path.components().next() != Some(".git")
        });
        for (dir, _) in dirs {
            let dir = workspace.join(RelPath::as_str(dir));
            match Repository::at(&dir) {
                Ok(found) => self.repositories.extend(found),
                Err(error) => self.unreadable.push(unreadable(&dir, &error)),
            }
        }
        if self.repositories.len() > MOST_REPOSITORIES {
            let text = format!("there are more than {MOST_REPOSITORIES} repositories");
            self.unreadable.push(text);
            self.repositories.truncate(MOST_REPOSITORIES);
        }
    }
}

/// A file, and how it was found.
struct Source {
    path: PathBuf,
    scope: Scope,
    /// How many files include each other on the way to it.
    depth: usize,
}

struct Reading<'a> {
    resolver: &'a PathResolver,
    home: Option<PathBuf>,
    settings: Settings,
    /// Still to be read.
    open: VecDeque<Source>,
    seen: HashSet<(PathBuf, Scope)>,
    left: u64,
}

impl Reading<'_> {
    fn file(&mut self, source: &Source) {
        let path = &source.path;
        if !self.seen.insert((path.clone(), source.scope)) {
            return;
        }
        let shown = self.resolver.shown(path);
        let mut unreadable = |text| self.settings.unreadable.push(text);
        if source.depth > DEEPEST {
            return unreadable(format!(
                "{shown} is included over more than {DEEPEST} other files"
            ));
        }
        if self.seen.len() > MOST_FILES {
            return unreadable(format!("it is in more than {MOST_FILES} files"));
        }
        let bytes = match read(path, MOST_BYTES.min(self.left)) {
            Ok(bytes) => bytes,
            Err(error) if is_absent(&error) => return,
            Err(error) => return unreadable(format!("cannot read {shown}: {error}")),
        };
        self.left -= bytes.len() as u64;
        let parsed = parse(&bytes);
        if let Some(line) = parsed.mistake {
            let text = format!("line {line} of {shown} is no configuration");
            self.settings.broken.push(text);
        }
        for variable in parsed.variables {
            self.variable(variable, Some(source));
        }
    }

    /// Takes one variable of a file or of the environment, and follows an include.
    fn variable(&mut self, variable: Variable, source: Option<&Source>) {
        let scope = source.map_or(Scope::Everywhere, |source| source.scope);
        let file = source.map(|source| &*source.path);
        if is_include(&variable) && !variable.value().is_empty() {
            let dir = file.and_then(Path::parent).unwrap_or(Path::new("/"));
            match places::included(variable.value(), dir, self.home.as_deref()) {
                Some(path) => self.open.push_back(Source {
                    path,
                    scope,
                    depth: source.map_or(0, |source| source.depth) + 1,
                }),
                None => {
                    let value = escape(variable.value());
                    let text = format!("cannot tell where the include `{value}` is");
                    self.settings.unreadable.push(text);
                }
            }
        }
        self.settings.list.push(Setting {
            variable,
            file: file.map(Path::to_owned),
            scope,
        });
    }
}

/// Reads the ignore files that git reads beside those of the workspace, the strongest first:
/// of the directories above it, the repository's own, and the user's.
pub(super) fn excludes(
    settings: &Settings,
    env: GitEnvironment<'_>,
    workspace: &Path,
) -> Vec<ExcludeFile> {
    let mut files = Vec::new();
    let around = settings.repositories.first();
    let around = around.filter(|around| workspace.starts_with(&around.top));
    let top = around.map_or(workspace, |around| &*around.top);
    if let Some(repository) = around {
        let above = workspace.ancestors().skip(1);
        let above = above.take_while(|dir| dir.starts_with(top));
        files.extend(above.map(|dir| (dir.join(".gitignore"), dir)));
        let own = repository.in_both("info/exclude").into_iter();
        files.extend(own.map(|file| (file, top)));
    }
    let named = settings.list.iter().filter(|setting| {
        let name = &setting.variable.name;
        name.eq_ignore_ascii_case(b"core.excludesfile")
    });
    let home = env.home();
    let named =
        named.filter_map(|setting| places::included(setting.variable.value(), workspace, home));
    let before = files.len();
    files.extend(named.map(|file| (file, top)));
    if files.len() == before {
        let usual = places::of_the_user(env, "ignore").into_iter();
        files.extend(usual.map(|file| (file, top)));
    }
    let read = |(file, from): &(PathBuf, &Path)| {
        let below = workspace.strip_prefix(from).ok()?;
        Some(ExcludeFile {
            contents: read(file, MOST_BYTES).ok()?,
            workspace: below.to_str()?.to_owned(),
        })
    };
    files.iter().filter_map(read).collect()
}

/// Whether a variable is `include.path` or `includeIf.<condition>.path`.
pub(super) fn is_include(variable: &Variable) -> bool {
    let (section, subsection, key) = split(&variable.name);
    let includes = section.eq_ignore_ascii_case(b"include") && subsection.is_none()
        || section.eq_ignore_ascii_case(b"includeif") && subsection.is_some();
    includes && key.eq_ignore_ascii_case(b"path")
}

/// Escapes a path for messages.
fn shown(path: &Path) -> String {
    escape(path.as_os_str().as_encoded_bytes())
}
