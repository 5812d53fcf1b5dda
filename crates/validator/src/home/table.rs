//! The paths of a home that tools read as settings, or run, as data.
//!
//! A pattern is a path below the home; `*` stands for any characters of one component, a last
//! `**` for everything below. Every row says what it is tried with: paths that hit it, and paths
//! that miss it.

use std::borrow::Cow;

use lazaret_tree::{PathPattern, RelPath};

use super::keys::Format;
use super::mixed;

/// One row.
#[derive(Debug)]
pub struct HomeRule {
    /// Its name.
    pub code: &'static str,
    /// Why its files are judged: a sentence fragment.
    pub reason: &'static str,
    /// What is done with them.
    pub treatment: Treatment,
    /// Which files, separated by blanks.
    patterns: &'static str,
    /// Paths that it is tried with.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "what the test of all rows reads")
    )]
    hit: &'static str,
    /// Paths that must not hit it.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "what the test of all rows reads")
    )]
    miss: &'static str,
}

/// What is done with the files of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Treatment {
    /// They are settings or programs: all of each file counts.
    Config,
    /// They mix settings and history: keys that are known to be history stay.
    Mixed(Format),
    /// Their tool writes them anew for each command: they are removed, and nothing is said.
    Transient,
}

/// The rows. The first that is about a path counts.
pub const HOME_RULES: &[HomeRule] = &[
    HomeRule {
        code: "home.agent",
        reason: "an agent reads its settings, hooks and MCP servers from it",
        treatment: Treatment::Mixed(Format::Json),
        patterns: ".claude.json",
        hit: ".claude.json",
        miss: ".claude.json.backup .claude/.claude.json",
    },
    HomeRule {
        code: "home.agent",
        reason: "an agent reads its settings, hooks and MCP servers from it",
        treatment: Treatment::Mixed(Format::Toml),
        patterns: ".codex/config.toml",
        hit: ".codex/config.toml",
        miss: ".codex/history.jsonl",
    },
    HomeRule {
        code: "home.agent",
        reason: "an agent sources it before each command",
        treatment: Treatment::Transient,
        patterns: ".claude/shell-snapshots/** .claude/session-env/** .codex/shell_snapshots/**",
        hit: ".claude/shell-snapshots/snapshot-bash-1.sh .claude/session-env/a/hook-1.sh",
        miss: ".claude/projects/a/1.jsonl",
    },
    HomeRule {
        code: "home.agent",
        reason: "an agent reads its settings, hooks and MCP servers from it",
        treatment: Treatment::Config,
        patterns: ".claude.json.backup* .claude/settings*.json .claude/managed-settings*.json \
            .claude/.mcp.json .claude/hooks/** .claude/plugins/** .claude/statusline* \
            .claude/local/** .claude/keybindings.json .claude/.claude.json .mcp.json \
            .codex/hooks.json .codex/hooks/** .codex/rules/** .codex/plugins/** .codex/*.config.toml \
            .codex/managed_config.toml .gemini/settings.json .gemini/.env .gemini/extensions/** \
            .gemini/policies/** .gemini/trustedFolders.json .cursor/mcp.json .cursor/hooks.json \
            .cursor/cli-config.json .cursor/permissions.json .aider.conf.yml .aider.model.settings.yml \
            .continue/** .config/opencode/** .opencode/** .config/goose/** .config/amp/** \
            .config/crush/** .config/github-copilot/** .copilot/config.json .copilot/mcp-config.json \
            .qwen/settings.json .qwen/extensions/** .factory/settings.json .factory/mcp.json \
            .factory/hooks/**",
        hit: ".claude/settings.json .claude/settings.local.json .claude/hooks/pre/a.sh \
            .claude/plugins/a/plugin.json .mcp.json .codex/hooks.json .codex/work.config.toml \
            .gemini/settings.json .config/opencode/opencode.json",
        miss: ".claude/projects/a/1.jsonl .claude/history.jsonl .claude/todos/1.json \
            .claude/.credentials.json .codex/auth.json .codex/sessions/2026/a.jsonl",
    },
    HomeRule {
        code: "home.instructions",
        reason: "it steers every later agent",
        treatment: Treatment::Config,
        patterns: "CLAUDE.md AGENTS.md GEMINI.md .claude/CLAUDE*.md .claude/commands/** \
            .claude/agents/** .claude/skills/** .claude/output-styles/** .claude/rules/** \
            .claude/workflows/** .agents/** .codex/AGENTS*.md .codex/prompts/** .codex/skills/** \
            .codex/agents/** .gemini/GEMINI.md .gemini/commands/** .gemini/skills/** \
            .cursor/rules/** .goosehints .qwen/QWEN.md .qwen/commands/** .factory/AGENTS.md \
            .factory/commands/** .factory/droids/** .copilot/copilot-instructions.md",
        hit: ".claude/CLAUDE.md .claude/commands/a.md .claude/agents/a/b.md .codex/AGENTS.md \
            .codex/AGENTS.override.md AGENTS.md .agents/skills/a/SKILL.md",
        miss: ".claude/projects/a/memory/MEMORY.md notes/CLAUDE.md",
    },
    HomeRule {
        code: "home.shell",
        reason: "a shell or a terminal program runs it when it starts",
        treatment: Treatment::Config,
        patterns: ".bashrc .bashrc.d/** .bash_profile .bash_login .bash_logout .bash_aliases \
            .bash_completion .profile .shrc .kshrc .mkshrc .zshrc .zshenv .zprofile .zlogin .zlogout \
            .zsh/** .oh-my-zsh/** .config/zsh/** .config/fish/** .cshrc .tcshrc .login .inputrc \
            .pam_environment .xprofile .xsessionrc .xinitrc .tmux.conf .config/tmux/** .screenrc \
            .config/environment.d/** .config/systemd/** .local/share/systemd/** \
            .config/autostart/** .local/share/applications/** .config/direnv/** \
            .local/share/direnv/** .config/mise/** .config/starship.toml .tool-versions .asdfrc",
        hit: ".bashrc .profile .zshenv .config/fish/config.fish .config/fish/functions/ls.fish .inputrc",
        miss: ".bash_history .zsh_history .local/share/fish/fish_history",
    },
    HomeRule {
        code: "home.git",
        reason: "git runs programs that it names",
        treatment: Treatment::Config,
        patterns: ".gitconfig .config/git/** .git-templates/** .githooks/** .gitattributes \
            .gitignore .config/gh/** .config/glab-cli/** .hgrc .config/hg/** .config/jj/** .jjconfig.toml",
        hit: ".gitconfig .config/git/config .config/git/hooks/pre-commit .config/gh/config.yml",
        miss: ".local/share/git/log project/.gitconfig",
    },
    HomeRule {
        code: "home.ssh",
        reason: "it says whom programs connect to, with which key and through which program",
        treatment: Treatment::Config,
        patterns: ".ssh/config .ssh/config.d/** .ssh/rc .ssh/environment .ssh/authorized_keys* \
            .ssh/id_* .ssh/*.pub .netrc .curlrc .config/curlrc .wgetrc .gnupg/*.conf .aws/config \
            .aws/credentials .kube/config .docker/config.json .docker/cli-plugins/** \
            .config/containers/**",
        hit: ".ssh/config .ssh/authorized_keys .netrc .curlrc .docker/config.json",
        miss: ".ssh/known_hosts .docker/buildx/x",
    },
    HomeRule {
        code: "home.packages",
        reason: "a package manager or a language reads code, registries or wrappers from it",
        treatment: Treatment::Config,
        patterns: ".npmrc .yarnrc .yarnrc.yml .config/yarn/** .pnpmfile.cjs .config/pnpm/** \
            .bunfig.toml .node_modules/** .node_libraries/** .node_repl* .pypirc .pip/** \
            .config/pip/** .config/uv/** .config/pypoetry/** .condarc .pydistutils.cfg .pythonrc* \
            .python_startup.py .local/lib/*/site-packages/*.pth \
            .local/lib/*/site-packages/usercustomize* .local/lib/*/site-packages/sitecustomize* \
            .ipython/profile_*/startup/** .jupyter/*.py .config/matplotlib/matplotlibrc \
            .cargo/config .cargo/config.toml .cargo/env .cargo/credentials* .rustup/settings.toml \
            .config/rustfmt/** .config/go/** .bazelrc .gradle/init.gradle* .gradle/init.d/** \
            .gradle/gradle.properties .m2/settings*.xml .m2/extensions.xml .mavenrc .sbt/** \
            .gemrc .bundle/config .irbrc .pryrc .Rprofile .Renviron .perltidyrc .cpan/** \
            .composer/config.json .config/composer/** .ghci .config/nix/** .config/nixpkgs/**",
        hit: ".npmrc .config/pip/pip.conf .local/lib/python3.13/site-packages/x.pth \
            .local/lib/python3.13/site-packages/usercustomize.py .cargo/config.toml .gradle/init.d/a.gradle",
        miss: ".npm/_cacache/a .cargo/registry/cache/a .cache/pip/a .gradle/caches/a \
            .local/lib/python3.13/site-packages/x/__init__.py",
    },
    HomeRule {
        code: "home.editor",
        reason: "an editor or a debugger runs it when it starts",
        treatment: Treatment::Config,
        patterns: ".vimrc .gvimrc .vim/** .exrc .nanorc .config/nano/** .config/nvim/** \
            .local/share/nvim/site/** .nvimrc .emacs .emacs.d/** .config/emacs/** .config/helix/** \
            .config/micro/** .gdbinit .gdbearlyinit .config/gdb/** .lldbinit* .config/lldb/** \
            .lesskey .lessfilter .config/lesskey .vscode-server/data/Machine/** .vscode/**",
        hit: ".vimrc .vim/plugin/a.vim .config/nvim/init.lua .gdbinit",
        miss: ".viminfo .local/state/nvim/shada/main.shada .lesshst",
    },
    HomeRule {
        code: "home.program",
        reason: "a program by that name may be run in place of another",
        treatment: Treatment::Config,
        patterns: ".local/bin/** bin/** .bin/** .cargo/bin/** go/bin/** .npm-global/** \
            .npm-packages/** .local/share/pnpm/* .yarn/bin/** .bun/bin/** .deno/bin/** \
            .pyenv/shims/** .rbenv/shims/** .asdf/shims/** .local/share/mise/shims/** .volta/bin/** \
            .nvm/*.sh .claude/bin/** .claude/local/** .opencode/bin/** .fzf/** .krew/bin/** \
            .dotnet/tools/** .composer/vendor/bin/** .config/composer/vendor/bin/** .foundry/bin/**",
        hit: ".local/bin/git bin/ls .cargo/bin/cargo go/bin/x .local/bin/a/b",
        miss: ".local/share/a/bin2 projects/bin/x .local/binx",
    },
];

