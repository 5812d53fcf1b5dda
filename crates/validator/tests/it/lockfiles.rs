//! SUS-23: lockfiles, both sides of a change.

use insta::assert_snapshot;
use lazaret_tests::tree_text::quote;

use crate::{render, verdict};

macro_rules! sample {
    ($path:literal) => {
        include_str!(concat!("../samples/", $path))
    };
}

fn file(name: &str, text: &str) -> String {
    let text = quote(text.as_bytes());
    match text.starts_with('"') {
        true => format!("f {name} {text}"),
        false => format!("f {name} \"{text}\""),
    }
}

/// Judges a lockfile that is new.
fn new(name: &str, after: &str) -> String {
    findings("", &file(name, after))
}

/// Judges a lockfile in which pieces are replaced; each must be there.
#[track_caller]
fn edited(name: &str, before: &str, edits: &[(&str, &str)]) -> String {
    let mut after = before.to_owned();
    for (from, to) in edits {
        assert!(after.contains(from), "{from:?} is not there");
        after = after.replace(from, to);
    }
    findings(&file(name, before), &file(name, &after))
}

/// The findings alone: whether something is withheld follows from them.
fn findings(before: &str, after: &str) -> String {
    let text = render(&verdict(before, after));
    let lines = text.lines().take_while(|line| !line.starts_with("= "));
    lines.collect::<Vec<_>>().join("\n")
}

const CARGO: &str = sample!("cargo-3/Cargo.lock");
const NPM: &str = sample!("npm-2/package-lock.json");
const NPM_3: &str = sample!("npm-3/npm-shrinkwrap.json");
const YARN: &str = sample!("yarn-1/yarn.lock");
const BERRY: &str = sample!("yarn-berry/yarn.lock");
const PNPM_5: &str = sample!("pnpm-5/pnpm-lock.yaml");
const PNPM_9: &str = sample!("pnpm-9/pnpm-lock.yaml");
const UV: &str = sample!("uv-1/uv.lock");
const POETRY_1: &str = sample!("poetry-1/poetry.lock");
const POETRY: &str = sample!("poetry-2/poetry.lock");
const GO: &str = sample!("go/go.sum");
const GEMFILE: &str = sample!("gemfile/Gemfile.lock");

