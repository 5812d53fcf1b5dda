//! Each format: what is read from a genuine file, and which lies are refused.

use std::fmt::Write as _;

use insta::assert_snapshot;

use super::FORMATS;
use super::lock::MOST_PINS;
use super::source::{Address, Source};
use crate::rules::structured::{line_of, text_of_bytes};
use crate::shown::shown;

/// Genuine files, by format and version.
macro_rules! sample {
    ($path:literal) => {
        include_str!(concat!("../../../tests/samples/", $path))
    };
}

/// Reads a file under its name, and renders what it says: the line, the package, the
/// source, and the start of the hash.
fn read(name: &str, text: &str) -> String {
    let name = name.to_lowercase();
    let (_, read) = FORMATS.iter().find(|(format, _)| *format == name).unwrap();
    let text = match text_of_bytes(text.as_bytes()) {
        Ok(text) => text,
        Err(why) => return format!("! {why}"),
    };
    let lock = match read(text) {
        Ok(lock) => lock,
        Err(why) => {
            let line = why.at.map_or(0, |at| line_of(text, at));
            return format!("! {line}: {why}");
        }
    };
    let mut out = String::new();
    for locked_package in &lock.locked_packages {
        let line = line_of(text, locked_package.at);
        write!(
            out,
            "{line}: {} {}",
            shown(&locked_package.name),
            shown(&locked_package.version)
        )
        .unwrap();
        if !locked_package.file.is_empty() {
            write!(out, " [{}]", locked_package.file).unwrap();
        }
        match &locked_package.source {
            Source::Web(address) => write!(out, " {}", whole(address)).unwrap(),
            Source::Git(address, revision) => {
                let revision = revision.get(..8).unwrap_or(revision);
                write!(out, " git {} at {revision}", whole(address)).unwrap();
            }
            Source::Path(path) => write!(out, " path {path:?}").unwrap(),
            Source::Unstated => {}
            Source::Bundled => out.push_str(" bundled"),
        }
        if let Some(alias) = &locked_package.alias {
            write!(out, " is {alias}").unwrap();
        }
        if let Some(hash) = &locked_package.integrity {
            write!(out, " = {}", hash.get(..14).unwrap_or(hash)).unwrap();
        }
        out.push('\n');
    }
    for repeated in &lock.repeated {
        let line = line_of(text, repeated.at);
        writeln!(out, "{line}: {} repeated", repeated.key).unwrap();
    }
    out
}

fn whole(address: &Address<'_>) -> String {
    let Address { scheme, host, rest } = address;
    format!("{scheme}|{host}|{rest}")
}

