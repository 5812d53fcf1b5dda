//! What a user's own declarations may say, and what is answered to the rest.

use std::fs;
use std::path::Path;

use insta::assert_snapshot;
use lazaret_image_builder::{Base, Catalog};

const DIGEST: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/// Declares files below a directory, by path, and reads them as the user's own.
fn read(files: &[(&str, &str)]) -> Result<Catalog, String> {
    let dir = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text.replace("<digest>", DIGEST)).unwrap();
    }
    let shown = dir.path().display().to_string();
    Catalog::with_own(dir.path()).map_err(|error| error.to_string().replace(&shown, "<own>"))
}

fn refusal(image: &str) -> String {
    read(&[("mine/image.toml", image)]).unwrap_err()
}

#[test]
fn a_directory_that_is_not_there_declares_nothing() {
    let catalog = Catalog::with_own(Path::new("/nowhere/images")).unwrap();
    assert_eq!(catalog, Catalog::embedded().unwrap());
}

#[test]
fn components_come_in_the_order_in_which_they_are_written() {
    let catalog = read(&[(
        "mine/image.toml",
        "description = 'x'\nbase = 'base'\n[components]\nuv = {}\npython = {}\napt = { packages = ['jq', 'bc', 'jq'] }\ncc.version = '12'\n",
    )])
    .unwrap();
    let spec = catalog.get("mine").unwrap();
    let said: Vec<_> = spec
        .components
        .iter()
        .map(|choice| {
            let packages: Vec<_> = choice.packages.iter().map(ToString::to_string).collect();
            let version = choice
                .version
                .as_ref()
                .map_or("", |version| version.as_str());
            format!(
                "{}:{version}{}:{}",
                choice.component,
                packages.join(","),
                choice.line
            )
        })
        .collect();
    assert_eq!(said, ["uv::4", "python::5", "apt:bc,jq:6", "cc:12:7"]);
}

