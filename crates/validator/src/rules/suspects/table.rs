//! The suspect files, as data: `docs/design/threats.md`, section 4, row by row.
//!
//! A pattern is a path from any directory on, or from the top if it starts with `/`; `*`
//! stands for any characters of one component, a last `**` for everything below. All lower
//! case: names are folded before they are compared.
//!
//! Every row says what it is tried with: paths that hit it, and paths that miss it.

use lazaret_tree::FindingCode;

use crate::Severity::{self, Block, Note, Warn};

/// One row.
#[derive(Debug)]
pub(crate) struct Suspect {
    /// The case that names it.
    pub(crate) case: &'static str,
    /// The code of its findings, with the reason.
    pub(crate) code: FindingCode,
    /// How grave creating one is.
    pub(crate) severity: Severity,
    /// How grave changing one is.
    pub(crate) change: Change,
    /// Where a new one counts.
    pub(crate) place: Place,
    /// Which files, separated by blanks.
    pub(crate) patterns: &'static str,
    /// Which files of those are none of them.
    pub(crate) except: &'static str,
    /// Paths that it is tried with.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "what the test of all rows reads")
    )]
    pub(crate) hit: &'static str,
    /// Paths that must not hit it.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "what the test of all rows reads")
    )]
    pub(crate) miss: &'static str,
}

/// What weighs when a file that was there before is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    /// Its name, as if it was new.
    Name,
    /// The lines that are added: changing it is everyday work.
    Lines,
    /// The same, and any indented line is a command of something that runs by name.
    Recipes,
    /// The lines, also of a new file: it may hold nothing but fixtures of tests. One that comes
    /// with the tests around it runs no more than they do, but its lines still decide.
    Fixtures,
    /// Nothing: only a new file is suspect.
    Nothing,
    /// Nothing, and that it changed is for the record.
    Record,
}

/// Where a new file counts. Elsewhere it is for the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// In any directory.
    Anywhere,
    /// In a directory that was there before. A tool reads it where a person works, and
    /// nothing has run yet in a directory that comes with the change.
    KnownDirectory,
    /// At the top. Below it a person, or another file that is judged itself, has to name it.
    Top,
}

impl Suspect {
    /// Returns the patterns, one by one.
    pub(crate) fn patterns(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.patterns.split_ascii_whitespace()
    }

    /// Takes files out of the patterns.
    pub(in crate::rules) const fn except(self, except: &'static str) -> Self {
        Self { except, ..self }
    }

    /// Says what weighs when one is changed.
    pub(in crate::rules) const fn changed(self, change: Change) -> Self {
        let code = FindingCode {
            severities: severities(self.severity, true),
            ..self.code
        };
        Self {
            change,
            code,
            ..self
        }
    }

    /// Says where a new one counts.
    pub(in crate::rules) const fn only(self, place: Place) -> Self {
        let code = FindingCode {
            severities: severities(self.severity, true),
            ..self.code
        };
        Self {
            place,
            code,
            ..self
        }
    }

    /// Adds the paths that the row is tried with.
    pub(in crate::rules) const fn tried(self, hit: &'static str, miss: &'static str) -> Self {
        Self { hit, miss, ..self }
    }
}

pub(in crate::rules) const fn row(
    case: &'static str,
    id: &'static str,
    severity: Severity,
    reason: &'static str,
    patterns: &'static str,
) -> Suspect {
    Suspect {
        case,
        code: FindingCode {
            id,
            severities: severities(severity, false),
            reason,
            // Those of all rows with this code.
            cases: &[],
        },
        severity,
        change: Change::Name,
        place: Place::Anywhere,
        patterns,
        except: "",
        hit: "",
        miss: "",
    }
}

/// Returns how grave findings of a row can be: deletions weigh less, and where neither name
/// nor lines decide, it is for the record.
const fn severities(severity: Severity, is_weighed: bool) -> &'static [Severity] {
    match (severity, is_weighed) {
        (Block, false) => &[Block, Warn],
        (Block, true) => &[Block, Warn, Note],
        (Warn, _) => &[Warn, Note],
        (Note, _) => &[Note],
    }
}

