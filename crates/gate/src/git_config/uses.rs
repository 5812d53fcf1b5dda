//! From settings to what git would run or read in the workspace (GIT-27).

use std::path::{Path, PathBuf};

use lazaret_tree::escape;
use lazaret_validator::{Covers, GitConfig, GitUse, Severity};

use super::environment::GitEnvironment;
use super::hooks::hooks;
use super::keys::{VARIABLES, Value, is_truth, value_of};
use super::parse::split;
use super::path_resolver::{PathResolver, Spot};
use super::places::{of_the_user, without_option};
use super::settings::{Scope, Setting, Settings, is_include};

/// Notes everything in the workspace that the settings have git run or read.
pub(super) fn note(
    settings: &Settings,
    env: GitEnvironment<'_>,
    resolver: &PathResolver,
    git: &mut GitConfig,
) {
    let mut uses = Uses {
        resolver,
        bases: bases(settings),
        git,
    };
    for file in &settings.files {
        uses.file(file);
    }
    for setting in &settings.list {
        uses.setting(setting);
    }
    for (name, value) in VARIABLES {
        if let Some(set) = env.variables.get(*name).filter(|set| !set.is_empty()) {
            let bases = uses.bases.of(Scope::Everywhere);
            let reason = format!("`${name}` of your environment runs it");
            uses.value(set.as_encoded_bytes(), *value, &bases, &reason);
        }
    }
    for (name, value) in [("attributes", Value::Decides), ("ignore", Value::Reads)] {
        if let Some(file) = of_the_user(env, name) {
            let reason = format!("git reads it as {}", resolver.shown(&file));
            uses.value(file.as_os_str().as_encoded_bytes(), value, &[], &reason);
        }
    }
    for (index, repository) in settings.repositories.iter().enumerate() {
        let bases = uses.bases.of(Scope::Repository(index));
        for dir in repository.in_both("hooks") {
            let reason = format!("git runs hooks from it, as {}", resolver.shown(&dir));
            let spots = resolver.path(dir.as_os_str().as_encoded_bytes(), &[], Covers::Below);
            uses.add(spots, Severity::Block, &reason);
            uses.hooks_in(&dir, &bases);
        }
    }
}

/// What relative paths are relative to.
struct Bases {
    /// By repository: the top of its work tree, and where its own hooks run.
    repositories: Vec<Vec<PathBuf>>,
}

impl Bases {
    fn of(&self, scope: Scope) -> Vec<PathBuf> {
        match scope {
            Scope::Everywhere => self.repositories.concat(),
            Scope::Repository(index) => self.repositories.get(index).cloned().unwrap_or_default(),
        }
    }
}

fn bases(settings: &Settings) -> Bases {
    let repositories = settings.repositories.iter();
    let mut repositories: Vec<Vec<PathBuf>> = repositories
        .map(|repository| vec![repository.top.clone(), repository.git_dir.clone()])
        .collect();
    for setting in &settings.list {
        if let Scope::Repository(index) = setting.scope
            && setting.variable.name.eq_ignore_ascii_case(b"core.worktree")
            && let Some(bases) = repositories.get_mut(index)
            && let Some(repository) = settings.repositories.get(index)
            && let Ok(worktree) = std::str::from_utf8(setting.variable.value())
        {
            bases.push(repository.git_dir.join(worktree));
        }
    }
    Bases { repositories }
}

struct Uses<'a> {
    resolver: &'a PathResolver,
    bases: Bases,
    git: &'a mut GitConfig,
}