#[test]
fn an_unknown_component_source_or_base_is_shown_where_it_stands() {
    assert_snapshot!(refusal("description = 'x'\nbase = 'base'\n[components]\nrsut = {}\n"), @"
    <own>/mine/image.toml:4: there is no component `rsut`; there are: apt, cargo-audit, cargo-llvm-cov, cargo-nextest, cc, claude, claude-acp, codex, go, llvm-tools, node, postgres, python, redis, rust, rust-nightly, sqlx-cli, uv
      |
    4 | rsut = {}
      | ^^^^^^^^^
    ");
    assert_snapshot!(refusal("description = 'x'\nbase = 'base'\n[components]\nuv = { source = 'conda' }\n"), @"
    <own>/mine/image.toml:4: `uv` has no source `conda`; it has: vendor, pypi
      |
    4 | uv = { source = 'conda' }
      | ^^^^^^^^^^^^^^^^^^^^^^^^^
    ");
    assert_snapshot!(refusal("description = 'x'\nbase = 'bsae'\n"), @"
    <own>/mine/image.toml:2: there is no image `bsae`
      |
    2 | base = 'bsae'
      | ^^^^^^^^^^^^^
    ");
    assert_snapshot!(refusal("description = 'x'\nbase = 'porter'\n"), @"
    <own>/mine/image.toml:2: `porter` is made from scratch: nothing can be built on it
      |
    2 | base = 'porter'
      | ^^^^^^^^^^^^^^^
    ");
}

#[test]
fn an_unknown_key_or_a_version_that_is_none_is_shown_where_it_stands() {
    assert_snapshot!(refusal("description = 'x'\nbase = 'base'\n[components]\nuv = { colour = 'blue' }\n"), @"
    <own>/mine/image.toml:4: unknown field `colour`, expected one of `version`, `source`, `packages`
      |
    4 | uv = { colour = 'blue' }
      |        ^^^^^^
    ");
    assert_snapshot!(refusal("description = 'x'\nbase = 'base'\n[components]\nuv = { version = 'latest' }\n"), @r#"
    <own>/mine/image.toml:4: "latest" is not a version: expected numbers with points between, such as `22` or `3.11`
      |
    4 | uv = { version = 'latest' }
      |                  ^^^^^^^^
    "#);
    assert_snapshot!(refusal("description = 'x'\nbase = 'base'\n[components]\ncc = { packages = ['jq'] }\n"), @"
    <own>/mine/image.toml:4: `cc` takes no `packages`
      |
    4 | cc = { packages = ['jq'] }
      | ^^^^^^^^^^^^^^^^^^^^^^^^^^
    ");
    assert_snapshot!(refusal("description = 'x'\nbase = 'base'\n[build]\nca = 'all'\n"), @"
    <own>/mine/image.toml:4: unknown variant `all`, expected `image` or `host`
      |
    4 | ca = 'all'
      |      ^^^^^
    ");
}

#[test]
fn bases_and_tools_do_not_go_round_in_a_circle() {
    let on = |base: &str| format!("description = 'x'\nbase = '{base}'\n");
    let circle = read(&[
        ("one/image.toml", &on("two")),
        ("two/image.toml", &on("one")),
    ]);
    assert!(
        circle
            .unwrap_err()
            .contains("the bases go round in a circle")
    );
    let tool = |tool: &str| {
        format!(
            "description = 'x'\nverify = ['x']\n[[source]]\nname = 's'\ntools = ['{tool}']\ninstall = 'x'\n"
        )
    };
    let circle = read(&[
        ("components/one.toml", &tool("two")),
        ("components/two.toml", &tool("one")),
    ]);
    assert!(circle.unwrap_err().contains("is a tool of its own"));
}

#[test]
fn names_of_lazarets_own_are_taken() {
    let shadow = read(&[("base/image.toml", "description = 'x'\nbase.scratch = {}\n")]);
    assert_snapshot!(shadow.unwrap_err(), @"<own>/base/image.toml:1: lazaret has image `base` itself; give this one another name");
}

#[test]
fn a_component_that_can_prove_nothing_is_refused() {
    let refused = read(&[(
        "components/mine.toml",
        "description = 'x'\nverify = []\n[[source]]\nname = 's'\ninstall = 'x'\n",
    )]);
    assert!(
        refused
            .unwrap_err()
            .contains("expected at least one `[[source]]` and one command in `verify`")
    );
    let refused = read(&[(
        "components/mine.toml",
        "description = 'x'\nverify = ['x']\n[[source]]\nname = 's'\n",
    )]);
    assert!(
        refused
            .unwrap_err()
            .contains("expected `install`, with or without `reach`, or `host_rust`")
    );
}

#[test]
fn a_devcontainer_is_read_for_its_image_alone() {
    let image = (
        "mine/image.toml",
        "description = 'x'\n[base]\ndevcontainer = 'devcontainer.json'\n",
    );
    let good = (
        "mine/devcontainer.json",
        "{ \"image\": \"registry.test/shop@sha256:<digest>\" } // ours",
    );
    let catalog = read(&[image, good]).unwrap();
    let Base::Registry(reference) = &catalog.get("mine").unwrap().base else {
        panic!("{:?}", catalog.get("mine"))
    };
    assert_eq!(
        reference.as_str(),
        format!("registry.test/shop@sha256:{DIGEST}")
    );

    let bad = (
        "mine/devcontainer.json",
        "{\n  \"image\": \"registry.test/shop@sha256:<digest>\",\n  \"mounts\": []\n}",
    );
    assert_snapshot!(read(&[image, bad]).unwrap_err(), @r#"
    <own>/mine/devcontainer.json:3: `mounts` reaches the host
      |
    3 |   "mounts": []
      |   ^^^^^^^^
    "#);
    assert!(
        read(&[image])
            .unwrap_err()
            .starts_with("<own>/mine/devcontainer.json: ")
    );
}