/// All rows that name a file.
#[rustfmt::skip]
pub(crate) const SUSPECTS: &[Suspect] = &[
    row("SUS-01", "suspect.git_hooks", Block, "hooks and submodules run at commit, checkout or update", ".gitmodules gitmod~* gi7eba~* .husky/** .githooks/** lefthook.yml lefthook.yaml .lefthook* .lefthook/** .overcommit.yml").tried(".husky/pre-commit sub/lefthook.yaml", "husky/pre-commit gitmodules docs/lefthook.md"),
    row("SUS-02", "suspect.pre_commit", Warn, "fetches and runs code at commit", ".pre-commit-config.yaml .pre-commit-config.yml .pre-commit-hooks.yaml").tried(".pre-commit-config.yaml", "pre-commit-config.yaml"),
    row("SUS-03", "suspect.git_attributes", Warn, "chooses filters, or where large files come from", ".gitattributes gitatt~* gi7d29~* .lfsconfig").tried("a/.gitattributes", "gitattributes .gitattribute"),
    row("SUS-04", "suspect.vscode", Block, "tasks and settings take effect when the folder is opened", ".vscode/tasks.json .vscode/launch.json .vscode/settings.json .vscode/mcp.json *.code-workspace").tried(".VSCode/Tasks.JSON a.code-workspace", ".vscode/tasks.json5 vscode/tasks.json .vscode/x/tasks.json"),
    row("SUS-05", "suspect.vscode_extensions", Note, "recommends extensions", ".vscode/extensions.json").tried(".vscode/extensions.json", "extensions.json"),
    row("SUS-06", "suspect.idea", Block, "startup tasks and file watchers", ".idea/workspace.xml .idea/runconfigurations/** .run/*.xml .idea/externaltools.xml .idea/watchertasks.xml *.iml").tried(".idea/runConfigurations/All.xml", "idea/workspace.xml .run/a/b.xml"),
    row("SUS-07", "suspect.devcontainer", Block, "its initializeCommand runs on the host", ".devcontainer/** .devcontainer.json").tried(".devcontainer/go/devcontainer.json", "devcontainer/x"),
    row("SUS-08", "suspect.editor", Block, "the editor executes it when it opens the folder", ".zed/tasks.json .zed/settings.json .fleet/run.json .nova/** *.sublime-project .dir-locals.el .dir-locals-2.el .vimrc .exrc .nvim.lua .nvimrc").tried("lib/.dir-locals.el", "dir-locals.el nova/x"),
    row("SUS-09", "suspect.agent_settings", Block, "starts servers or hooks of a coding agent, or redirects it", ".claude/settings*.json .claude/hooks/** .mcp.json .cursor/mcp.json .codex/** .gemini/settings.json .aider.conf.yml .continue/**").tried(".claude/settings.local.json", "claude/settings.json settings.json"),
    row("SUS-10", "suspect.agent_instructions", Warn, "steers the next agent", "claude.md claude.local.md agents.md gemini.md .cursorrules .cursor/rules/** .windsurfrules .clinerules .clinerules/** .goosehints .github/copilot-instructions.md .claude/commands/** .claude/agents/** .claude/skills/** agent.md agents.*.md agents-*.md skill.md *.mdc *.prompt.md *.chatmode.md *.instructions.md *.agent.md /soul.md /identity.md /memory.md /tools.md /heartbeat.md /bootstrap.md /prompt.md /system.md /conventions.md /rules.md /persona.md /ai.md /llm.md /llms*.txt /copilot.md /copilot-instructions.md /cursor.md /codex.md /qwen.md /warp.md /crush.md /opencode.md /windsurf.md /goose.md /aider.md /cline.md /roo.md /kilo.md /kiro.md /trae.md /amp.md /junie.md /jules.md /devin.md /droid.md /factory.md /augment.md /zed.md /cody.md /grok.md /iflow.md /openhands.md /replit.md /bolt.md /lovable.md /continue.md /kimi.md /codebuddy.md /firebender.md /ona.md").tried("docs/AGENTS.md AGENTS.override.md Claude.md x/skill.md QWEN.md", "docs/agents-are-fun.rst management.md docs/cursor.md agent.rs"),
    row("SUS-11", "suspect.ci", Block, "continuous integration runs it with its secrets", ".github/workflows/** .github/actions/** action.yml action.yaml .gitlab-ci.yml .circleci/** .buildkite/** jenkinsfile azure-pipelines.yml bitbucket-pipelines.yml .travis.yml .drone.yml .woodpecker/** .woodpecker.yml .forgejo/** .gitea/**").except(".github/actions/spelling/allow*.txt .github/actions/spelling/expect*.txt .github/actions/spelling/*/*.txt").tried(".github/workflows/ci.yml .github/actions/spelling/requirements.txt", "github/workflows/ci.yml actions.yml .github/actions/spelling/expect.txt"),
    row("SUS-12", "suspect.review_routing", Warn, "decides who reviews, and which updates come in", "codeowners").changed(Change::Record).tried("docs/CODEOWNERS", "codeowners.md"),
    row("SUS-12", "suspect.review_routing", Warn, "decides who reviews, and which updates come in", ".github/dependabot.yml .github/dependabot.yaml renovate.json* .renovaterc*").changed(Change::Lines).tried(".github/dependabot.yml renovate.json5", "dependabot.md"),
    row("SUS-13", "suspect.directory_env", Block, "runs when a shell enters the directory", ".envrc .mise/** .config/mise/**").tried("sub/.envrc", "envrc.md"),
    // What a changed one says is looked at key by key, in `manifests`.
    row("SUS-13", "suspect.directory_env", Block, "runs when a shell enters the directory", "mise.toml .mise.toml").changed(Change::Nothing).tried("sub/mise.toml", "mise.md"),
    row("SUS-13", "suspect.tool_versions", Warn, "chooses the tools that run here", ".tool-versions .asdfrc .nvmrc").tried(".nvmrc", "nvm.md"),
    row("SUS-13", "suspect.tool_versions", Warn, "chooses the tools that run here", "flake.nix shell.nix devbox.json").changed(Change::Lines).tried("flake.nix", "snowflake.nix"),
    row("SUS-14", "suspect.entry_point", Warn, "holds commands that `make` and its like run", "makefile gnumakefile *.mk justfile .justfile taskfile.yml taskfile.yaml rakefile noxfile.py tox.ini magefile.go").changed(Change::Recipes).only(Place::KnownDirectory).tried("Makefile rules.mk", "xMakefile makefile.txt task.py"),
    row("SUS-14", "suspect.entry_point", Warn, "holds commands that `make` and its like run", "tasks.py").changed(Change::Recipes).only(Place::Top).tried("tasks.py", "task.py"),
    // What a `package.json` and a `pyproject.toml` say is looked at key by key, in `manifests`.
    row("SUS-15", "suspect.native_addon", Warn, "npm runs node-gyp at install because it is there", "binding.gyp").changed(Change::Lines).tried("binding.gyp", "bindings.gypsum"),
    row("SUS-16", "suspect.registry", Block, "chooses the registry, or loads a plugin", ".npmrc .yarnrc* .yarn/** .pnpmfile.cjs bunfig.toml .pypirc pip.conf uv.toml").tried(".yarnrc.yml pip.conf", "pip.confluence npmrc.md"),
    // What a changed one says is looked at key by key, in `manifests`.
    row("SUS-16", "suspect.registry", Block, "chooses the registry, or loads a plugin", "pnpm-workspace.yaml").changed(Change::Nothing).tried("pnpm-workspace.yaml", "pnpm-workspace.yaml.md workspace.yaml"),
    row("SUS-17", "suspect.cargo_config", Block, "names the linker, the runner, a wrapper, or the toolchain", ".cargo/config*").tried(".cargo/config.toml", "cargo/config.toml"),
    row("SUS-17", "suspect.cargo_config", Block, "names the linker, the runner, a wrapper, or the toolchain", "rust-toolchain*").changed(Change::Lines).tried("rust-toolchain", "rust-tools.toml"),
    row("SUS-17", "suspect.build_script", Warn, "runs at build", "build.rs rustfmt.toml .rustfmt.toml").changed(Change::Lines).tried("crates/a/build.rs", "rebuild.rs"),
    row("SUS-18", "suspect.python_site", Block, "runs whenever Python starts", "sitecustomize.py usercustomize.py *.pth").tried("lib/x.pth", "depth.py x.pthx"),
    row("SUS-18", "suspect.python_build", Warn, "runs at build, install or test", "setup.py pytest.ini").changed(Change::Lines).only(Place::KnownDirectory).tried("setup.py", "setups.py"),
    row("SUS-18", "suspect.python_build", Warn, "runs at build, install or test", "conftest.py").changed(Change::Fixtures).only(Place::KnownDirectory).tried("conftest.py", "tests/test_conftest.py"),
    row("SUS-19", "suspect.gradle_wrapper", Block, "the wrapper downloads and runs what it names", "gradlew* gradle-wrapper.jar gradle-wrapper.properties mvnw* .mvn/**").tried("gradlew.bat", "gradle.md"),
    row("SUS-19", "suspect.gradle_build", Warn, "runs at build", "init.gradle* settings.gradle* build.gradle* gradle.properties").changed(Change::Lines).only(Place::KnownDirectory).tried("build.gradle.kts", "gradle.propertiesx"),
    row("SUS-20", "suspect.build_system", Warn, "runs at build", ".bazelrc workspace workspace.bazel module.bazel .buckconfig cmakelists.txt cmakepresets.json meson.build configure").changed(Change::Lines).tried("src/CMakeLists.txt configure", "configure.md cmakelists.md"),
    row("SUS-21", "suspect.container_build", Warn, "mounts and privileges of containers or machines", "dockerfile* containerfile").changed(Change::Lines).only(Place::Top).tried("Dockerfile.dev", "docker.md containerfiles"),
    row("SUS-21", "suspect.container_build", Warn, "mounts and privileges of containers or machines", "compose*.yml compose*.yaml docker-compose*.yml docker-compose*.yaml docker-bake.hcl vagrantfile skaffold.yaml").changed(Change::Lines).only(Place::KnownDirectory).tried("compose.yaml", "composer.rs"),
    row("SUS-21", "suspect.infrastructure", Warn, "is applied to machines with their secrets", "*.tf *.tofu *.tf.json *.tofu.json").changed(Change::Lines).only(Place::KnownDirectory).tried("main.tf x.tf.json", "x.tfx main.tfvars"),
    row("SUS-21", "suspect.infrastructure", Warn, "is applied to machines with their secrets", "*.hcl *.nomad").except(".*.hcl terragrunt*.hcl *.nomad.hcl").only(Place::KnownDirectory).tried("x.pkr.hcl", "x.hclx"),
    row("SUS-22", "suspect.tool_config", Warn, "the configuration of a tool is code, or names code", ".eslintrc.js .eslintrc.cjs *.config.js *.config.cjs *.config.mjs *.config.ts babel.config.* .prettierrc.js .rubocop.yml .clangd .golangci.yml").changed(Change::Lines).except("release.config.* sst.config.*").only(Place::KnownDirectory).tried("vite.config.ts", "config.ts vite.config.md"),
    row("SUS-24", "suspect.home", Block, "takes effect if the workspace is a home directory", ".bashrc .bash_profile .bash_login .profile .zshrc .zshenv .zprofile .inputrc .netrc .ssh/** .aws/** .gitconfig .config/**").tried(".ssh/config", "ssh/config profile.md"),
    row("SUS-25", "suspect.launcher", Block, "runs when it is clicked, or at login", "*.desktop *.plist *.command *.lnk *.url *.scpt autorun.inf *.service").except("info.plist *entitlements*.plist").tried("x.desktop x.plist", "desktop.md macos/Info.plist"),
    row("SUS-26", "suspect.opaque", Warn, "a review can't read it", "*.so *.so.* *.dylib *.dll *.node *.jar *.whl *.exe").tried("lib/x.so.1", "so.rs exe.md"),
    row("SUS-27", "suspect.path_hijack", Block, "stands in for a common program", "bin/git bin/ls bin/node bin/cargo bin/python bin/python3 bin/npm bin/sh bin/bash node_modules/.bin/** venv/bin/** .venv/**").tried("x/bin/git", "bin/gitx git"),
    row("SUS-28", "suspect.secret", Warn, "may hold a secret", ".env .env.*").except(".env*.example .env*.sample .env*.template .env*.dist").changed(Change::Lines).tried(".env .env.local", ".env.example .env.production.example env.py"),
    row("SUS-28", "suspect.secret", Warn, "may hold a secret", ".env* *.pem id_* *.key *.p12 *.pfx").except(".env .env.* .env*.example .env*.sample .env*.template .env*.dist .env-example .env_example id_*.*").tried(".envrc.local .env-local x/server.key id_ed25519", ".env-example id_test.go env.py"),
    row("SUS-28", "suspect.secret", Warn, "may hold a secret", "id_rsa* id_dsa* id_ecdsa* id_ed25519*").except("*.pub").tried("id_rsa.old", "id_rsa.pub"),
    row("SUS-29", "suspect.own_policy", Block, "tells lazaret what to copy and what to allow", "lazaret.toml .lazaretignore").tried("lazaret.toml", "lazaret.md"),
];
