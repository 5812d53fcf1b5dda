//! SUS-15, SUS-18 and `Cargo.toml`: manifests, key by key.

use insta::assert_snapshot;
use lazaret_tests::tree_text::quote;

use crate::{render, verdict};

fn file(name: &str, text: &str) -> String {
    let text = quote(text.as_bytes());
    match text.starts_with('"') {
        true => format!("f {name} {text}"),
        false => format!("f {name} \"{text}\""),
    }
}

/// The findings about a manifest that becomes another.
fn change(name: &str, before: &str, after: &str) -> String {
    findings(&file(name, before), &file(name, after))
}

fn new(name: &str, after: &str) -> String {
    findings("", &file(name, after))
}

fn findings(before: &str, after: &str) -> String {
    let text = render(&verdict(before, after));
    let lines = text.lines().take_while(|line| !line.starts_with("= "));
    lines.collect::<Vec<_>>().join("\n")
}

/// A manifest that gets one more piece at `*`.
#[track_caller]
fn adds(name: &str, text: &str, piece: &str) -> String {
    assert!(text.contains('*'));
    change(name, &text.replace('*', ""), &text.replace('*', piece))
}

const PACKAGE: &str = r#"{
  "name": "hello",
  "version": "1.0.0",
  "scripts": {
    "test": "vitest"
  },
  "dependencies": {
    "once": "^1.4.0"
  }*
}
"#;

fn package(piece: &str) -> String {
    adds("package.json", PACKAGE, &format!(",\n  {piece}"))
}

fn script(piece: &str) -> String {
    let after = PACKAGE
        .replace('*', "")
        .replace("\"vitest\"", &format!("\"vitest\",\n    {piece}"));
    change("package.json", &PACKAGE.replace('*', ""), &after)
}

fn dependency(spec: &str) -> String {
    let after = PACKAGE
        .replace('*', "")
        .replace("\"^1.4.0\"", &format!("\"{spec}\""));
    change("package.json", &PACKAGE.replace('*', ""), &after)
}