#[test]
fn sus_23_cargo_lock() {
    assert_snapshot!(read("Cargo.lock", sample!("cargo-1/Cargo.lock")), @r#"
    8: cfg-if 0.1.10 registry+https|registry.example|/index = 4785bdd1c96b2a
    13: log 0.4.8 registry+https|registry.example|/index = 14b6052be84e6b
    1: hello 0.1.0 path ""
    "#);
    assert_snapshot!(read("Cargo.lock", sample!("cargo-2/Cargo.lock")), @r#"
    3: cfg-if 0.1.10 registry+https|registry.example|/index = 4785bdd1c96b2a
    9: hello 0.1.0 path ""
    16: log 0.4.8 registry+https|registry.example|/index = 14b6052be84e6b
    "#);
    assert_snapshot!(read("Cargo.lock", sample!("cargo-3/Cargo.lock")), @r#"
    5: cfg-if 1.0.0 registry+https|registry.example|/index = baf1de43397615
    11: hello 0.1.0 path ""
    19: tool 0.3.0 git git+https|code.example|/team/tool?branch=main at 01234567
    "#);
    assert_snapshot!(read("Cargo.lock", sample!("cargo-4/Cargo.lock")), @r#"
    5: cfg-if 1.0.4 sparse+https|registry.example|/index/ = 9330f8b2ff13f3
    11: hello 0.1.0 path ""
    19: tool 0.3.0 git git+ssh|git@code.example|/team/tool.git?tag=v0.3.0%2Bfix at 01234567
    24: left-over 0.2.0 path ""
    "#);
}

#[test]
fn sus_23_package_lock_json() {
    assert_snapshot!(read("package-lock.json", sample!("npm-1/package-lock.json")), @r#"
    7: @scope/tool  git git+ssh|git@code.example|/team/tool.git at 01234567
    11: chalk 2.4.2 https|registry.example|/chalk/-/chalk-2.4.2.tgz = sha512-Mti+f9l
    19: ansi-styles 3.2.1 https|registry.example|/ansi-styles/-/ansi-styles-3.2.1.tgz = sha512-VT0ZI6k
    26: fsevents 1.2.13 bundled
    31: local  path "packages/local"
    34: strings 4.2.3 https|registry.example|/string-width/-/string-width-4.2.3.tgz is string-width = sha512-wKyQRQp
    "#);
    assert_snapshot!(read("package-lock.json", sample!("npm-2/package-lock.json")), @"
    14: once 1.4.0 https|registry.example|/once/-/once-1.4.0.tgz = sha512-lNaJgI+
    22: wrappy 1.0.2 https|registry.example|/wrappy/-/wrappy-1.0.2.tgz = sha512-l4Sp/DR
    29: once 1.4.0 https|registry.example|/once/-/once-1.4.0.tgz = sha512-lNaJgI+
    37: wrappy 1.0.2 https|registry.example|/wrappy/-/wrappy-1.0.2.tgz = sha512-l4Sp/DR
    ");
    assert_snapshot!(read("npm-shrinkwrap.json", sample!("npm-3/npm-shrinkwrap.json")), @r#"
    14: @scope/local  path "packages/local"
    18: chalk 5.3.0 https|registry.example|/chalk/-/chalk-5.3.0.tgz = sha512-dLitG79
    26: abbrev 2.0.0 bundled
    31: strings 4.2.3 https|registry.example|/string-width/-/string-width-4.2.3.tgz is string-width = sha512-wKyQRQp
    37: tool 0.3.0 git git+ssh|git@code.example|/team/tool.git at 01234567
    41: packages/local 1.0.0 path ""
    "#);
}

#[test]
fn sus_23_yarn_lock() {
    assert_snapshot!(read("yarn.lock", sample!("yarn-1/yarn.lock")), @"
    5: @scope/code-frame 7.12.13 https|registry.example|/@scope/code-frame/-/code-frame-7.12.13.tgz = sha512-HV1Cm0Q
    12: js-tokens 4.0.0 https|registry.example|/js-tokens/-/js-tokens-4.0.0.tgz = 19203fb59991df
    16: strings 4.2.3 https|registry.example|/string-width/-/string-width-4.2.3.tgz is string-width = sha512-wKyQRQp
    21: tool 0.3.0 git git+ssh|git@code.example|/team/tool.git at 01234567
    ");
    assert_snapshot!(read("yarn.lock", sample!("yarn-berry/yarn.lock")), @r#"
    8: @scope/code-frame 7.12.13 = 10c0/9ac9ad5b6
    17: fsevents 2.3.2 path "patch:fsevents@npm%3A2.3.2#optional!builtin<compat/fsevents>::version=2.3.2&hash=df0bf1"
    24: hello 0.0.0-use.local path "."
    30: js-tokens 4.0.0 https|mirror.example|/js-tokens-4.0.0.tgz = 10c0/e248708d3
    38: strings 4.2.3 is string-width = 10c0/1e525e92e
    45: tool 0.3.0 git https|code.example|/team/tool.git at 01234567 = 10c0/aaaa5e92e
    "#);
}

#[test]
fn sus_23_pnpm_lock_yaml() {
    assert_snapshot!(read("pnpm-lock.yaml", sample!("pnpm-5/pnpm-lock.yaml")), @r#"
    13: @scope/tool 1.2.3 = sha512-iAXqUn8
    18: lodash 4.17.21 = sha512-v2kDEe5
    22: react-dom 16.14.0 = sha512-1gCeQXD
    28: tool 0.3.0 https|code.example|/team/tool/tar.gz/0123456789abcdef
    34: local 1.0.0 path "packages/local"
    40: left 1.0.0 https|mirror.example|/ = sha512-XI5MPzV
    "#);
    assert_snapshot!(read("pnpm-lock.yaml", sample!("pnpm-6/pnpm-lock.yaml")), @"
    17: @scope/tool 1.2.3 = sha512-iAXqUn8
    26: lodash 4.17.21 = sha512-v2kDEe5
    30: react-dom 16.14.0 = sha512-1gCeQXD
    ");
    assert_snapshot!(read("pnpm-lock.yaml", sample!("pnpm-9/pnpm-lock.yaml")), @"
    22: @scope/tool 1.2.3 = sha512-iAXqUn8
    27: lodash 4.17.21 = sha512-v2kDEe5
    30: tool 0.3.0 git https|code.example|/team/tool.git at 01234567
    ");
}

#[test]
fn sus_23_uv_lock() {
    assert_snapshot!(read("uv.lock", sample!("uv-1/uv.lock")), @r#"
    5: hello 0.1.0 path "."
    20: idna 3.6 https|registry.example|/simple
    24: idna 3.6 [idna-3.6.tar.gz] https|files.example|/packages/bf/3f/idna-3.6.tar.gz = sha256:9ecdbbd
    26: idna 3.6 [idna-3.6-py3-none-any.whl] https|files.example|/packages/c2/e7/idna-3.6-py3-none-any.whl = sha256:c05567e
    29: tool 0.3.0 git https|code.example|/team/tool?rev=main at 01234567
    "#);
}

#[test]
fn sus_23_poetry_lock() {
    assert_snapshot!(read("poetry.lock", sample!("poetry-1/poetry.lock")), @"
    16: idna 3.6 [idna-3.6-py3-none-any.whl] = sha256:c05567e
    17: idna 3.6 [idna-3.6.tar.gz] = sha256:9ecdbbd
    1: idna 3.6
    ");
    assert_snapshot!(read("poetry.lock", sample!("poetry-2/poetry.lock")), @"
    11: idna 3.6 [idna-3.6-py3-none-any.whl] https|registry.example|/simple = sha256:c05567e
    12: idna 3.6 [idna-3.6.tar.gz] https|registry.example|/simple = sha256:9ecdbbd
    3: idna 3.6 https|registry.example|/simple
    20: tool 0.3.0 git https|code.example|/team/tool.git at 01234567
    ");
}

#[test]
fn sus_23_go_sum() {
    assert_snapshot!(read("go.sum", sample!("go/go.sum")), @"
    1: code.example/team/tool v0.3.0 = h1:3iQR2kdPzXU
    2: code.example/team/tool v0.3.0 [go.mod] = h1:nIfuEdRgNXZ
    3: yaml.example/yaml.v3 v3.0.1 = h1:fxVm/GzAzEW
    4: yaml.example/yaml.v3 v3.0.1 [go.mod] = h1:K4uyk7z7BCE
    ");
}

#[test]
fn sus_23_gemfile_lock() {
    assert_snapshot!(read("Gemfile.lock", sample!("gemfile/Gemfile.lock")), @r#"
    6: tool 0.3.0 git https|code.example|/team/tool.git at 01234567
    11: local 1.0.0 path "gems/local"
    17: nokogiri 1.16.0-x86_64-linux https|registry.example|/ = sha256=4bd8ba2
    19: racc 1.7.3 https|registry.example|/ = sha256=b785ab8
    20: rack 3.0.8 https|registry.example|/
    "#);
}

/// A small file must not become many statements: here, each hash counts for each package.
#[test]
fn sus_23_statements_are_bounded() {
    let lines: String = (0..=MOST_PINS).map(|n| format!("a v{n} h1:x=\n")).collect();
    assert!(super::go_sum::read(&lines).is_err());
    let packages = "[[package]]\nname = \"a\"\nversion = \"1\"\n".repeat(1000);
    let hashes = "\"x\", ".repeat(1000);
    let text = format!("{packages}[metadata.hashes]\na = [{hashes}]\n");
    assert!(super::poetry::read(&text).is_err());
}

/// What no tool writes, and what a reader of another format would make of it.
#[test]
fn sus_23_refused() {
    for (name, text) in [
        ("Cargo.lock", "[[package]]\nname = \"a\"\n"),
        ("Cargo.lock", "[[package]]\nname = \"a\"\nversion = 1\n"),
        ("package-lock.json", "[]"),
        (
            "package-lock.json",
            "{\"packages\": {\"node_modules/a\": {\"version\": 1}}}",
        ),
        (
            "package-lock.json",
            "{\"packages\": {\"node_modules/a\": {\"integrity\": [\"x\"]}}}",
        ),
        ("yarn.lock", ""),
        ("yarn.lock", "a: 1\n"),
        (
            "yarn.lock",
            "# yarn lockfile v1\na@1:\n  version \"1\"\n   x \"2\"\n",
        ),
        ("yarn.lock", "# yarn lockfile v1\n  version \"1\"\n"),
        ("yarn.lock", "# yarn lockfile v1\na@1:\n  resolved \"x\"\n"),
        ("yarn.lock", "# yarn lockfile v1\na@1\n  version \"1\"\n"),
        ("yarn.lock", "# yarn lockfile v1\na@1:\n  version: \"1\"\n"),
        ("yarn.lock", "# yarn lockfile v1\na@1:\n\tversion \"1\"\n"),
        (
            "yarn.lock",
            "__metadata:\n  version: 8\n\na@npm:1:\n  version: 1\n",
        ),
        ("pnpm-lock.yaml", "packages: {}\n"),
        (
            "pnpm-lock.yaml",
            "lockfileVersion: '9.0'\npackages:\n  a@1:\n    resolution: x\n",
        ),
        (
            "uv.lock",
            "[[package]]\nname = \"a\"\nversion = \"1\"\nsource = { ftp = \"x\" }\n",
        ),
        (
            "poetry.lock",
            "[[package]]\nname = \"a\"\nversion = \"1\"\n[package.source]\ntype = \"x\"\nurl = \"y\"\n",
        ),
        ("go.sum", "a v1.0.0\n"),
        ("go.sum", "a v1.0.0 h1:x= y\n"),
        ("Gemfile.lock", "GEMS\n  specs:\n"),
        ("Gemfile.lock", "  specs:\n"),
        ("Gemfile.lock", "GEM\n  specs:\n    a (1) x\n"),
        (
            "Gemfile.lock",
            "CHECKSUMS\n  a (1) sha256=x\n  a (1) sha256=y\n",
        ),
    ] {
        let shown = read(name, text);
        assert!(shown.starts_with('!'), "{name} {text:?}: {shown}");
    }
}

#[test]
fn sus_23_addresses() {
    let show = |text: &'static str| {
        let address = Address::new(text);
        let insecure = if address.is_insecure() {
            " insecure"
        } else {
            ""
        };
        format!("{}{insecure}", whole(&address))
    };
    let texts = [
        "https://Registry.Example:8443/a?b#c",
        "HTTP://registry.example",
        "git+https://user@code.example/a",
        "git@code.example:team/a",
        "github:team/a",
        "git://code.example/a",
        "https://registry.example\\@evil.example/a",
        "https://registry.example\t.evil.example/a",
        "https:///a",
        "registry.example/a",
        "",
    ];
    assert_snapshot!(texts.map(show).join("\n"), @r#"
    https|registry.example:8443|/a?b#c
    http|registry.example| insecure
    git+https|user@code.example|/a
    ssh|git@code.example|team/a
    github||team/a
    git|code.example|/a insecure
    |https://registry.example\@evil.example/a| insecure
    |https://registry.example	.evil.example/a| insecure
    |https:///a| insecure
    |registry.example/a| insecure
    || insecure
    "#);
}

#[test]
fn sus_33_composer() {
    assert_snapshot!(read("composer.lock", sample!("composer/composer.lock")), @r#"
    6: psr/log 3.0.0 https|api.forge.example|/repos/php-fig/log/zipball/7babc233de26ab19ead1b9c278128d5c434910ee = 7babc233de26ab
    6: psr/log 3.0.0 [source] https|forge.example|/php-fig/log.git
    27: acme/tool 1.2.0 https|packages.example|/acme/tool-1.2.0.zip = 1937c4c28f7261
    37: acme/own dev-main path "packages/own" = fbf63c6adba57f
    "#);
}

#[test]
fn sus_33_pipfile() {
    assert_snapshot!(read("Pipfile.lock", sample!("pipfile/Pipfile.lock")), @"
    24: idna ==3.7 [sha256:4cd9b7672d7fbee8fb51fb1e049f690342035f543a8efe734b7b5ffb0c154a45] https|index.example|/simple = sha256:4cd9b76
    24: idna ==3.7 [sha256:420fce314175df402adbeae3cfbbb85665b72d8b9bc2346f463e32a82f64b114] https|index.example|/simple = sha256:420fce3
    24: idna ==3.7 https|index.example|/simple
    33: tool ==1.0 [sha256:e3b98a4da31a127d4bde6e43033f66ba274cab0eb7eb1c70ec41402bf6273dd8] https|own.example|/simple = sha256:e3b98a4
    33: tool ==1.0 https|own.example|/simple
    40: forked  git https|forge.example|/acme/forked.git at 3f673f2a
    ");
}

#[test]
fn sus_33_pdm() {
    assert_snapshot!(read("pdm.lock", sample!("pdm-2/pdm.lock")), @"
    16: idna 3.4 [idna-3.4-py3-none-any.whl] https|files.example|/packages/idna-3.4-py3-none-any.whl = sha256:f64551f
    17: idna 3.4 [idna-3.4.tar.gz] https|files.example|/packages/idna-3.4.tar.gz = sha256:3946ca6
    4: idna 3.4
    ");
    assert_snapshot!(read("pdm.lock", sample!("pdm-4/pdm.lock")), @r#"
    20: idna-old 3.7 [idna-3.7-py3-none-any.whl] = sha256:c75de8c
    21: idna-old 3.7 [idna-3.7.tar.gz] = sha256:bee98bf
    13: idna-old 3.7
    24: forked 1.0 git https|forge.example|/acme/forked.git at 4dc7c9ec
    33: own 0.1.0 path "./own"
    "#);
}

#[test]
fn sus_33_pylock() {
    assert_snapshot!(read("pylock.toml", sample!("pylock/pylock.toml")), @r#"
    9: idna 3.7 [idna-3.7.tar.gz] https|files.example|/packages/idna-3.7.tar.gz = sha256:03e0769
    16: idna 3.7 [idna-3.7-py3-none-any.whl] https|files.example|/packages/idna-3.7-py3-none-any.whl = sha256:ad4063b
    4: idna 3.7 https|index.example|/simple
    23: forked  git https|forge.example|/acme/forked.git at 5d42ae30
    31: own  path "own"
    "#);
}

#[test]
fn sus_33_mix() {
    assert_snapshot!(read("mix.lock", sample!("mix/mix.lock")), @"
    2: castore 1.0.4 https|hexpm| = ca0df2c95aa144
    2: castore 1.0.4 [archive] https|hexpm| = 29c1b289e75221
    3: jason 1.4.1 https|hexpm| = 153812ae5fea0b
    3: jason 1.4.1 [archive] https|hexpm| = 2396a1256ac4b1
    4: own  git https|forge.example|/acme/own.git at ec4c91af
    ");
}

#[test]
fn sus_33_pubspec() {
    assert_snapshot!(read("pubspec.lock", sample!("pubspec/pubspec.lock")), @r#"
    4: async 2.11.0 https|pub.example| = 8b53639f152c8f
    12: flutter 0.0.0
    17: forked 1.0.0 git https|forge.example|/acme/forked.git at ce9ed66d
    26: own 0.1.0 path "../own"
    "#);
}

#[test]
fn sus_33_swift() {
    assert_snapshot!(read("Package.resolved", sample!("swift-1/Package.resolved")), @"3: swift-log 1.5.3 https|forge.example/apple/swift-log| = 640d87e741e6aa");
    assert_snapshot!(read("Package.resolved", sample!("swift-2/Package.resolved")), @"
    3: swift-log 1.5.3 https|forge.example/apple/swift-log| = 640d87e741e6aa
    10: tool 4205714cdfe14ed9e3d030ddf7887781b964f510 https|forge.example/acme/tool| = 4205714cdfe14e
    ");
}

#[test]
fn sus_33_nuget() {
    assert_snapshot!(read("packages.lock.json", sample!("nuget/packages.lock.json")), @r#"
    5: newtonsoft.json 13.0.3 = Q9kfhFEFinBvcn
    11: own  path ""
    "#);
}

#[test]
fn sus_33_deno() {
    assert_snapshot!(read("deno.lock", sample!("deno-3/deno.lock")), @"
    9: jsr:@std/path 0.210.0 = 8b5cc4df7eec7d
    14: npm:chalk 5.3.0 = sha512-ZgLgjAn
    24: https://modules.example/x@1.0/mod.ts  https|modules.example|/x@1.0/mod.ts = cef7fc13a38180
    21: redirect of https://modules.example/x/mod.ts  https|modules.example|/x@1.0/mod.ts = https://module
    ");
    assert_snapshot!(read("deno.lock", sample!("deno-5/deno.lock")), @"
    8: jsr:@std/assert 1.0.13 = 3f524cdc07a11d
    13: npm:preact 10.26.9 = sha512-TrbQ1ey
    16: npm:htm 3.1.1 = sha512-OnSy2KU
    ");
}

#[test]
fn sus_33_bun() {
    assert_snapshot!(read("bun.lock", sample!("bun/bun.lock")), @r#"
    12: forked  git github||acme/forked at 0a1b2c3 = acme-forked-0a
    14: is-number 6.0.0 = sha512-rRvlpjX
    16: is-odd 3.0.1 = sha512-RUKe71D
    18: is-number 7.0.0 https|npm.example|/is-number/-/is-number-7.0.0.tgz = sha512-CTNR0jn
    20: own-part  path "packages/part"
    "#);
}

#[test]
fn sus_33_gradle() {
    assert_snapshot!(read("verification-metadata.xml", sample!("gradle/verification-metadata.xml")), @"
    14: org.slf4j:slf4j-api 2.0.9 [slf4j-api-2.0.9.jar sha256] = sha256:711430f
    17: org.slf4j:slf4j-api 2.0.9 [slf4j-api-2.0.9.pom sha256] = sha256:4d2f4b6
    ");
}

#[test]
fn sus_33_terraform() {
    assert_snapshot!(read(".terraform.lock.hcl", sample!("terraform/.terraform.lock.hcl")), @"
    8: registry.example/hashicorp/random 3.5.1 [h1:MxEu4U7kacPrUv6QMi7IHdQEoAk9Vlptcc53y8gSTjs=] https|registry.example| = h1:MxEu4U7kacP
    9: registry.example/hashicorp/random 3.5.1 [zh:f998fe06afa0cfbe73e0449dc2b1698309e1b5714960f027b2858312b152c275] https|registry.example| = zh:f998fe06afa
    4: registry.example/hashicorp/random 3.5.1 https|registry.example|
    15: registry.example/acme/own 1.0.0 [h1:l/tfhTi4n2wazP0Zg2tlpzth+8Lgy/hLuFig//o/FZI=] https|registry.example| = h1:l/tfhTi4n2w
    13: registry.example/acme/own 1.0.0 https|registry.example|
    ");
}

#[test]
fn sus_33_flake() {
    assert_snapshot!(read("flake.lock", sample!("flake/flake.lock")), @"
    4: nixpkgs bfeb734d2eb5d0915145c1861248757d4fd32bc2 https|github/nixos/nixpkgs| = sha256-arnx649
    21: tool  https|files.example|/tool-1.0.tar.gz = sha256-L1BSyf0
    ");
}
