//! What an `image.toml` may say, and what is answered to the rest.

use insta::assert_snapshot;
use lazaret_image_builder::{Base, ImageSpec};

const DIGEST: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

#[track_caller]
fn parse(source: &str) -> ImageSpec {
    ImageSpec::parse(&"mine".parse().unwrap(), "images/mine/image.toml", source).unwrap()
}

#[track_caller]
fn refusal(source: &str) -> String {
    let error =
        ImageSpec::parse(&"mine".parse().unwrap(), "images/mine/image.toml", source).unwrap_err();
    error.to_string()
}

#[test]
fn packages_are_sorted_and_named_once() {
    let spec = parse(
        "description = 'x'\nbase.debootstrap = { suite = 'trixie', include = ['make', 'git', 'make'] }",
    );
    let Base::Debootstrap { suite, include } = &spec.base else {
        panic!("{:?}", spec.base)
    };
    assert_eq!(suite.as_str(), "trixie");
    let names: Vec<_> = include.iter().map(|package| package.as_str()).collect();
    assert_eq!(names, ["git", "make"]);
    assert_eq!(spec.user.name.as_str(), "agent");
}

#[test]
fn con_25_a_registry_base_is_pinned_by_digest() {
    let spec = parse(&format!(
        "description = 'x'\nbase.registry = 'images.test/a/b@sha256:{DIGEST}'"
    ));
    let Base::Registry(base) = &spec.base else {
        panic!("{:?}", spec.base)
    };
    assert_eq!(base.as_str(), format!("images.test/a/b@sha256:{DIGEST}"));

    assert_snapshot!(refusal("description = 'x'\n[base]\nregistry = 'rust:latest'\n"), @r#"
    images/mine/image.toml:3: "rust:latest" is not a pinned image: expected `name@sha256:` and 64 lower-case hexadecimal digits
      |
    3 | registry = 'rust:latest'
      |            ^^^^^^^^^^^^^
    "#);
}

#[test]
fn an_unknown_key_is_shown_with_what_is_known() {
    assert_snapshot!(refusal("description = 'x'\nbase.scratch = {}\nentrypoint = 'x'\n"), @"
    images/mine/image.toml:3: unknown field `entrypoint`, expected one of `description`, `base`, `components`, `build`, `verify`, `user`, `service`, `max_age`
      |
    3 | entrypoint = 'x'
      | ^^^^^^^^^^
    ");
    assert_snapshot!(refusal("description = 'x'\n[base]\ndocker = 'x'\n"), @"
    images/mine/image.toml:3: unknown field `docker`, expected one of `scratch`, `debootstrap`, `registry`, `devcontainer`
      |
    3 | docker = 'x'
      | ^^^^^^
    ");
    assert_snapshot!(refusal("description = 'x'\n[base]\ndebootstrap = { suite = 'sid', packages = [] }\n"), @"
    images/mine/image.toml:3: unknown field `packages`, expected `suite` or `include`
      |
    3 | debootstrap = { suite = 'sid', packages = [] }
      |                                ^^^^^^^^
    ");
}

#[test]
fn a_missing_or_second_base_is_refused() {
    assert_snapshot!(refusal("description = 'x'\nbase = {}\n"), @"
    images/mine/image.toml:2: expected the name of an image, or exactly one of `scratch`, `debootstrap`, `registry` and `devcontainer`
      |
    2 | base = {}
      |        ^^
    ");
    assert_snapshot!(refusal("description = 'x'\n[base]\nscratch = {}\ndebootstrap = { suite = 'sid' }\n"), @"
    images/mine/image.toml:2: expected the name of an image, or exactly one of `scratch`, `debootstrap`, `registry` and `devcontainer`
      |
    2 | [base]
      | ^^^^^^
    ");
}

#[test]
fn words_that_a_program_would_take_for_options_are_refused() {
    assert_snapshot!(refusal("description = 'x'\nbase.debootstrap = { suite = '--help' }\n"), @r#"
    images/mine/image.toml:2: "--help" is not a Debian release: expected a code name such as `bookworm`
      |
    2 | base.debootstrap = { suite = '--help' }
      |                              ^^^^^^^^
    "#);
    for package in [
        "-o",
        "git,make",
        "?essential",
        "git=1.0",
        "git:arm64",
        "g",
        "Git",
        "gi t",
        "./x.deb",
    ] {
        let source = format!(
            "description = 'x'\nbase.debootstrap = {{ suite = 'sid', include = ['{package}'] }}"
        );
        assert!(
            refusal(&source).contains("is not a Debian package"),
            "{package}"
        );
    }
}

#[test]
fn an_account_can_not_smuggle_a_second_one() {
    for user in [
        "name = 'root'",
        "name = 'a:0'",
        "name = ''",
        r#"shell = "/bin/sh\nroot2:x:0:0""#,
        "shell = 'sh'",
    ] {
        let source = format!(
            "description = 'x'\n[base]\ndebootstrap = {{ suite = 'sid' }}\n[user]\n{user}\n"
        );
        assert!(
            refusal(&source).starts_with("images/mine/image.toml:5: "),
            "{user}: {}",
            refusal(&source)
        );
    }
    assert_snapshot!(refusal("description = 'x'\nbase.scratch = {}\n[user]\nname = 'x'\n"), @"
    images/mine/image.toml:3: `[user]` has no meaning with `scratch`: such an image has no user but root
      |
    3 | [user]
      | ^^^^^^
    ");
}

#[test]
fn an_age_has_a_unit() {
    let age = |text: &str| {
        parse(&format!(
            "description = 'x'\nmax_age = '{text}'\nbase.scratch = {{}}"
        ))
        .max_age
        .unwrap()
        .0
        .as_secs()
    };
    assert_eq!(
        [age("12h"), age("30d"), age("2w")],
        [12 * 3600, 30 * 86400, 14 * 86400]
    );
    for text in [
        "30",
        "d",
        "0d",
        "-1d",
        "1.5d",
        "99999999999999999999d",
        "9999999999999999999w",
        "3é",
    ] {
        let source = format!("description = 'x'\nmax_age = '{text}'\nbase.scratch = {{}}");
        assert!(
            refusal(&source).starts_with("images/mine/image.toml:2: "),
            "{text}"
        );
    }
}
