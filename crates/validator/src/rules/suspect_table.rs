//! The suspect files, as data: `threats.md`, section 4, row by row.
//!
//! A pattern is a path from any directory on; `*` stands for any characters of
//! one component, a last `**` for everything below. All lower case: names are
//! folded before they are compared.

use crate::Severity::{self, Block, Note, Warn};

/// One row.
#[derive(Debug)]
pub(crate) struct Suspect {
    /// The case that names it.
    pub(crate) case: &'static str,
    /// The code of its findings.
    pub(crate) code: &'static str,
    /// How grave creating or changing it is.
    pub(crate) severity: Severity,
    /// Why, a sentence fragment.
    pub(crate) reason: &'static str,
    /// Which files.
    pub(crate) patterns: &'static [&'static str],
}

const fn row(
    case: &'static str,
    code: &'static str,
    severity: Severity,
    reason: &'static str,
    patterns: &'static [&'static str],
) -> Suspect {
    Suspect {
        case,
        code,
        severity,
        reason,
        patterns,
    }
}

/// All rows.
#[rustfmt::skip]
pub(crate) const SUSPECTS: &[Suspect] = &[
    row("SUS-01", "suspect.git_hooks", Block, "hooks and submodules run at commit, checkout or update", &[
        ".gitmodules", "gitmod~*", "gi7eba~*", ".husky/**", ".githooks/**", "lefthook.yml", "lefthook.yaml",
        ".lefthook*", ".lefthook/**", ".overcommit.yml",
    ]),
    row("SUS-02", "suspect.pre_commit", Warn, "fetches and runs code at commit", &[
        ".pre-commit-config.yaml", ".pre-commit-config.yml", ".pre-commit-hooks.yaml",
    ]),
    row("SUS-03", "suspect.git_attributes", Warn, "chooses filters, or where large files come from", &[
        ".gitattributes", "gitatt~*", "gi7d29~*", ".lfsconfig",
    ]),
    row("SUS-04", "suspect.vscode", Block, "tasks and settings take effect when the folder is opened", &[
        ".vscode/tasks.json", ".vscode/launch.json", ".vscode/settings.json", ".vscode/mcp.json",
        "*.code-workspace",
    ]),
    row("SUS-05", "suspect.vscode_extensions", Note, "recommends extensions", &[
        ".vscode/extensions.json",
    ]),
    row("SUS-06", "suspect.idea", Block, "startup tasks and file watchers", &[
        ".idea/workspace.xml", ".idea/runconfigurations/**", ".run/*.xml", ".idea/externaltools.xml",
        ".idea/watchertasks.xml", "*.iml",
    ]),
    row("SUS-07", "suspect.devcontainer", Block, "its initializeCommand runs on the host", &[
        ".devcontainer/**", ".devcontainer.json",
    ]),
    row("SUS-08", "suspect.editor", Block, "the editor executes it when it opens the folder", &[
        ".zed/tasks.json", ".zed/settings.json", ".fleet/run.json", ".nova/**", "*.sublime-project",
        ".dir-locals.el", ".dir-locals-2.el", ".vimrc", ".exrc", ".nvim.lua", ".nvimrc",
    ]),
    row("SUS-09", "suspect.agent_settings", Block, "starts servers or hooks of a coding agent, or redirects it", &[
        ".claude/settings*.json", ".claude/hooks/**", ".mcp.json", ".cursor/mcp.json", ".codex/**",
        ".gemini/settings.json", ".aider.conf.yml", ".continue/**",
    ]),
    row("SUS-10", "suspect.agent_instructions", Warn, "steers the next agent", &[
        "claude.md", "claude.local.md", "agents.md", "gemini.md", ".cursorrules", ".cursor/rules/**",
        ".windsurfrules", ".clinerules", ".clinerules/**", ".goosehints",
        ".github/copilot-instructions.md", ".claude/commands/**", ".claude/agents/**",
        ".claude/skills/**",
    ]),
    row("SUS-11", "suspect.ci", Block, "continuous integration runs it with its secrets", &[
        ".github/workflows/**", ".github/actions/**", "action.yml", "action.yaml", ".gitlab-ci.yml",
        ".circleci/**", ".buildkite/**", "jenkinsfile", "azure-pipelines.yml",
        "bitbucket-pipelines.yml", ".travis.yml", ".drone.yml", ".woodpecker/**", ".woodpecker.yml",
        ".forgejo/**", ".gitea/**",
    ]),
    row("SUS-12", "suspect.review_routing", Warn, "decides who reviews, and which updates come in", &[
        ".github/dependabot.yml", ".github/dependabot.yaml", "renovate.json*", ".renovaterc*",
        "codeowners",
    ]),
    row("SUS-13", "suspect.directory_env", Block, "runs when a shell enters the directory", &[
        ".envrc", ".mise.toml", "mise.toml", ".mise/**", ".config/mise/**",
    ]),
    row("SUS-13", "suspect.tool_versions", Warn, "chooses the tools that run here", &[
        ".tool-versions", ".asdfrc", ".nvmrc", "flake.nix", "shell.nix", "devbox.json",
    ]),
    row("SUS-14", "suspect.entry_point", Warn, "is run out of habit", &[
        "makefile", "gnumakefile", "*.mk", "justfile", ".justfile", "taskfile.yml", "taskfile.yaml",
        "rakefile", "noxfile.py", "tox.ini", "tasks.py", "magefile.go",
    ]),
    // What a `package.json` and a `pyproject.toml` say is looked at key by key, in `manifests`.
    row("SUS-15", "suspect.native_addon", Warn, "npm runs node-gyp at install because it is there", &[
        "binding.gyp",
    ]),
    row("SUS-16", "suspect.registry", Block, "chooses the registry, or loads a plugin", &[
        ".npmrc", ".yarnrc*", ".yarn/**", ".pnpmfile.cjs", "pnpm-workspace.yaml", "bunfig.toml",
        ".pypirc", "pip.conf", "uv.toml",
    ]),
    row("SUS-17", "suspect.cargo_config", Block, "names the linker, the runner, a wrapper, or the toolchain", &[
        ".cargo/config*", "rust-toolchain*",
    ]),
    row("SUS-17", "suspect.build_script", Warn, "runs at build", &[
        "build.rs", "rustfmt.toml", ".rustfmt.toml",
    ]),
    row("SUS-18", "suspect.python_site", Block, "runs whenever Python starts", &[
        "sitecustomize.py", "usercustomize.py", "*.pth",
    ]),
    row("SUS-18", "suspect.python_build", Warn, "runs at build, install or test", &[
        "setup.py", "conftest.py", "pytest.ini",
    ]),
    row("SUS-19", "suspect.gradle_wrapper", Block, "the wrapper downloads and runs what it names", &[
        "gradlew*", "gradle-wrapper.jar", "gradle-wrapper.properties", "mvnw*", ".mvn/**",
    ]),
    row("SUS-19", "suspect.gradle_build", Warn, "runs at build", &[
        "init.gradle*", "settings.gradle*", "build.gradle*", "gradle.properties",
    ]),
    row("SUS-20", "suspect.build_system", Warn, "runs at build", &[
        ".bazelrc", "workspace", "workspace.bazel", "module.bazel", ".buckconfig", "cmakelists.txt",
        "cmakepresets.json", "meson.build", "configure",
    ]),
    row("SUS-21", "suspect.container_build", Warn, "mounts and privileges of containers or machines", &[
        "dockerfile*", "containerfile", "compose*.yml", "compose*.yaml", "docker-compose*.yml",
        "docker-compose*.yaml", "docker-bake.hcl", "vagrantfile", "*.tf", "skaffold.yaml",
    ]),
    row("SUS-22", "suspect.tool_config", Warn, "the configuration of a tool is code, or names code", &[
        ".eslintrc.js", ".eslintrc.cjs", "*.config.js", "*.config.cjs", "*.config.mjs",
        "*.config.ts", "babel.config.*", ".prettierrc.js", ".rubocop.yml", ".clangd",
        ".golangci.yml",
    ]),
    row("SUS-24", "suspect.home", Block, "takes effect if the workspace is a home directory", &[
        ".bashrc", ".bash_profile", ".bash_login", ".profile", ".zshrc", ".zshenv", ".zprofile",
        ".inputrc", ".netrc", ".ssh/**", ".aws/**", ".gitconfig", ".config/**",
    ]),
    row("SUS-25", "suspect.launcher", Block, "runs when it is clicked, or at login", &[
        "*.desktop", "*.plist", "*.command", "*.lnk", "*.url", "*.scpt", "autorun.inf", "*.service",
    ]),
    row("SUS-26", "suspect.opaque", Warn, "a review can't read it", &[
        "*.so", "*.so.*", "*.dylib", "*.dll", "*.node", "*.jar", "*.whl", "*.exe",
    ]),
    row("SUS-27", "suspect.path_hijack", Block, "stands in for a common program", &[
        "bin/git", "bin/ls", "bin/node", "bin/cargo", "bin/python", "bin/python3", "bin/npm",
        "bin/sh", "bin/bash", "node_modules/.bin/**", "venv/bin/**", ".venv/**",
    ]),
    row("SUS-28", "suspect.secret", Warn, "may hold a secret", &[
        ".env*", "*.pem", "id_*", "*.key", "*.p12", "*.pfx",
    ]),
    row("SUS-29", "suspect.own_policy", Block, "tells lazaret what to copy and what to allow", &[
        "lazaret.toml", ".lazaretignore",
    ]),
];