impl Uses<'_> {
    /// Adds places, those in a `.git` left out: it never crosses.
    fn add(&mut self, spots: Vec<Spot>, severity: Severity, reason: &str) {
        let crosses = |spot: &Spot| {
            let mut names = spot.place.iter().flat_map(|place| place.components());
            names.all(|name| name != ".git")
        };
        for Spot { place, covers } in spots.into_iter().filter(crosses) {
            self.git.add_use(GitUse {
                place,
                covers,
                severity,
                reason: reason.to_owned(),
            });
        }
    }

    /// A file of the configuration may itself lie in the workspace, or be a link to there.
    fn file(&mut self, file: &Path) {
        let mut spots = Vec::new();
        self.resolver.add(file, Covers::Itself, &mut spots);
        let shown = self.resolver.shown(file);
        let reason = format!("git reads it as your configuration, by the name {shown}");
        self.add(spots, Severity::Block, &reason);
    }

    fn setting(&mut self, setting: &Setting) {
        let name = &setting.variable.name;
        let source = match &setting.file {
            Some(file) => self.resolver.shown(file),
            None => "your environment".to_owned(),
        };
        let bases = self.bases.of(setting.scope);
        let value = setting.variable.value();
        if is_include(&setting.variable) {
            // Relative to the file that has it.
            let dir = setting.file.as_deref().and_then(Path::parent);
            let bases: Vec<PathBuf> = dir.map(Path::to_owned).into_iter().collect();
            let spots = self
                .resolver
                .path(without_option(value), &bases, Covers::Itself);
            let key = escape(name);
            let reason = format!("`{key}` of {source} reads it as your configuration");
            return self.add(spots, Severity::Block, &reason);
        }
        let (section, subsection, key) = split(name);
        // An address in the name of a section, by which others are replaced.
        if section.eq_ignore_ascii_case(b"url") {
            let reason = format!("`{}` of {source} runs it", escape(name));
            return self.value(
                subsection.unwrap_or_default(),
                Value::Address,
                &bases,
                &reason,
            );
        }
        let Some((meaning, spelled)) = value_of(name) else {
            return;
        };
        let mut shown = escape(name);
        if spelled != "*" {
            shown.truncate(shown.len().saturating_sub(key.len()));
            shown.push_str(spelled);
        }
        let verb = match meaning {
            Value::Reads => "reads it",
            Value::Decides => "reads it to choose what runs",
            Value::Templates => "copies from it what runs",
            _ => "runs it",
        };
        let reason = format!("`{shown}` of {source} {verb}");
        if meaning == Value::Hooks {
            for dir in self.resolver.full(without_option(value), &bases) {
                self.hooks_in(&dir, &bases);
            }
        }
        self.value(value, meaning, &bases, &reason);
    }

    fn value(&mut self, value: &[u8], meaning: Value, bases: &[PathBuf], reason: &str) {
        let resolver = self.resolver;
        let path = |covers| resolver.path(without_option(value.trim_ascii()), bases, covers);
        let (spots, severity) = match meaning {
            Value::Command if is_truth(value) => return,
            Value::Command => {
                let mut spots = path(Covers::Itself);
                spots.retain(|spot| spot.place.is_some());
                self.add(spots, Severity::Block, reason);
                return self.command(value, bases, reason);
            }
            Value::Bang => match value.strip_prefix(b"!") {
                Some(line) => return self.command(line, bases, reason),
                None => return,
            },
            Value::Helper => match value.strip_prefix(b"!") {
                Some(line) => return self.command(line, bases, reason),
                None if value.starts_with(b"/") || value.starts_with(b"~") => {
                    return self.command(value, bases, reason);
                }
                // `git-credential-NAME` is found where programs are; what follows is handed on.
                None => {
                    let blank = value.iter().position(u8::is_ascii_whitespace);
                    let rest = &value[blank.unwrap_or(value.len())..];
                    return self.command(&[b"credential ", rest].concat(), bases, reason);
                }
            },
            Value::Alias => match value.strip_prefix(b"!") {
                Some(line) => return self.command(line, bases, reason),
                // Options of git that take a command line.
                None => {
                    let text = String::from_utf8_lossy(value);
                    let mut words = text.split_ascii_whitespace();
                    let takes = |word: &str| {
                        matches!(word, "run" | "--extcmd" | "filter-branch")
                            || [
                                "-c",
                                "-x",
                                "-O",
                                "--exec",
                                "--open",
                                "--upload",
                                "--receive",
                            ]
                            .iter()
                            .any(|option| word.starts_with(option))
                    };
                    match words.any(takes) {
                        true => return self.command(value, bases, reason),
                        false => return,
                    }
                }
            },
            Value::Address => match value.strip_prefix(b"ext::") {
                Some(line) => return self.command(line, bases, reason),
                None => return,
            },
            Value::Hooks => (path(Covers::Below), Severity::Block),
            Value::Templates => (path(Covers::Below), Severity::Block),
            Value::Decides => (path(Covers::Itself), Severity::Block),
            Value::Reads => (path(Covers::Itself), Severity::Warn),
        };
        // In the root itself only what is called as a hook is one.
        let spots = spots.into_iter().map(|spot| match &spot.place {
            None => Spot {
                covers: Covers::Hooks,
                ..spot
            },
            Some(_) => spot,
        });
        self.add(spots.collect(), severity, reason);
    }

    fn command(&mut self, line: &[u8], bases: &[PathBuf], reason: &str) {
        match self.resolver.command(line, bases) {
            Some(spots) => self.add(spots, Severity::Block, reason),
            None => {
                let problem = format!("{reason}: the command line has too many words");
                self.git.note_unreadable(problem);
            }
        }
    }

    /// Hooks that lie elsewhere may be links to here, or name what lies here.
    fn hooks_in(&mut self, dir: &Path, bases: &[PathBuf]) {
        match hooks(dir, self.resolver, bases) {
            Ok(found) => {
                for hook in found {
                    let shown = self.resolver.shown(&hook.path);
                    let reason = format!("git runs it as the hook {shown}");
                    self.add(hook.linked, Severity::Block, &reason);
                    let reason = format!("the hook {shown} names it");
                    self.add(hook.named, Severity::Warn, &reason);
                }
            }
            Err(error) => {
                let shown = self.resolver.shown(dir);
                let problem = format!("cannot read the hooks in {shown}: {error}");
                self.git.note_unreadable(problem);
            }
        }
    }
}