/// Returns the row that names a path, or else one that names something below it.
pub fn home_rule(path: &RelPath) -> Option<&'static HomeRule> {
    let mut rules = HOME_RULES.iter();
    let leads_through = |rule: &&HomeRule| rule.patterns().any(|one| one.leads_through(path));
    naming(path).or_else(|| rules.find(leads_through))
}

/// Returns what is done with what lies at a path. Of the way to a file of a row only this is known:
/// it is no directory, so it is in the way.
pub(super) fn treatment(path: &RelPath) -> Option<Treatment> {
    match naming(path) {
        Some(rule) => Some(rule.treatment),
        None => home_rule(path).map(|_| Treatment::Config),
    }
}

fn naming(path: &RelPath) -> Option<&'static HomeRule> {
    let mut rules = HOME_RULES.iter();
    rules.find(|rule| rule.patterns().any(|pattern| pattern.matches(path)))
}

/// Returns the patterns of all rows.
pub fn home_patterns() -> Vec<PathPattern> {
    HOME_RULES.iter().flat_map(HomeRule::patterns).collect()
}

/// Returns what of a file is compared: all of it, or of a mixed one its settings as text.
pub fn compared<'a>(path: &RelPath, contents: &'a [u8]) -> Cow<'a, [u8]> {
    match treatment(path) {
        Some(Treatment::Mixed(format)) => match mixed::split(format, contents) {
            Some(split) => Cow::Owned(split.config_text()),
            None => Cow::Borrowed(contents),
        },
        _ => Cow::Borrowed(contents),
    }
}