#[test]
fn sus_15_install_hooks() {
    assert_snapshot!(script("\"postinstall\": \"node steal.js\""), @"block manifest.install_hook package.json:6: `scripts.postinstall` runs by itself, at install or around it: node steal.js");
    for hook in [
        "preinstall",
        "install",
        "prepare",
        "prepublish",
        "prepublishOnly",
        "prepack",
        "dependencies",
    ] {
        let found = script(&format!("\"{hook}\": \"x\""));
        assert!(
            found.starts_with("block manifest.install_hook package.json:6: `scripts."),
            "{found}"
        );
    }
    let with = PACKAGE.replace('*', "").replace("\"test\"", "\"prepare\"");
    assert_snapshot!(change("package.json", &with, &with.replace("vitest", "evil")), @"block manifest.install_hook package.json:5: `scripts.prepare` runs by itself, at install or around it: evil");
    // One that was there, and one that goes.
    assert_snapshot!(change("package.json", &with, &with.replace("1.0.0", "1.0.1")), @"");
    assert_snapshot!(change("package.json", &with, &PACKAGE.replace('*', "")), @"warn manifest.script package.json:5: `scripts.test` is run by name: vitest");
    assert_snapshot!(new("package.json", &with), @"block manifest.install_hook package.json:5: `scripts.prepare` runs by itself, at install or around it: vitest");
    assert_snapshot!(new("node_modules/a/package.json", &with), @"
    warn suspect.node_modules node_modules/a/package.json: `node_modules` has no `package.json` beside it, and Node finds what is in it before any installed package
    warn manifest.install_hook node_modules/a/package.json:5: `scripts.prepare` runs by itself, at install or around it: vitest
    ");
    assert_snapshot!(dependency("exec:./make.js"), @"block manifest.install_hook package.json:8: `dependencies.once` is made by a script that runs at install: exec:./make.js");
}

#[test]
fn sus_15_scripts_and_settings() {
    assert_snapshot!(script("\"pretest\": \"x\""), @"warn manifest.script package.json:6: `scripts.pretest` is run by name: x");
    assert_snapshot!(script("\"preinstalls\": \"x\""), @"warn manifest.script package.json:6: `scripts.preinstalls` is run by name: x");
    assert_snapshot!(package("\"bin\": {\"node\": \"./x.js\"}"), @"warn manifest.script package.json:10: `bin.node` becomes a program on the path: ./x.js");
    assert_snapshot!(package("\"bin\": \"./x.js\""), @"warn manifest.script package.json:10: `bin` becomes a program on the path: ./x.js");
    assert_snapshot!(package("\"overrides\": {\"once\": {\"wrappy\": \"1.0.1\"}}"), @"warn manifest.setting package.json:10: `overrides.once.wrappy` configures what is installed or run: 1.0.1");
    assert_snapshot!(package("\"resolutions\": {\"**/wrappy\": \"1.0.1\"}"), @"warn manifest.setting package.json:10: `resolutions.**/wrappy` configures what is installed or run: 1.0.1");
    assert_snapshot!(package("\"packageManager\": \"pnpm@9.0.0\""), @"warn manifest.setting package.json:10: `packageManager` configures what is installed or run: pnpm@9.0.0");
    assert_snapshot!(package("\"workspaces\": [\"packages/x\"]"), @"warn manifest.setting package.json:10: `workspaces` configures what is installed or run");
    assert_snapshot!(package("\"pnpm\": {\"onlyBuiltDependencies\": [\"evil\"]}"), @"warn manifest.setting package.json:10: `pnpm.onlyBuiltDependencies` configures what is installed or run");
    assert_snapshot!(package("\"publishConfig\": {\"registry\": \"https://evil.example\"}"), @"warn manifest.setting package.json:10: `publishConfig.registry` configures what is installed or run: https://evil.example");
    assert_snapshot!(package("\"simple-git-hooks\": {\"pre-commit\": \"x\"}"), @"warn manifest.setting package.json:10: `simple-git-hooks.pre-commit` configures what is installed or run: x");
    assert_snapshot!(package("\"scripts\": [\"x\"]"), @"
    block manifest.repeated_key package.json:10: `scripts` is there twice, and readers differ in which they take
    warn manifest.script package.json:10: `scripts` is run by name
    ");
    assert_snapshot!(change("package.json", "{\"packageManager\": \"pnpm@9.0.0\"}", "{}"), @"warn manifest.setting package.json: `packageManager` was removed: it configures what is installed or run");
}

#[test]
fn sus_15_ordinary_changes_are_quiet() {
    for piece in [
        "\"description\": \"x\"",
        "\"license\": \"MIT\"",
        "\"exports\": {\".\": \"./x.js\"}",
        "\"type\": \"module\"",
        "\"devDependencies\": {\"a\": \"^1.0.0 || ~2\", \"b\": \"latest\", \"c\": \">=1 <2\", \"d\": \"workspace:*\", \"e\": \"npm:^1.0.0\"}",
        "\"keywords\": []",
        "\"engines\": {\"node\": \">=20\"}",
    ] {
        assert_eq!(package(piece), "", "{piece}");
    }
    assert_eq!(dependency("^2.0.0"), "");
    // The order of keys says nothing.
    assert_eq!(
        change(
            "package.json",
            "{\"a\": 1, \"b\": {\"c\": 1, \"d\": 2}}",
            "{\"b\": {\"d\": 2, \"c\": 1}, \"a\": 1}"
        ),
        ""
    );
}

#[test]
fn sus_15_dependencies_from_elsewhere() {
    assert_snapshot!(dependency("git+https://code.example/evil/once.git"), @"warn manifest.dependency package.json:8: `dependencies.once` comes from elsewhere than the registry: git+https://code.example/evil/once.git");
    assert_snapshot!(dependency("http://evil.example/once.tgz"), @"warn manifest.dependency package.json:8: `dependencies.once` comes from elsewhere than the registry: http://evil.example/once.tgz");
    assert_snapshot!(dependency("evil/once"), @"warn manifest.dependency package.json:8: `dependencies.once` comes from elsewhere than the registry: evil/once");
    assert_snapshot!(dependency("file:../once"), @"warn manifest.dependency package.json:8: `dependencies.once` comes from elsewhere than the registry: file:../once");
    assert_snapshot!(dependency("npm:evil@^1.0.0"), @"warn manifest.dependency package.json:8: `dependencies.once` has the contents of another package: npm:evil@^1.0.0");
    assert_snapshot!(dependency("npm:@evil/once"), @"warn manifest.dependency package.json:8: `dependencies.once` has the contents of another package: npm:@evil/once");
    assert_snapshot!(dependency("\\u001b[2J/x"), @r#"warn manifest.dependency package.json:8: `dependencies.once` comes from elsewhere than the registry: \u{1b}[2J/x"#);
}

#[test]
fn sus_15_unreadable_or_read_differently() {
    let before = PACKAGE.replace('*', "");
    assert_snapshot!(change("package.json", &before, "{"), @"block manifest.unreadable package.json:1: can't be read as the manifest that its name says: is not well-formed JSON");
    assert_snapshot!(new("package.json", "{"), @"warn manifest.unreadable package.json:1: can't be read as the manifest that its name says: is not well-formed JSON");
    assert_snapshot!(new("package.json", "[]"), @"warn manifest.setting package.json:1: what it holds is no table");
    assert_snapshot!(change("package.json", "{", &before), @"
    warn manifest.no_baseline package.json: there is nothing to compare with, because what was there before is not well-formed JSON
    warn manifest.script package.json:5: `scripts.test` is run by name: vitest
    ");
    assert_snapshot!(change("package.json", &before, &before.replace("\"vitest\"", "\"evil\",\n    \"test\": \"vitest\"")), @"
    block manifest.repeated_key package.json:6: `test` is there twice, and readers differ in which they take
    warn manifest.script package.json:5: `scripts.test` is run by name: evil
    ");
    let twice = before.replace("\"1.0.0\"", "\"1.0.0\",\n  \"version\": \"1.0.0\"");
    assert_snapshot!(change("package.json", &twice, &twice.replace("hello", "world")), @"warn manifest.repeated_key package.json:4: `version` is there twice, and readers differ in which they take");
    assert_snapshot!(change("package.json", &before, &format!("\u{feff}{before}")), @"");
    assert_snapshot!(change("package.json", &before, &before.replace('\n', "\r\n")), @"");
    assert_snapshot!(findings(&file("package.json", &before), "f x \"1\"\nl package.json -> x"), @"
    warn manifest.link package.json: a link stands where a manifest is looked for
    warn manifest.setting x:1: by the link `package.json`: what it holds is no table
    ");
    assert_snapshot!(findings(&file("package.json", &before), ""), @"note manifest.deleted package.json: the package.json was deleted");
}

const PYPROJECT: &str = "[build-system]
requires = [\"hatchling\"]
build-backend = \"hatchling.build\"

[project]
name = \"hello\"
version = \"0.1.0\"
dependencies = [\"idna>=3\"]

*
";

fn pyproject(piece: &str) -> String {
    adds("pyproject.toml", PYPROJECT, piece)
}

#[track_caller]
fn pyproject_edit(from: &str, to: &str) -> String {
    let before = PYPROJECT.replace('*', "");
    assert!(before.contains(from));
    change("pyproject.toml", &before, &before.replace(from, to))
}

#[test]
fn sus_18_build_system() {
    assert_snapshot!(pyproject_edit("[\"hatchling\"]", "[\"hatchling\", \"evil\"]"), @"warn manifest.build pyproject.toml:2: `build-system.requires` chooses the code that builds the package");
    assert_snapshot!(pyproject_edit("hatchling.build\"", "backend\"\nbackend-path = [\".\"]"), @"
    warn manifest.build pyproject.toml:3: `build-system.build-backend` chooses the code that builds the package: backend
    warn manifest.build pyproject.toml:4: `build-system.backend-path` chooses the code that builds the package
    ");
    assert_snapshot!(new("pyproject.toml", &PYPROJECT.replace('*', "")), @"
    warn manifest.build pyproject.toml:2: `build-system.requires` chooses the code that builds the package
    warn manifest.build pyproject.toml:3: `build-system.build-backend` chooses the code that builds the package: hatchling.build
    ");
}

#[test]
fn sus_18_indexes() {
    for piece in [
        "[[tool.uv.index]]\nurl = \"https://evil.example/simple\"",
        "[tool.uv]\nindex-url = \"https://evil.example\"",
        "[tool.uv.pip]\nextra-index-url = [\"https://evil.example\"]",
        "[tool.uv]\nfind-links = [\"x\"]",
        "[[tool.poetry.source]]\nname = \"x\"\nurl = \"https://evil.example\"",
        "[[tool.pdm.source]]\nurl = \"https://evil.example\"",
        "[[tool.rye.sources]]\nurl = \"https://evil.example\"",
        "[tool.uv]\nallow-insecure-host = [\"evil.example\"]",
        "[tool.pixi.workspace]\nchannels = [\"evil\"]",
    ] {
        let found = pyproject(piece);
        assert!(
            found.starts_with("block manifest.registry pyproject.toml:1"),
            "{piece}: {found}"
        );
    }
    assert_snapshot!(pyproject("[tool.uv]\nindex-url = \"https://evil.example\""), @"block manifest.registry pyproject.toml:11: `tool.uv.index-url` chooses where packages come from: https://evil.example");
}

#[test]
fn sus_18_scripts_hooks_and_sources() {
    assert_snapshot!(pyproject("[project.scripts]\ngit = \"hello:main\""), @"warn manifest.script pyproject.toml:11: `project.scripts.git` becomes a program on the path, or is loaded by one: hello:main");
    assert_snapshot!(pyproject("[project.entry-points.pytest11]\nx = \"hello.x\""), @"warn manifest.script pyproject.toml:11: `project.entry-points.pytest11.x` becomes a program on the path, or is loaded by one: hello.x");
    for piece in [
        "[tool.hatch.build.hooks.custom]\npath = \"x.py\"",
        "[tool.setuptools.cmdclass]\nbuild_py = \"x\"",
        "[tool.pdm.scripts]\nx = \"y\"",
        "[tool.poe.tasks]\nx = \"y\"",
        "[tool.poetry.plugins.x]\ny = \"z\"",
        "[tool.pytest.ini_options]\naddopts = \"-p evil\"",
        "[tool.mypy]\nplugins = [\"evil\"]",
        "[tool.tox]\nlegacy_tox_ini = \"\"",
    ] {
        let found = pyproject(piece);
        assert!(
            found.starts_with("warn manifest.script pyproject.toml:1"),
            "{piece}: {found}"
        );
    }
    assert_snapshot!(pyproject("[tool.uv.sources]\nidna = { git = \"https://code.example/evil/idna\" }"), @"warn manifest.dependency pyproject.toml:11: `tool.uv.sources.idna.git` has a dependency from elsewhere than the registry: https://code.example/evil/idna");
    assert_snapshot!(pyproject("[tool.poetry.dependencies]\nidna = { url = \"https://evil.example/idna.whl\" }"), @"warn manifest.dependency pyproject.toml:11: `tool.poetry.dependencies.idna.url` has a dependency from elsewhere than the registry: https://evil.example/idna.whl");
    assert_snapshot!(pyproject_edit("\"idna>=3\"", "\"idna @ https://evil.example/idna.whl\""), @"warn manifest.dependency pyproject.toml:8: `project.dependencies` has a dependency from elsewhere than the registry");
}

#[test]
fn sus_18_the_rest_is_a_note() {
    assert_snapshot!(pyproject_edit("0.1.0", "0.2.0"), @"note manifest.changed pyproject.toml: nothing changed that runs or fetches something");
    for piece in [
        "[tool.ruff]\nline-length = 100",
        "[tool.black]\ntarget-version = [\"py312\"]",
        "[tool.coverage.run]\nsource = [\"hello\"]",
        "[tool.poetry.dependencies]\nidna = \"^3\"",
    ] {
        let found = pyproject(piece);
        assert!(
            found.starts_with("note manifest.changed"),
            "{piece}: {found}"
        );
    }
    assert_snapshot!(pyproject_edit("\"idna>=3\"", "\"idna>=3\", \"rich>=13; python_version > '3.8'\""), @"note manifest.changed pyproject.toml: nothing changed that runs or fetches something");
    assert_snapshot!(pyproject_edit("[project]", "[project"), @"block manifest.unreadable pyproject.toml:5: can't be read as the manifest that its name says: is not well-formed TOML");
}

#[test]
fn sus_18_setup_cfg() {
    let text = "[metadata]\nname = hello\n\n[options]\ninstall_requires =\n    idna\n*\n";
    let adds = |piece: &str| adds("setup.cfg", text, piece);
    assert_snapshot!(adds("    rich>=13"), @"note manifest.changed setup.cfg: nothing changed that runs or fetches something");
    assert_snapshot!(adds("    rich @ https://evil.example/rich.whl"), @"warn manifest.dependency setup.cfg:5: `options.install_requires` has a dependency from elsewhere than the registry: idna rich @ https://evil.example/rich.whl");
    assert_snapshot!(adds("setup_requires = evil"), @"warn manifest.build setup.cfg:7: `options.setup_requires` chooses the code that builds the package: evil");
    assert_snapshot!(adds("[options.entry_points]\nconsole_scripts =\n    git = hello:main"), @"warn manifest.script setup.cfg:8: `options.entry_points.console_scripts` says what a tool runs or loads: git = hello:main");
    assert_snapshot!(adds("[easy_install]\nindex_url = https://evil.example"), @"block manifest.registry setup.cfg:8: `easy_install.index_url` chooses where packages come from: https://evil.example");
    assert_snapshot!(adds("[tool:pytest]\naddopts = -p evil"), @"warn manifest.script setup.cfg:8: `tool:pytest.addopts` says what a tool runs or loads: -p evil");
    assert_snapshot!(adds("[global]\ncommand_packages = evil"), @"warn manifest.script setup.cfg:8: `global.command_packages` says what a tool runs or loads: evil");
    assert_snapshot!(adds("[metadata]\nname = x"), @"
    block manifest.repeated_key setup.cfg:7: `metadata` is there twice, and readers differ in which they take
    note manifest.changed setup.cfg: nothing changed that runs or fetches something
    ");
    assert_snapshot!(adds("no key"), @"block manifest.unreadable setup.cfg:7: can't be read as the manifest that its name says: is no key with a value");
}

#[test]
fn sus_17_cargo_toml() {
    let text =
        "[package]\nname = \"hello\"\nversion = \"0.1.0\"\n\n[dependencies]\nlog = \"0.4\"\n*\n";
    let adds = |piece: &str| adds("Cargo.toml", text, piece);
    assert_snapshot!(adds("cfg-if = { git = \"https://code.example/evil/cfg-if\", branch = \"x\" }"), @"
    warn manifest.cargo_source Cargo.toml:7: `dependencies.cfg-if.branch` comes from a repository: x
    warn manifest.cargo_source Cargo.toml:7: `dependencies.cfg-if.git` comes from a repository: https://code.example/evil/cfg-if
    ");
    assert_snapshot!(adds("cfg-if = { version = \"1\", registry = \"evil\" }"), @"warn manifest.cargo_source Cargo.toml:7: `dependencies.cfg-if.registry` comes from another registry: evil");
    assert_snapshot!(adds("cfg-if = { version = \"1\", package = \"evil\" }"), @"warn manifest.cargo_source Cargo.toml:7: `dependencies.cfg-if.package` has the contents of another package: evil");
    assert_snapshot!(adds("cfg-if = { path = \"/tmp/evil\" }"), @"warn manifest.cargo_source Cargo.toml:7: `dependencies.cfg-if.path` comes from outside the workspace: /tmp/evil");
    assert_snapshot!(adds("[target.'cfg(unix)'.build-dependencies.cc]\ngit = \"https://code.example/evil/cc\""), @"warn manifest.cargo_source Cargo.toml:8: `target.cfg(unix).build-dependencies.cc.git` comes from a repository: https://code.example/evil/cc");
    assert_snapshot!(adds("[patch.registry]\nlog = { path = \"log\" }"), @"warn manifest.cargo_patch Cargo.toml:8: `patch.registry.log.path` replaces a dependency by another: log");
    assert_snapshot!(adds("[lib]\nproc-macro = true"), @"warn manifest.cargo_build Cargo.toml:8: `lib.proc-macro` has something run or passed on at build");
    assert_snapshot!(change("Cargo.toml", &text.replace('*', ""), &text.replace('*', "").replace("0.1.0\"", "0.1.0\"\nbuild = \"x.rs\"\nlinks = \"z\"")), @"
    warn manifest.cargo_build Cargo.toml:4: `package.build` has something run or passed on at build: x.rs
    warn manifest.cargo_build Cargo.toml:5: `package.links` has something run or passed on at build: z
    ");
    for piece in [
        "cfg-if = \"1\"",
        "cfg-if = { version = \"1\", features = [\"x\"], path = \"cfg-if\" }",
        "[profile.release]\nlto = true",
        "[features]\ndefault = []",
        "[dev-dependencies]\ninsta.workspace = true",
        "[lints]\nworkspace = true",
    ] {
        assert_eq!(adds(piece), "", "{piece}");
    }
    assert_snapshot!(adds("log = \"0.5\""), @"block manifest.unreadable Cargo.toml:7: can't be read as the manifest that its name says: is not well-formed TOML");
}

#[test]
fn sus_15_native_addons() {
    assert_snapshot!(new("binding.gyp", "{}"), @"warn suspect.native_addon binding.gyp: npm runs node-gyp at install because it is there");
}

/// What each piece of a manifest is told of: the first finding of a change that adds it.
#[test]
fn sus_32_what_comes_from_elsewhere_or_is_run() {
    const CARGO: &str = "[package]\nname = \"x\"\n";
    const PYTHON: &str = "[project]\nname = \"x\"\n";
    for (name, before, piece, code) in [
        (
            "requirements.txt",
            "a==1\n",
            "--index-url https://a.test/simple\n",
            "manifest.requirement",
        ),
        (
            "requirements.txt",
            "a==1\n",
            "--extra-index-url=https://a.test/simple\n",
            "manifest.requirement",
        ),
        (
            "requirements.txt",
            "a==1\n",
            "-i https://a.test/simple\n",
            "manifest.requirement",
        ),
        (
            "requirements.txt",
            "a==1\n",
            "--find-links ./wheels\n",
            "manifest.requirement",
        ),
        (
            "requirements.txt",
            "a==1\n",
            "--trusted-host a.test\n",
            "manifest.requirement",
        ),
        (
            "requirements.txt",
            "a==1\n",
            "b @ https://a.test/b.whl\n",
            "manifest.requirement",
        ),
        (
            "requirements.txt",
            "a==1\n",
            "https://a.test/b.whl\n",
            "manifest.requirement",
        ),
        (
            "requirements.txt",
            "a==1\n",
            "git+https://a.test/b#egg=b\n",
            "manifest.requirement",
        ),
        (
            "requirements.txt",
            "a==1\n",
            "-e ./b\n",
            "manifest.requirement",
        ),
        (
            "requirements.txt",
            "a==1\n",
            "./b.whl\n",
            "manifest.requirement",
        ),
        (
            "requirements.txt",
            "a==1\n",
            "-r ../../b.txt\n",
            "manifest.requirement",
        ),
        ("requirements.txt", "a==1\n", "b==2\n", ""),
        (
            "requirements.txt",
            "a==1\n",
            "# -i https://a.test/simple\n",
            "",
        ),
        ("requirements.txt", "a==1\n", "-r base.txt\n", ""),
        (
            "requirements/dev.txt",
            "a==1\n",
            "-i https://a.test/simple\n",
            "manifest.requirement",
        ),
        (
            "dev-requirements.in",
            "a==1\n",
            "-i https://a.test/simple\n",
            "manifest.requirement",
        ),
        ("notes/dev.txt", "a==1\n", "-i https://a.test/simple\n", ""),
        (
            "go.mod",
            "module x\n",
            "replace a.test/b => ../b\n",
            "manifest.go",
        ),
        (
            "go.mod",
            "module x\n",
            "replace (\n\ta.test/b => c.test/b v1\n)\n",
            "manifest.go",
        ),
        ("go.mod", "module x\n", "toolchain go1.99\n", "manifest.go"),
        ("go.mod", "module x\n", "require a.test/b v1\n", ""),
        ("go.work", "go 1.22\n", "use ../b\n", "manifest.go"),
        ("go.work", "go 1.22\n", "use ./b\n", ""),
        (
            "Cargo.toml",
            CARGO,
            "[lib]\ncrate-type = [\"proc-macro\"]\n",
            "manifest.cargo_build",
        ),
        (
            "Cargo.toml",
            CARGO,
            "[lib]\nproc-macro = true\n",
            "manifest.cargo_build",
        ),
        (
            "Cargo.toml",
            CARGO,
            "[lib]\ncrate-type = [\"cdylib\"]\n",
            "",
        ),
        (
            "Cargo.toml",
            CARGO,
            "[dependencies]\nb = { path = \"../b\" }\n",
            "manifest.cargo_source",
        ),
        (
            "Cargo.toml",
            CARGO,
            "[dependencies]\nb = { path = \"b/../../c\" }\n",
            "manifest.cargo_source",
        ),
        (
            "Cargo.toml",
            CARGO,
            "[dependencies]\nb = { path = \"b\" }\n",
            "",
        ),
        (
            "crates/x/Cargo.toml",
            CARGO,
            "[dependencies]\nb = { path = \"../../b\" }\n",
            "",
        ),
        (
            "crates/x/Cargo.toml",
            CARGO,
            "[dependencies]\nb = { path = \"../../../b\" }\n",
            "manifest.cargo_source",
        ),
        (
            "pyproject.toml",
            PYTHON,
            "[tool.hatch.version]\nsource = \"code\"\n",
            "manifest.build",
        ),
        (
            "pyproject.toml",
            PYTHON,
            "[tool.setuptools.dynamic]\nversion = { attr = \"x.y\" }\n",
            "manifest.build",
        ),
        (
            "pyproject.toml",
            PYTHON,
            "[tool.setuptools.dynamic]\nversion = { file = \"V\" }\n",
            "",
        ),
        (
            "pyproject.toml",
            PYTHON,
            "[tool.pdm.version]\nsource = \"call\"\ngetter = \"x:y\"\n",
            "manifest.build",
        ),
        (
            "setup.cfg",
            "[metadata]\nname = x\n",
            "version = attr: x.y\n",
            "manifest.build",
        ),
    ] {
        let found = change(name, before, &format!("{before}{piece}"));
        let is_named = match code {
            "" => !found.contains("warn ") && !found.contains("block "),
            code => found.contains(&format!("warn {code} {name}:")),
        };
        assert!(is_named, "{name}: {piece}: {code:?} in\n{found}");
    }
    let hashes = |hash: &str| format!("a==1 \\\n    --hash=sha256:{hash}\n");
    assert_snapshot!(change("requirements.txt", &hashes("aa"), &hashes("bb")), @"
    warn manifest.requirement requirements.txt:1: `a==1` has other hashes, so other contents
    ");
    let updated = hashes("bb").replace("a==1", "a==2");
    assert_snapshot!(change("requirements.txt", &hashes("aa"), &updated), @"");
}
