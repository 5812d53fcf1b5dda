//! What git would run or read in the workspace, for each form of a key, each place of a file
//! and each way to write a path (GIT-27).

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use lazaret_tree::{Entry, Tree};
use lazaret_validator::{GitConfig, Severity};

use super::configuration;
use super::path_resolver::PathResolver;
use super::settings::Settings;
use super::tests::Surroundings;

mod values;

/// A home, with a workspace `work` that is a repository.
struct World(tempfile::TempDir);

impl World {
    fn new() -> Self {
        let world = Self(tempfile::tempdir().unwrap());
        world.write("work/.git/HEAD", "ref: refs/heads/main\n");
        world
    }

    fn home(&self) -> PathBuf {
        self.0.path().canonicalize().unwrap()
    }

    fn work(&self) -> PathBuf {
        self.home().join("work")
    }

    fn write(&self, path: &str, text: &str) -> &Self {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    fn link(&self, path: &str, target: impl AsRef<Path>) -> &Self {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(target, path).unwrap();
        self
    }

    fn env(&self, more: &[(&str, &str)]) -> Surroundings {
        let home = self.home();
        let own = [
            ("HOME", home.to_str().unwrap()),
            ("GIT_CONFIG_NOSYSTEM", "1"),
        ];
        Surroundings::new(own.iter().chain(more).copied(), self.work())
    }

    fn git(&self) -> GitConfig {
        self.git_with(&[])
    }

    fn git_with(&self, more: &[(&str, &str)]) -> GitConfig {
        configuration(self.env(more).git(), &self.work(), &Tree::new())
    }

    /// What is said of a path.
    fn said(&self, path: &str) -> String {
        said(&self.git(), path)
    }
}

fn said(git: &GitConfig, path: &str) -> String {
    let uses = git.uses_of(path);
    let said: BTreeSet<String> = uses
        .iter()
        .map(|used| format!("{} {}", used.severity, used.reason))
        .collect();
    said.into_iter().collect::<Vec<_>>().join("; ")
}

/// Each place in which git looks for its configuration.
#[test]
fn git_27_each_place_of_a_file() {
    let text = "[core]\npager = ./page\n";
    for (file, variables) in [
        (".gitconfig", &[][..]),
        (".config/git/config", &[]),
        ("xdg/git/config", &[("XDG_CONFIG_HOME", "../xdg")]),
        ("x", &[("GIT_CONFIG_GLOBAL", "../x")]),
        (
            "x",
            &[("GIT_CONFIG_NOSYSTEM", "0"), ("GIT_CONFIG_SYSTEM", "../x")],
        ),
        ("work/.git/config", &[]),
        ("work/.git/config.worktree", &[]),
        ("work/.git/worktrees/other/config.worktree", &[]),
        ("elsewhere/config", &[("GIT_DIR", "../elsewhere")]),
    ] {
        let world = World::new();
        world.write(file, text);
        world.write("work/.git/worktrees/other/HEAD", "ref: x\n");
        let git = world.git_with(variables);
        assert!(said(&git, "page").contains("`core.pager` of "), "{file}");
    }
    let world = World::new();
    for variables in [
        &[
            ("GIT_CONFIG_COUNT", "1"),
            ("GIT_CONFIG_KEY_0", "Core.Pager"),
            ("GIT_CONFIG_VALUE_0", "./page"),
        ][..],
        &[("GIT_CONFIG_PARAMETERS", "'core.pager=./page'")],
        &[("GIT_PAGER", "./page")],
        &[("GIT_SSH_COMMAND", "ssh -F ./page")],
        &[("EDITOR", "./page")],
    ] {
        let git = world.git_with(variables);
        assert!(
            said(&git, "page").contains("your environment runs it"),
            "{variables:?}"
        );
    }
    // A work tree whose repository is elsewhere.
    let world = World(tempfile::tempdir().unwrap());
    world.write("work/.git", "gitdir: ../main/.git/worktrees/work\n");
    world.write("main/.git/worktrees/work/commondir", "../..\n");
    world.write("main/.git/config", text);
    assert!(
        world
            .said("page")
            .contains("`core.pager` of ~/work/../main")
            || world
                .said("page")
                .contains("`core.pager` of ~/main/.git/config"),
        "{}",
        world.said("page")
    );
    // The folder of a repository: programs are started at its top.
    let world = World(tempfile::tempdir().unwrap());
    world
        .write(".git/HEAD", "")
        .write(".git/config", "[core]\npager = work/tools/page\n");
    world.write("work/x", "");
    assert!(world.said("tools/page").contains("core.pager"));
}

/// Configuration that itself lies in the workspace, by whatever link.
#[test]
fn git_27_files_of_the_configuration_in_the_workspace() {
    let world = World::new();
    world
        .write("work/git/config", "")
        .link(".gitconfig", "work/git/config");
    world.link(".config/git/attributes", "../../work/git/attributes");
    world.link(".config/git/ignore", "../../work/git/ignore");
    let said = |path| world.said(path);
    assert_eq!(
        said("git/config"),
        "block git reads it as your configuration, by the name ~/.gitconfig"
    );
    // It dangles, and may be created.
    assert!(said("git/attributes").starts_with("block git reads it as ~/.config/git/attributes"));
    assert!(said("git/ignore").starts_with("warn git reads it as ~/.config/git/ignore"));
    // An include of an include.
    world.write("work/git/config", "[include]\npath = more\n");
    world.write("work/git/more", "[include]\npath = ../conf/last\n");
    world.write("work/conf/last", "[core]\nhooksPath = ~/work/h\n");
    world.write("conf/last", "[core]\neditor = ./never\n");
    let global = World::new();
    global.write(".gitconfig", "[include]\npath = work/git/more\n");
    global.write("work/git/more", "[include]\npath = ../conf/last\n");
    global.write("work/conf/last", "[core]\nhooksPath = h\n");
    for path in ["git/more", "conf/last", "h/pre-commit"] {
        assert!(global.said(path).starts_with("block "), "{path}");
    }
    assert_eq!(
        global.said("h/pre-commit"),
        "block `core.hooksPath` of conf/last runs it"
    );
    // What only is read is no block.
    let world = World::new();
    world.write(".gitconfig", "[core]\nexcludesFile = conf/ignore\n");
    assert_eq!(
        world.said("conf/ignore"),
        "warn `core.excludesFile` of ~/.gitconfig reads it"
    );
}

/// Hooks that are links into the work tree, or name a file of it.
#[test]
fn git_27_hooks_that_lead_into_the_work_tree() {
    let world = World::new();
    world.link("work/.git/hooks/pre-commit", "../../scripts/check");
    world.write(
        "work/.git/hooks/pre-push",
        "#!/bin/sh\n# a/comment\nexec scripts/push \"$@\"\n",
    );
    world.write(
        "work/.git/hooks/update.sample",
        "#!/bin/sh\nexec scripts/sample\n",
    );
    world.link("work/.git/modules/sub/hooks", "../../../shared-hooks");
    world.write("work/.git/modules/sub/HEAD", "x");
    world.write(
        "work/.git/modules/sub/config",
        "[core]\nworktree = ../../../sub\nfsmonitor = ./watch\n",
    );
    for (path, expected) in [
        (
            "scripts/check",
            "block git runs it as the hook .git/hooks/pre-commit",
        ),
        ("scripts/push", "warn the hook .git/hooks/pre-push names it"),
        ("scripts/sample", ""),
        ("a/comment", ""),
        (
            "shared-hooks/x",
            "block git runs hooks from it, as .git/modules/sub/hooks",
        ),
        (
            "sub/watch",
            "block `core.fsmonitor` of .git/modules/sub/config runs it",
        ),
    ] {
        assert_eq!(world.said(path), expected, "{path}");
    }
    // All of them, by one link, and by a directory that is elsewhere.
    let world = World::new();
    world.link("work/.git/hooks", "../.githooks");
    assert!(
        world
            .said(".githooks/lib/x")
            .contains("git runs hooks from it")
    );
    let world = World::new();
    world.write(".gitconfig", "[core]\nhooksPath = ~/hooks\n");
    world.link("hooks/commit-msg", world.work().join("tools/msg"));
    assert!(
        world
            .said("tools/msg")
            .contains("as the hook ~/hooks/commit-msg")
    );
}

/// Another repository inside of the workspace, whose top is where its paths begin.
#[test]
fn git_27_repositories_inside() {
    let world = World::new();
    world.write(".gitconfig", "[core]\nhooksPath = .hooks\n");
    world.write("work/inner/.git/config", "[core]\neditor = ./edit\n");
    let tree: Tree = [("inner".parse().unwrap(), Entry::Dir)]
        .into_iter()
        .collect();
    let git = configuration(world.env(&[]).git(), &world.work(), &tree);
    assert_eq!(
        said(&git, "inner/edit"),
        "block `core.editor` of inner/.git/config runs it"
    );
    assert!(said(&git, "inner/.hooks/pre-commit").contains("core.hooksPath"));
    assert!(said(&git, ".hooks/pre-commit").contains("core.hooksPath"));
}

#[test]
fn git_27_what_can_not_be_read_or_understood_is_said() {
    for (text, expected) in [
        ("[core]\npager = \"x\n[core]\nhooksPath = h\n", "line 2 of "),
        ("[core\n", "line 1 of "),
        (
            "[include]\npath = ~no-such-user/x\n",
            "cannot tell where the include `~no-such-user/x` is",
        ),
        ("[include]\npath = .\n", "cannot read "),
    ] {
        let world = World::new();
        world.write(".gitconfig", text);
        let git = world.git();
        let [problem] = git.problems() else {
            panic!("{text}: {:?}", git.problems());
        };
        assert!(problem.starts_with(expected), "{text}: {problem}");
    }
    let world = World::new();
    let many = "x/y ".repeat(5000);
    world.write(".gitconfig", &format!("[core]\npager = {many}\n"));
    assert!(world.git().problems()[0].contains("too many words"));
    // Behind a mistake git reads on as soon as it is corrected.
    world.write(".gitconfig", "[broken\n[core]\nhooksPath = h\n");
    assert_eq!(
        world.said("h/x"),
        "block `core.hooksPath` of ~/.gitconfig runs it"
    );
    assert_eq!(World::new().git().problems(), <[String; 0]>::default());
}

/// Everything that git lists for a repository, with includes of each sort and the file that
/// has it, is among what was read.
#[test]
fn git_27_all_that_git_lists_was_read() {
    let world = World::new();
    let (home, work) = (world.home(), world.work());
    let script = format!(
        "set -e; cd {}; rm -rf .git; git init -q -b main .; git config extensions.worktreeConfig true; \
         git config --worktree core.pager w; git config include.path ../inner; \
         git config remote.o.url https://example.org/x; \
         git -c user.name=x -c user.email=x commit -q --allow-empty -m x; git worktree add -q ../second",
        work.display()
    );
    let env = [
        ("PATH", "/usr/local/bin:/usr/bin:/bin"),
        ("HOME", home.to_str().unwrap()),
        ("GIT_CONFIG_NOSYSTEM", "1"),
    ];
    duct::cmd("sh", ["-c", &script])
        .full_env(env)
        .stderr_null()
        .run()
        .unwrap();
    world.write("work/inner", "[a]\nb = from inner\n");
    world.write(".config/git/config", "[a]\nb = xdg\n");
    world.write(".gitconfig", &format!(
        "[a]\nb = global\n[include]\npath = inc/one\n[includeIf \"gitdir:{}/\"]\npath = inc/dir\n\
         [includeIf \"gitdir/i:{}/\"]\npath = inc/diri\n[includeIf \"onbranch:main\"]\npath = inc/branch\n\
         [includeIf \"hasconfig:remote.*.url:https://example.org/**\"]\npath = inc/has\n",
        work.display(), work.display().to_string().to_uppercase(),
    ));
    for name in ["one", "dir", "diri", "branch", "has", "deep"] {
        world.write(
            &format!("inc/{name}"),
            &format!("[a \"{name}\"]\nb = {name}\n"),
        );
    }
    world.write(
        "inc/one",
        "[a \"one\"]\nb = one\n[include]\npath = ./deep\n",
    );
    world.write("system", "[a]\nb = system\n");
    let system = home.join("system");
    let more = [
        ("GIT_CONFIG_NOSYSTEM", "0"),
        ("GIT_CONFIG_SYSTEM", system.to_str().unwrap()),
        ("GIT_CONFIG_COUNT", "1"),
        ("GIT_CONFIG_KEY_0", "a.b"),
        ("GIT_CONFIG_VALUE_0", "counted"),
        ("GIT_CONFIG_PARAMETERS", "'a.b'='parameter'"),
    ];
    for (dir, least) in [(work, 20), (home.join("second"), 18)] {
        let output = duct::cmd(
            "git",
            ["config", "--list", "--show-origin", "-z", "--includes"],
        )
        .dir(&dir)
        .full_env(env.iter().chain(&more).copied())
        .read()
        .unwrap();
        let fields: Vec<&str> = output.split('\0').filter(|text| !text.is_empty()).collect();
        let env = world.env(&more);
        let settings = Settings::read(
            env.git(),
            &dir,
            &Tree::new(),
            &PathResolver::new(env.git(), &dir),
        );
        let ours: BTreeSet<(String, String)> = settings
            .list
            .iter()
            .map(|setting| {
                let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
                let (name, value) = (text(&setting.variable.name), text(setting.variable.value()));
                let file = setting
                    .file
                    .as_ref()
                    .map(|file| file.canonicalize().unwrap());
                let file = file.map_or_else(
                    || "command line:".to_owned(),
                    |file| file.display().to_string(),
                );
                (file, format!("{name}\n{value}"))
            })
            .collect();
        assert!(fields.len() >= 2 * least, "{fields:?}");
        for pair in fields.chunks(2) {
            let origin = match pair[0].strip_prefix("file:") {
                Some(file) => dir.join(file).canonicalize().unwrap().display().to_string(),
                None => pair[0].to_owned(),
            };
            let wanted = (origin, pair[1].to_owned());
            assert!(ours.contains(&wanted), "{wanted:?}\n{ours:#?}");
        }
    }
}

#[test]
fn git_27_severities_are_those_of_what_happens() {
    let world = World::new();
    world.write(
        ".gitconfig",
        "[gpg \"ssh\"]\nallowedSignersFile = signers\n[core]\npager = ./p\n",
    );
    let git = world.git();
    assert_eq!(git.uses_of("signers")[0].severity, Severity::Warn);
    assert_eq!(git.uses_of("p")[0].severity, Severity::Block);
}