#[test]
fn sus_23_another_hash() {
    assert_snapshot!(edited("Cargo.lock", CARGO, &[("baf1de43", "deadbeef")]), @"
    block lockfile.integrity Cargo.lock:5: cfg-if 1.0.0 has another hash, so other contents
    note lockfile.changed Cargo.lock: packages: 0 added, 0 removed, 1 updated
    ");
    assert_snapshot!(edited("package-lock.json", NPM, &[("sha512-lNaJgI", "sha512-AAAAAA")]), @"
    block lockfile.integrity package-lock.json:14: once 1.4.0 has another hash, so other contents
    note lockfile.changed package-lock.json: packages: 0 added, 0 removed, 1 updated
    ");
    assert_snapshot!(edited("yarn.lock", YARN, &[("#19203fb5", "#deadbeef")]), @"
    block lockfile.integrity yarn.lock:12: js-tokens 4.0.0 has another hash, so other contents
    note lockfile.changed yarn.lock: packages: 0 added, 0 removed, 1 updated
    ");
    assert_snapshot!(edited("yarn.lock", BERRY, &[("10c0/1e525e92", "10c0/deadbeef")]), @"
    block lockfile.integrity yarn.lock:38: strings 4.2.3 has another hash, so other contents
    note lockfile.changed yarn.lock: packages: 0 added, 0 removed, 1 updated
    ");
    assert_snapshot!(edited("pnpm-lock.yaml", PNPM_5, &[("sha512-v2kDEe57", "sha512-AAAAAAAA")]), @"
    block lockfile.integrity pnpm-lock.yaml:18: lodash 4.17.21 has another hash, so other contents
    note lockfile.changed pnpm-lock.yaml: packages: 0 added, 0 removed, 1 updated
    ");
    assert_snapshot!(edited("pnpm-lock.yaml", PNPM_9, &[("sha512-v2kDEe57", "sha512-AAAAAAAA")]), @"
    block lockfile.integrity pnpm-lock.yaml:27: lodash 4.17.21 has another hash, so other contents
    note lockfile.changed pnpm-lock.yaml: packages: 0 added, 0 removed, 1 updated
    ");
    assert_snapshot!(edited("uv.lock", UV, &[("sha256:c05567e9", "sha256:deadbeef")]), @"
    block lockfile.integrity uv.lock:26: idna 3.6 has another hash, so other contents
    note lockfile.changed uv.lock: packages: 0 added, 0 removed, 1 updated
    ");
    assert_snapshot!(edited("poetry.lock", POETRY, &[("sha256:c05567e9", "sha256:deadbeef")]), @"
    block lockfile.integrity poetry.lock:11: idna 3.6 has another hash, so other contents
    note lockfile.changed poetry.lock: packages: 0 added, 0 removed, 1 updated
    ");
    assert_snapshot!(edited("poetry.lock", POETRY_1, &[("sha256:c05567e9", "sha256:deadbeef")]), @"
    block lockfile.integrity poetry.lock:16: idna 3.6 has another hash, so other contents
    note lockfile.changed poetry.lock: packages: 0 added, 0 removed, 1 updated
    ");
    assert_snapshot!(edited("go.sum", GO, &[("h1:fxVm", "h1:AAAA")]), @"
    block lockfile.integrity go.sum:3: yaml.example/yaml.v3 v3.0.1 has another hash, so other contents
    note lockfile.changed go.sum: packages: 0 added, 0 removed, 1 updated
    ");
    assert_snapshot!(edited("Gemfile.lock", GEMFILE, &[("sha256=b785ab8a", "sha256=deadbeef")]), @"
    block lockfile.integrity Gemfile.lock:19: racc 1.7.3 has another hash, so other contents
    note lockfile.changed Gemfile.lock: packages: 0 added, 0 removed, 1 updated
    ");
}

#[test]
fn sus_23_no_hash_any_more() {
    let checksum =
        "checksum = \"baf1de4339761588bc0619e3cbc0120ee582ebb74b53b4efbf79117bd2da40fd\"\n";
    assert_snapshot!(edited("Cargo.lock", CARGO, &[(checksum, "")]), @"
    block lockfile.integrity Cargo.lock:5: cfg-if 1.0.0 has no hash any more
    note lockfile.changed Cargo.lock: packages: 0 added, 0 removed, 1 updated
    ");
    assert_snapshot!(edited("npm-shrinkwrap.json", NPM_3, &[("\"integrity\": \"sha512-dLitG79d", "\"x\": \"sha512-dLitG79d")]), @"
    block lockfile.integrity npm-shrinkwrap.json:18: chalk 5.3.0 has no hash any more
    note lockfile.changed npm-shrinkwrap.json: packages: 0 added, 0 removed, 1 updated
    ");
    assert_snapshot!(edited("Gemfile.lock", GEMFILE, &[(" sha256=b785ab8a30ec43bce073c51dbbe791fd27000f68d1996c95da98bf685316905", "")]), @"
    block lockfile.integrity Gemfile.lock:19: racc 1.7.3 has no hash any more
    note lockfile.changed Gemfile.lock: packages: 0 added, 0 removed, 1 updated
    ");
}

#[test]
fn sus_23_another_host_or_scheme() {
    assert_snapshot!(edited("Cargo.lock", CARGO, &[("registry+https://registry.example/", "registry+https://evil.example/")]), @"
    block lockfile.source Cargo.lock:5: cfg-if 1.0.0 comes from registry+https://evil.example, and came from registry+https://registry.example
    warn lockfile.new_source Cargo.lock:5: nothing came from registry+https://evil.example before, and now cfg-if 1.0.0 does
    note lockfile.changed Cargo.lock: packages: 0 added, 0 removed, 1 updated
    ");
    assert_snapshot!(edited("package-lock.json", NPM, &[("https://registry.example/once", "https://registry.example.evil.example/once")]), @"
    block lockfile.source package-lock.json:14: once 1.4.0 comes from https://registry.example.evil.example, and came from https://registry.example
    warn lockfile.new_source package-lock.json:14: nothing came from https://registry.example.evil.example before, and now once 1.4.0 and 1 more do
    note lockfile.changed package-lock.json: packages: 0 added, 0 removed, 1 updated
    ");
    assert_snapshot!(edited("package-lock.json", NPM, &[("https://registry.example/once", "http://registry.example/once")]), @"
    block lockfile.insecure package-lock.json:14: once 1.4.0 comes from http://registry.example, and came from https://registry.example
    note lockfile.changed package-lock.json: packages: 0 added, 0 removed, 1 updated
    ");
    assert_snapshot!(edited("package-lock.json", NPM, &[("https://registry.example/once", "https://registry.example@evil.example/once")]), @"
    block lockfile.source package-lock.json:14: once 1.4.0 comes from https://registry.example@evil.example, and came from https://registry.example
    warn lockfile.new_source package-lock.json:14: nothing came from https://registry.example@evil.example before, and now once 1.4.0 and 1 more do
    note lockfile.changed package-lock.json: packages: 0 added, 0 removed, 1 updated
    ");
    assert_snapshot!(edited("package-lock.json", NPM, &[("https://registry.example/once", "https://registry.example\\\\@evil.example/once")]), @r#"
    block lockfile.source package-lock.json:14: once 1.4.0 comes from https://registry.example\\@evil.example/once/-/once-1.4.0.tgz, and came from https://registry.example
    warn lockfile.new_source package-lock.json:14: nothing came from https://registry.example\\@evil.example/once/-/once-1.4.0.tgz before, and now once 1.4.0 and 1 more do
    note lockfile.changed package-lock.json: packages: 0 added, 0 removed, 1 updated
    "#);
    assert_snapshot!(edited("yarn.lock", YARN, &[("https://registry.example/js-tokens", "https://evil.example/js-tokens")]), @"
    block lockfile.source yarn.lock:12: js-tokens 4.0.0 comes from https://evil.example, and came from https://registry.example
    warn lockfile.new_source yarn.lock:12: nothing came from https://evil.example before, and now js-tokens 4.0.0 does
    note lockfile.changed yarn.lock: packages: 0 added, 0 removed, 1 updated
    ");
    assert_snapshot!(edited("yarn.lock", BERRY, &[("mirror.example", "evil.example")]), @"
    block lockfile.source yarn.lock:30: js-tokens 4.0.0 comes from https://evil.example, and came from https://mirror.example
    warn lockfile.new_source yarn.lock:30: nothing came from https://evil.example before, and now js-tokens 4.0.0 does
    note lockfile.changed yarn.lock: packages: 0 added, 0 removed, 1 updated
    ");
    assert_snapshot!(edited("yarn.lock", BERRY, &[("\"@scope/code-frame@npm:7.12.13\"", "\"@scope/code-frame@npm:7.12.13::__archiveUrl=https%3A%2F%2Fevil.example%2Fa.tgz\"")]), @"
    block lockfile.source yarn.lock:8: @scope/code-frame 7.12.13 comes from https://evil.example, and came from the configured registry
    warn lockfile.new_source yarn.lock:8: nothing came from https://evil.example before, and now @scope/code-frame 7.12.13 does
    note lockfile.changed yarn.lock: packages: 0 added, 0 removed, 1 updated
    ");
    assert_snapshot!(edited("pnpm-lock.yaml", PNPM_9, &[("j5FvSg==}", "j5FvSg==, tarball: https://evil.example/lodash.tgz}")]), @"
    block lockfile.source pnpm-lock.yaml:27: lodash 4.17.21 comes from https://evil.example, and came from the configured registry
    warn lockfile.new_source pnpm-lock.yaml:27: nothing came from https://evil.example before, and now lodash 4.17.21 does
    note lockfile.changed pnpm-lock.yaml: packages: 0 added, 0 removed, 1 updated
    ");
    assert_snapshot!(edited("pnpm-lock.yaml", PNPM_5, &[("https://mirror.example/", "https://evil.example/")]), @"
    block lockfile.source pnpm-lock.yaml:40: left 1.0.0 comes from https://evil.example, and came from https://mirror.example
    warn lockfile.new_source pnpm-lock.yaml:40: nothing came from https://evil.example before, and now left 1.0.0 does
    note lockfile.changed pnpm-lock.yaml: packages: 0 added, 0 removed, 1 updated
    ");
    assert_snapshot!(edited("uv.lock", UV, &[("https://files.example/packages/c2", "https://evil.example/packages/c2")]), @"
    block lockfile.source uv.lock:26: idna 3.6 comes from https://evil.example, and came from https://files.example
    warn lockfile.new_source uv.lock:26: nothing came from https://evil.example before, and now idna 3.6 does
    note lockfile.changed uv.lock: packages: 0 added, 0 removed, 1 updated
    ");
    assert_snapshot!(edited("uv.lock", UV, &[("https://registry.example/simple", "https://evil.example/simple")]), @"
    block lockfile.source uv.lock:20: idna 3.6 comes from https://evil.example, and came from https://registry.example
    warn lockfile.new_source uv.lock:20: nothing came from https://evil.example before, and now idna 3.6 does
    note lockfile.changed uv.lock: packages: 0 added, 0 removed, 1 updated
    ");
    assert_snapshot!(edited("poetry.lock", POETRY, &[("https://registry.example/simple", "https://evil.example/simple")]), @"
    block lockfile.source poetry.lock:3: idna 3.6 comes from https://evil.example, and came from https://registry.example
    block lockfile.source poetry.lock:11: idna 3.6 comes from https://evil.example, and came from https://registry.example
    block lockfile.source poetry.lock:12: idna 3.6 comes from https://evil.example, and came from https://registry.example
    warn lockfile.new_source poetry.lock:11: nothing came from https://evil.example before, and now idna 3.6 and 2 more do
    note lockfile.changed poetry.lock: packages: 0 added, 0 removed, 1 updated
    ");
    assert_snapshot!(edited("Gemfile.lock", GEMFILE, &[("https://registry.example/", "https://evil.example/")]), @"
    block lockfile.source Gemfile.lock:17: nokogiri 1.16.0-x86_64-linux comes from https://evil.example, and came from https://registry.example
    block lockfile.source Gemfile.lock:19: racc 1.7.3 comes from https://evil.example, and came from https://registry.example
    block lockfile.source Gemfile.lock:20: rack 3.0.8 comes from https://evil.example, and came from https://registry.example
    warn lockfile.new_source Gemfile.lock:17: nothing came from https://evil.example before, and now nokogiri 1.16.0-x86_64-linux and 2 more do
    note lockfile.changed Gemfile.lock: packages: 0 added, 0 removed, 3 updated
    ");
    // From http to https nothing gets worse.
    let http = NPM.replace("https://", "http://");
    assert_snapshot!(edited("package-lock.json", &http, &[("http://", "https://")]), @"note lockfile.changed package-lock.json: packages: 0 added, 0 removed, 2 updated");
}

#[test]
fn sus_23_another_revision_or_repository() {
    assert_snapshot!(edited("Cargo.lock", CARGO, &[("#0123456789", "#ffffffffff")]), @"
    block lockfile.git_revision Cargo.lock:19: tool 0.3.0 is at another revision of its repository, ffffffffffabcdef0123456789abcdef01234567
    note lockfile.changed Cargo.lock: packages: 0 added, 0 removed, 1 updated
    ");
    assert_snapshot!(edited("Cargo.lock", CARGO, &[("code.example/team/", "code.example/evil/")]), @"
    block lockfile.source Cargo.lock:19: tool 0.3.0 comes from the repository git+https://code.example/evil/tool?branch=main at 0123456789abcdef0123456789abcdef01234567, and came from the repository git+https://code.example/team/tool?branch=main at 0123456789abcdef0123456789abcdef01234567
    note lockfile.changed Cargo.lock: packages: 0 added, 0 removed, 1 updated
    ");
    assert_snapshot!(edited("npm-shrinkwrap.json", NPM_3, &[("#0123456789", "#ffffffffff")]), @"
    block lockfile.git_revision npm-shrinkwrap.json:37: tool 0.3.0 is at another revision of its repository, ffffffffffabcdef0123456789abcdef01234567
    note lockfile.changed npm-shrinkwrap.json: packages: 0 added, 0 removed, 1 updated
    ");
    assert_snapshot!(edited("Gemfile.lock", GEMFILE, &[("revision: 0123", "revision: ffff")]), @"
    block lockfile.git_revision Gemfile.lock:6: tool 0.3.0 is at another revision of its repository, ffff456789abcdef0123456789abcdef01234567
    note lockfile.changed Gemfile.lock: packages: 0 added, 0 removed, 1 updated
    ");
    assert_snapshot!(edited("uv.lock", UV, &[("main#0123", "main#ffff")]), @"
    block lockfile.git_revision uv.lock:29: tool 0.3.0 is at another revision of its repository, ffff456789abcdef0123456789abcdef01234567
    note lockfile.changed uv.lock: packages: 0 added, 0 removed, 1 updated
    ");
    assert_snapshot!(edited("poetry.lock", POETRY, &[("resolved_reference = \"0123", "resolved_reference = \"ffff")]), @"
    block lockfile.git_revision poetry.lock:20: tool 0.3.0 is at another revision of its repository, ffff456789abcdef0123456789abcdef01234567
    note lockfile.changed poetry.lock: packages: 0 added, 0 removed, 1 updated
    ");
    assert_snapshot!(edited("pnpm-lock.yaml", PNPM_9, &[("commit: 0123", "commit: ffff")]), @"
    block lockfile.git_revision pnpm-lock.yaml:30: tool 0.3.0 is at another revision of its repository, ffff456789abcdef0123456789abcdef01234567
    note lockfile.changed pnpm-lock.yaml: packages: 0 added, 0 removed, 1 updated
    ");
}

#[test]
fn sus_23_from_a_registry_to_elsewhere() {
    let source = "source = \"registry+https://registry.example/index\"\n";
    assert_snapshot!(edited("Cargo.lock", CARGO, &[(source, "source = \"git+https://code.example/evil/cfg-if#01\"\n")]), @"
    block lockfile.source Cargo.lock:5: cfg-if 1.0.0 comes from the repository git+https://code.example/evil/cfg-if at 01, and came from registry+https://registry.example
    note lockfile.changed Cargo.lock: packages: 0 added, 0 removed, 1 updated
    ");
    assert_snapshot!(edited("Cargo.lock", CARGO, &[(source, "")]), @"
    block lockfile.source Cargo.lock:5: cfg-if 1.0.0 comes from the workspace, and came from registry+https://registry.example
    note lockfile.changed Cargo.lock: packages: 0 added, 0 removed, 1 updated
    ");
    // Another version, which is no lesser change.
    assert_snapshot!(edited("Cargo.lock", CARGO, &[(source, "source = \"git+https://code.example/evil/cfg-if#01\"\n"), ("1.0.0", "1.0.1")]), @"
    warn lockfile.git Cargo.lock:5: cfg-if 1.0.1 comes from the repository git+https://code.example/evil/cfg-if at 01
    warn lockfile.moved Cargo.lock:5: cfg-if 1.0.1 comes from the repository git+https://code.example/evil/cfg-if at 01, and came from a registry
    note lockfile.changed Cargo.lock: packages: 0 added, 0 removed, 1 updated
    ");
    assert_snapshot!(edited("package-lock.json", sample!("npm-1/package-lock.json"), &[("\"version\": \"2.4.2\"", "\"version\": \"git+https://code.example/evil/chalk.git#01\"")]), @"
    block lockfile.moved package-lock.json:11: chalk comes from the repository git+https://code.example/evil/chalk.git at 01, and came from a registry
    warn lockfile.git package-lock.json:11: chalk comes from the repository git+https://code.example/evil/chalk.git at 01
    warn lockfile.new_source package-lock.json:11: nothing came from git+https://code.example before, and now chalk does
    note lockfile.changed package-lock.json: packages: 0 added, 0 removed, 1 updated
    ");
    assert_snapshot!(edited("npm-shrinkwrap.json", NPM_3, &[("\"https://registry.example/chalk/-/chalk-5.3.0.tgz\"", "\"file:evil.tgz\"")]), @"
    block lockfile.source npm-shrinkwrap.json:18: chalk 5.3.0 comes from the path evil.tgz, and came from https://registry.example
    note lockfile.changed npm-shrinkwrap.json: packages: 0 added, 0 removed, 1 updated
    ");
}

#[test]
fn sus_23_ordinary_updates() {
    let update = [("1.0.0", "1.0.4"), ("baf1de43", "9330f8b2")];
    assert_snapshot!(edited("Cargo.lock", CARGO, &update), @"note lockfile.changed Cargo.lock: packages: 0 added, 0 removed, 1 updated");
    let update = [
        ("1.4.0", "1.4.1"),
        ("once-1.4.0", "once-1.4.1"),
        ("sha512-lNaJgI", "sha512-AAAAAA"),
    ];
    assert_snapshot!(edited("package-lock.json", NPM, &update[..1]), @"note lockfile.changed package-lock.json: packages: 0 added, 0 removed, 1 updated");
    assert_snapshot!(edited("package-lock.json", NPM, &[update[0], update[2]]), @"note lockfile.changed package-lock.json: packages: 0 added, 0 removed, 1 updated");
    let added = "yaml.example/yaml.v3 v3.0.1 h1:fxVm";
    assert_snapshot!(edited("go.sum", GO, &[(added, "a.example/b v1.0.0 h1:AAAA=\nyaml.example/yaml.v3 v3.0.1 h1:fxVm")]), @"note lockfile.changed go.sum: packages: 1 added, 0 removed, 0 updated");
    // The same hash, so the same bytes.
    assert_snapshot!(edited("uv.lock", UV, &[("packages/c2/e7", "mirrored/c2/e7")]), @"note lockfile.changed uv.lock: packages: 0 added, 0 removed, 1 updated");
    // Cargo moves the hashes.
    let before = file("Cargo.lock", sample!("cargo-1/Cargo.lock"));
    assert_snapshot!(findings(&before, &file("Cargo.lock", sample!("cargo-2/Cargo.lock"))), @"note lockfile.changed Cargo.lock: no package changed, but something else did");
    assert_snapshot!(edited("Cargo.lock", CARGO, &[("version = 3\n", "version = 4\n")]), @"note lockfile.changed Cargo.lock: no package changed, but something else did");
}

#[test]
fn sus_23_new_packages() {
    let package = |source: &str| {
        format!(
            "[[package]]\nname = \"new\"\nversion = \"1.0.0\"\nsource = \"{source}\"\n\n[[package]]\nname = \"tool\""
        )
    };
    let added = |source: &str| {
        edited(
            "Cargo.lock",
            CARGO,
            &[("[[package]]\nname = \"tool\"", &package(source))],
        )
    };
    assert_snapshot!(added("registry+https://registry.example/index"), @"note lockfile.changed Cargo.lock: packages: 1 added, 0 removed, 0 updated");
    assert_snapshot!(added("registry+https://evil.example/index"), @"
    warn lockfile.new_source Cargo.lock:19: nothing came from registry+https://evil.example before, and now new 1.0.0 does
    note lockfile.changed Cargo.lock: packages: 1 added, 0 removed, 0 updated
    ");
    assert_snapshot!(added("registry+http://registry.example/index"), @"
    warn lockfile.insecure Cargo.lock:19: new 1.0.0 comes from registry+http://registry.example, which others on the way can change
    note lockfile.changed Cargo.lock: packages: 1 added, 0 removed, 0 updated
    ");
    assert_snapshot!(added("git+https://code.example/team/new#01"), @"
    warn lockfile.git Cargo.lock:19: new 1.0.0 comes from the repository git+https://code.example/team/new at 01
    note lockfile.changed Cargo.lock: packages: 1 added, 0 removed, 0 updated
    ");
    assert_snapshot!(added("git+https://evil.example/team/new#01"), @"
    warn lockfile.git Cargo.lock:19: new 1.0.0 comes from the repository git+https://evil.example/team/new at 01
    warn lockfile.new_source Cargo.lock:19: nothing came from git+https://evil.example before, and now new 1.0.0 does
    note lockfile.changed Cargo.lock: packages: 1 added, 0 removed, 0 updated
    ");
}

#[test]
fn sus_23_contents_of_another_package() {
    // The lockfile alone makes `once` something else, from the same registry.
    let update = [
        ("\"1.4.0\"", "\"1.4.1\""),
        ("once/-/once-1.4.0", "evil/-/evil-1.4.1"),
        ("sha512-lNaJgI", "sha512-AAAAAA"),
    ];
    assert_snapshot!(edited("package-lock.json", NPM, &update), @"
    block lockfile.misnamed package-lock.json:14: once 1.4.1 comes from the archive of another package
    note lockfile.changed package-lock.json: packages: 0 added, 0 removed, 1 updated
    ");
    let alias = [(
        "\"node_modules/chalk\": {",
        "\"node_modules/chalk\": {\n \"name\": \"evil\",",
    )];
    assert_snapshot!(edited("npm-shrinkwrap.json", NPM_3, &alias), @"
    block lockfile.alias npm-shrinkwrap.json:18: chalk 5.3.0 has the contents of another package, evil
    note lockfile.changed npm-shrinkwrap.json: packages: 0 added, 0 removed, 1 updated
    ");
    assert_snapshot!(edited("uv.lock", UV, &[("idna-3.6-py3", "evil-3.6-py3"), ("c05567e9", "deadbeef")]), @"
    warn lockfile.alias uv.lock:26: idna 3.6 has the contents of another package, evil-3.6-py3-none-any.whl
    warn lockfile.new_file uv.lock:26: idna 3.6 has one more file, evil-3.6-py3-none-any.whl
    note lockfile.changed uv.lock: packages: 0 added, 0 removed, 1 updated
    ");
    // GitLab has a `/-/` of its own.
    let elsewhere = [
        ("\"1.4.0\"", "\"1.4.1\""),
        (
            "https://registry.example/once/-/once-1.4.0.tgz",
            "https://registry.example/group/project/-/archive/v1/v1.tar.gz",
        ),
        ("sha512-lNaJgI", "sha512-AAAAAA"),
    ];
    assert_snapshot!(edited("package-lock.json", NPM, &elsewhere), @"note lockfile.changed package-lock.json: packages: 0 added, 0 removed, 1 updated");
}

#[test]
fn sus_23_two_readers() {
    // npm 6 reads the second half, npm 7 the first.
    let halves = NPM.replacen("sha512-lNaJgI", "sha512-AAAAAA", 1);
    assert_snapshot!(findings(&file("package-lock.json", NPM), &file("package-lock.json", &halves)), @"
    block lockfile.integrity package-lock.json:14: once 1.4.0 has another hash, so other contents
    note lockfile.changed package-lock.json: packages: 0 added, 0 removed, 1 updated
    ");
    assert_snapshot!(new("package-lock.json", &halves), @"
    block lockfile.conflict package-lock.json:29: once 1.4.0 has two hashes that differ
    note lockfile.changed package-lock.json: packages: 2 added, 0 removed, 0 updated
    ");
    assert_snapshot!(edited("package-lock.json", NPM, &[("\"wrappy\": {\n      \"version\"", "\"wrappy\": {\n      \"version\": \"1.0.2\",\n      \"version\"")]), @"
    block lockfile.repeated_key package-lock.json:39: `version` is there twice, and readers differ in which they take
    note lockfile.changed package-lock.json: no package changed, but something else did
    ");
    assert_snapshot!(edited("Cargo.lock", CARGO, &[("[[package]]\nname = \"tool\"", "[[package]]\nname = \"cfg-if\"\nversion = \"1.0.0\"\nsource = \"registry+https://registry.example/index\"\n\n[[package]]\nname = \"tool\"")]), @"
    block lockfile.integrity Cargo.lock:19: cfg-if 1.0.0 has no hash any more
    block lockfile.repeated_package Cargo.lock:19: cfg-if 1.0.0 is there twice, and readers differ in which they take
    note lockfile.changed Cargo.lock: packages: 0 added, 0 removed, 1 updated
    ");
    assert_snapshot!(edited("yarn.lock", BERRY, &[("  version: 4.2.3\n", "  version: 4.2.3\n  resolution: \"evil@npm:4.2.3\"\n")]), @"
    block lockfile.repeated_key yarn.lock:41: `resolution` is there twice, and readers differ in which they take
    note lockfile.changed yarn.lock: no package changed, but something else did
    ");
    assert_snapshot!(edited("go.sum", GO, &[("yaml.example/yaml.v3 v3.0.1 h1:fxVm", "yaml.example/yaml.v3 v3.0.1 h1:AAAA=\nyaml.example/yaml.v3 v3.0.1 h1:fxVm")]), @"
    block lockfile.integrity go.sum:3: yaml.example/yaml.v3 v3.0.1 has another hash, so other contents
    note lockfile.changed go.sum: packages: 0 added, 0 removed, 1 updated
    ");
}

#[test]
fn sus_23_a_new_lockfile_is_judged_by_itself() {
    assert_snapshot!(new("sub/Cargo.lock", CARGO), @"
    warn lockfile.git sub/Cargo.lock:19: tool 0.3.0 comes from the repository git+https://code.example/team/tool?branch=main at 0123456789abcdef0123456789abcdef01234567
    note lockfile.changed sub/Cargo.lock: packages: 3 added, 0 removed, 0 updated
    ");
    assert_snapshot!(new("package-lock.json", NPM), @"note lockfile.changed package-lock.json: packages: 2 added, 0 removed, 0 updated");
    assert_snapshot!(new("package-lock.json", &NPM.replace("https://registry.example/wrappy", "http://evil.example/wrappy")), @"
    warn lockfile.insecure package-lock.json:22: wrappy 1.0.2 comes from http://evil.example, which others on the way can change
    warn lockfile.mixed_sources package-lock.json:22: not all is from one place: 2 from evil.example, the first is wrappy 1.0.2
    note lockfile.changed package-lock.json: packages: 2 added, 0 removed, 0 updated
    ");
    assert_snapshot!(new("uv.lock", UV), @"
    warn lockfile.git uv.lock:29: tool 0.3.0 comes from the repository https://code.example/team/tool?rev=main at 0123456789abcdef0123456789abcdef01234567
    note lockfile.changed uv.lock: packages: 3 added, 0 removed, 0 updated
    ");
}

#[test]
fn sus_23_unreadable() {
    assert_snapshot!(findings(&file("Cargo.lock", CARGO), &file("Cargo.lock", "[[package]\n")), @"block lockfile.unreadable Cargo.lock:1: can't be read as the lockfile that its name says: is not well-formed TOML");
    assert_snapshot!(new("Cargo.lock", "[[package]\n"), @"warn lockfile.unreadable Cargo.lock:1: can't be read as the lockfile that its name says: is not well-formed TOML");
    assert_snapshot!(findings(&file("go.sum", "broken"), &file("go.sum", "broken as ever")), @"warn lockfile.unreadable go.sum:1: can't be read as the lockfile that its name says: is not a module, a version and a hash");
    assert_snapshot!(findings(&file("go.sum", "broken"), &file("go.sum", GO)), @"
    warn lockfile.no_baseline go.sum: there is nothing to compare with, because what was there before is not a module, a version and a hash
    note lockfile.changed go.sum: packages: 2 added, 0 removed, 0 updated
    ");
    assert_snapshot!(findings(&file("yarn.lock", YARN), "f yarn.lock \"# yarn lockfile v1\\n\\0\""), @"
    block lockfile.unreadable yarn.lock:1: can't be read as the lockfile that its name says: holds a NUL byte
    warn content.became_binary yarn.lock: was text, and is binary now: a review shows only its digest
    ");
    assert_snapshot!(findings(&file("yarn.lock", YARN), "f yarn.lock \"\\xff\""), @"
    block lockfile.unreadable yarn.lock:1: can't be read as the lockfile that its name says: is not UTF-8
    warn content.became_binary yarn.lock: was text, and is binary now: a review shows only its digest
    ");
    assert_snapshot!(findings(&file("uv.lock", UV), "f uv.lock *17000000"), @"
    block lockfile.unreadable uv.lock: can't be read as the lockfile that its name says: is too large to be looked into
    warn content.unexamined uv.lock: more than 16 MiB, which no rule looks into
    ");
}

#[test]
fn sus_23_entries() {
    assert_snapshot!(findings(&file("go.sum", GO), ""), @"note lockfile.deleted go.sum: was deleted: the next install takes what it finds");
    assert_snapshot!(findings(&file("go.sum", GO), "f x \"1\"\nl go.sum -> x"), @"
    warn lockfile.link go.sum: a link stands where a lockfile is looked for
    warn lockfile.unreadable x:1: by the link `go.sum`: can't be read as the lockfile that its name says: is not a module, a version and a hash
    ");
    assert_snapshot!(findings(&file("go.sum", GO), "d go.sum/"), @"");
    // Only the mode: nothing to compare.
    assert_snapshot!(findings(&file("go.sum", GO), &file("go.sum", GO).replacen('f', "x", 1)), @"warn mode.executable go.sum: becomes executable");
    // A name that folds to one.
    assert_snapshot!(new("Yarn.LOCK", "{}"), @"warn lockfile.unreadable Yarn.LOCK:1: can't be read as the lockfile that its name says: holds a bracket where none can be");
    assert_snapshot!(new("my-yarn.lock", "{}"), @"");
}

#[test]
fn sus_23_floods_and_names_are_tamed() {
    let line = |n: usize| format!("a.example/m{n} v1.0.0 h1:{n}=\n");
    let before: String = (0..40).map(line).collect();
    let after = before.replace("h1:", "h1:x");
    assert_snapshot!(findings(&file("go.sum", &before), &file("go.sum", &after)), @"
    block lockfile.integrity go.sum: and 30 more like these
    block lockfile.integrity go.sum:1: a.example/m0 v1.0.0 has another hash, so other contents
    block lockfile.integrity go.sum:2: a.example/m1 v1.0.0 has another hash, so other contents
    block lockfile.integrity go.sum:11: a.example/m10 v1.0.0 has another hash, so other contents
    block lockfile.integrity go.sum:12: a.example/m11 v1.0.0 has another hash, so other contents
    block lockfile.integrity go.sum:13: a.example/m12 v1.0.0 has another hash, so other contents
    block lockfile.integrity go.sum:14: a.example/m13 v1.0.0 has another hash, so other contents
    block lockfile.integrity go.sum:15: a.example/m14 v1.0.0 has another hash, so other contents
    block lockfile.integrity go.sum:16: a.example/m15 v1.0.0 has another hash, so other contents
    block lockfile.integrity go.sum:17: a.example/m16 v1.0.0 has another hash, so other contents
    block lockfile.integrity go.sum:18: a.example/m17 v1.0.0 has another hash, so other contents
    note lockfile.changed go.sum: packages: 0 added, 0 removed, 40 updated
    ");
    let name = format!("\u{1b}[2J\u{202e}{}", "a".repeat(300));
    let odd = CARGO.replace(
        "name = \"cfg-if\"",
        &format!("name = \"{}\"", name.replace('\u{1b}', "\\u001b")),
    );
    let changed = odd.replace("baf1de43", "deadbeef");
    assert_snapshot!(findings(&file("Cargo.lock", &odd), &file("Cargo.lock", &changed)), @r#"
    block lockfile.integrity Cargo.lock:5: \u{1b}[2J\u{202e}aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa… 1.0.0 has another hash, so other contents
    note lockfile.changed Cargo.lock: packages: 0 added, 0 removed, 1 updated
    "#);
}

/// Where nothing pins the contents, the address is all there is.
#[test]
fn sus_23_another_address_without_a_hash() {
    let before = NPM_3.replace(
        "\"integrity\": \"sha512-dLitG79d",
        "\"x\": \"sha512-dLitG79d",
    );
    assert_snapshot!(edited("npm-shrinkwrap.json", &before, &[("chalk/-/chalk-5.3.0", "chalk/-/other/chalk-5.3.0")]), @"
    block lockfile.source npm-shrinkwrap.json:18: chalk 5.3.0 comes from another place on https://registry.example, and had no hash
    note lockfile.changed npm-shrinkwrap.json: packages: 0 added, 0 removed, 1 updated
    ");
    assert_snapshot!(edited("npm-shrinkwrap.json", NPM_3, &[("chalk/-/chalk-5.3.0", "chalk/-/other/chalk-5.3.0")]), @"note lockfile.changed npm-shrinkwrap.json: packages: 0 added, 0 removed, 1 updated");
}

/// The oldest `poetry.lock` lists hashes without saying of which file.
#[test]
fn sus_23_all_files_replaced() {
    let lock = |hashes: &str| {
        format!("[[package]]\nname = \"a\"\nversion = \"1\"\n\n[metadata.hashes]\na = [{hashes}]\n")
    };
    let change = |before: &str, after: &str| {
        let (before, after) = (lock(before), lock(after));
        findings(&file("poetry.lock", &before), &file("poetry.lock", &after))
    };
    assert_snapshot!(change("\"x\", \"y\"", "\"z\""), @"
    block lockfile.integrity poetry.lock:1: a 1 has none of its known files any more
    warn lockfile.new_file poetry.lock:1: a 1 has one more file, z
    note lockfile.changed poetry.lock: packages: 0 added, 0 removed, 1 updated
    ");
    assert_snapshot!(change("\"x\", \"y\"", "\"x\", \"z\""), @"
    warn lockfile.new_file poetry.lock:1: a 1 has one more file, z
    note lockfile.changed poetry.lock: packages: 0 added, 0 removed, 1 updated
    ");
    assert_snapshot!(change("\"x\", \"y\"", "\"x\""), @"note lockfile.changed poetry.lock: packages: 0 added, 0 removed, 1 updated");
}

/// The grammar of each format: another hash or source of a known version, and an update.
#[test]
fn sus_33_known_versions_of_more_formats() {
    const COMPOSER: &str = sample!("composer/composer.lock");
    const PUBSPEC: &str = sample!("pubspec/pubspec.lock");
    const SWIFT: &str = sample!("swift-2/Package.resolved");
    const NUGET: &str = sample!("nuget/packages.lock.json");
    const BUN: &str = sample!("bun/bun.lock");
    const MIX: &str = sample!("mix/mix.lock");
    const PIPFILE: &str = sample!("pipfile/Pipfile.lock");
    const PYLOCK: &str = sample!("pylock/pylock.toml");
    const FLAKE: &str = sample!("flake/flake.lock");
    const GRADLE: &str = sample!("gradle/verification-metadata.xml");
    const TERRAFORM: &str = sample!("terraform/.terraform.lock.hcl");
    const DENO: &str = sample!("deno-3/deno.lock");
    for (name, text, edits, code) in [
        // The source of the same version.
        (
            "composer.lock",
            COMPOSER,
            &[("packages.example/acme/tool", "evil.example/acme/tool")][..],
            "block lockfile.source",
        ),
        (
            "composer.lock",
            COMPOSER,
            &[(
                "forge.example/php-fig/log.git",
                "forge.example/evil/log.git",
            )],
            "block lockfile.source",
        ),
        (
            "pubspec.lock",
            PUBSPEC,
            &[("https://pub.example", "https://evil.example")],
            "block lockfile.source",
        ),
        (
            "Package.resolved",
            SWIFT,
            &[("apple/swift-log", "evil/swift-log")],
            "block lockfile.source",
        ),
        (
            "Pipfile.lock",
            PIPFILE,
            &[("https://own.example", "https://evil.example")],
            "block lockfile.source",
        ),
        (
            "pylock.toml",
            PYLOCK,
            &[("https://index.example", "https://evil.example")],
            "block lockfile.source",
        ),
        (
            "pylock.dev.toml",
            PYLOCK,
            &[("https://index.example", "https://evil.example")],
            "block lockfile.source",
        ),
        (
            "flake.lock",
            FLAKE,
            &[("\"NixOS\"", "\"evil\"")],
            "block lockfile.source",
        ),
        (
            "bun.lock",
            BUN,
            &[("npm.example", "evil.example")],
            "block lockfile.source",
        ),
        (
            "mix.lock",
            MIX,
            &[("forge.example/acme/own", "evil.example/acme/own")],
            "block lockfile.source",
        ),
        (
            "deno.lock",
            DENO,
            &[("x@1.0/mod.ts\"\n", "x@6.6/mod.ts\"\n")],
            "block lockfile.integrity",
        ),
        // The contents of the same version.
        (
            "composer.lock",
            COMPOSER,
            &[("1937c4c2", "deadbeef")],
            "block lockfile.integrity",
        ),
        (
            "packages.lock.json",
            NUGET,
            &[("Q9kfhFEF", "AAAAAAAA")],
            "block lockfile.integrity",
        ),
        (
            "gradle/verification-metadata.xml",
            GRADLE,
            &[("711430f", "deadbee")],
            "block lockfile.integrity",
        ),
        (
            ".terraform.lock.hcl",
            TERRAFORM,
            &[("h1:l/tfhT", "h1:AAAAAA")],
            "block lockfile.integrity",
        ),
        (
            "mix.lock",
            MIX,
            &[("29c1b289", "deadbeef")],
            "block lockfile.integrity",
        ),
        (
            "mix.lock",
            MIX,
            &[(":jason, ", ":evil, ")],
            "block lockfile.alias",
        ),
        (
            "bun.lock",
            BUN,
            &[("\"is-odd@3.0.1\"", "\"evil@3.0.1\"")],
            "lockfile.alias",
        ),
        // What is not checked any more.
        (
            "gradle/verification-metadata.xml",
            GRADLE,
            &[("org.own\"/>", "org.own\"/><trust group=\"a\"/>")],
            "warn lockfile.trusted",
        ),
        (
            "gradle/verification-metadata.xml",
            GRADLE,
            &[("<verify-metadata>true", "<verify-metadata>false")],
            "warn lockfile.trusted",
        ),
        (
            "Pipfile.lock",
            PIPFILE,
            &[("\"verify_ssl\": true", "\"verify_ssl\": false")],
            "warn lockfile.trusted",
        ),
        // An update of a version, with its hash.
        (
            "composer.lock",
            COMPOSER,
            &[("1.2.0", "1.3.0"), ("1937c4c2", "deadbeef")],
            "note lockfile.changed",
        ),
        (
            "packages.lock.json",
            NUGET,
            &[("13.0.3", "13.0.4"), ("Q9kfhFEF", "AAAAAAAA")],
            "note lockfile.changed",
        ),
        (
            "flake.lock",
            FLAKE,
            &[("bfeb734d", "deadbeef"), ("arnx649", "AAAAAAA")],
            "note lockfile.changed",
        ),
        (
            "Package.resolved",
            SWIFT,
            &[("4205714c", "deadbeef")],
            "note lockfile.changed",
        ),
        (
            "Podfile.lock",
            "A: 0123456789abcdef0123456789abcdef\n",
            &[("0123456789", "9876543210")],
            "warn lockfile.line",
        ),
        ("Podfile.lock", "A (1.0)\n", &[("1.0", "1.1")], ""),
    ] {
        let found = edited(name, text, edits);
        let only = code == "note lockfile.changed" || code.is_empty();
        let is_loud = found.contains("warn lockfile") || found.contains("block lockfile");
        assert!(
            found.contains(code) && !(only && is_loud),
            "{name}: {edits:?}: {code:?} in\n{found}"
        );
    }
}