impl HomeRule {
    fn patterns(&self) -> impl Iterator<Item = PathPattern> + use<> {
        let patterns = self.patterns.split_ascii_whitespace();
        patterns.filter_map(PathPattern::parse)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_hits_and_misses_what_it_says() {
        for rule in HOME_RULES {
            let all = rule.patterns.split_ascii_whitespace().count();
            assert_eq!(rule.patterns().count(), all, "{}", rule.patterns);
            let names = |path: &str| {
                let path = RelPath::new(path).unwrap();
                rule.patterns().any(|pattern| pattern.matches(path))
            };
            for path in rule.hit.split_ascii_whitespace() {
                assert!(names(path), "{}: {path}", rule.code);
            }
            for path in rule.miss.split_ascii_whitespace() {
                assert!(!names(path), "{}: {path}", rule.code);
            }
        }
    }

    #[test]
    fn history_is_in_no_row() {
        for path in [
            ".bash_history",
            ".claude/history.jsonl",
            ".claude/projects/-workspace/1.jsonl",
            ".codex/history.jsonl",
            ".codex/sessions/2026/11/a.jsonl",
            ".cache/pip/http/a",
            ".cargo/registry/index/a",
            ".local/share/fish/fish_history",
        ] {
            let found = home_rule(RelPath::new(path).unwrap());
            assert!(found.is_none(), "{path}: {found:?}");
        }
    }

    #[test]
    fn what_is_in_the_way_of_a_row_is_judged_as_a_setting() {
        for path in [
            ".claude",
            ".codex",
            ".local",
            ".config/git",
            "bin",
            ".local/lib/python3.13",
        ] {
            let treatment = treatment(RelPath::new(path).unwrap());
            assert_eq!(treatment, Some(Treatment::Config), "{path}");
        }
    }

    #[test]
    fn a_mixed_file_is_compared_by_its_settings() {
        let path = RelPath::new(".claude.json").unwrap();
        let text = br#"{"numStartups": 7, "mcpServers": {"a": {"command": "x"}}}"#;
        let compared = compared(path, text);
        let text = String::from_utf8(compared.into_owned()).unwrap();
        assert!(text.contains("mcpServers") && !text.contains("numStartups"));
    }
}
